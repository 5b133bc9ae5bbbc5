package load

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/topology/suggest"
)

// secretKeys are the keys whose values are in no message.
var secretKeys = []string{"password", sessionToken}

// gluedSecret returns where in a text the key of a secret ends, in whatever spelling, to
// which something is glued that may be the secret. Without one it returns 0.
func gluedSecret(s string) int {
	for _, secret := range secretKeys {
		want := suggest.Plain(secret)
		for end := range min(len(s), 2*len(secret)) {
			if suggest.Plain(s[:end]) == want && suggest.Plain(s[end:]) != "" {
				return end
			}
		}
		if i := strings.IndexAny(s, ":= \t"); i > 0 && suggest.Nearest(s[:i], []string{secret}) != "" {
			return i
		}
	}
	return 0
}

// shownName shows a name, but for a secret that may stand in its place with its key.
func shownName(name string) string {
	if end := gluedSecret(name); end > 0 {
		return name[:end] + "…"
	}
	return name
}

// shownKey returns the beginning of a text that can be a key: a secret may be glued to it.
func shownKey(key string) string {
	key = shownName(key)
	end := strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	})
	if end >= 0 {
		return key[:end] + "…"
	}
	return key
}

// unknown reports a key, or a section of the INI format, that does not belong in this place.
func (d *decoder) unknown(n *Node, keys []key, into *Section) {
	what, form := "key", "%s"
	if d.Dialect == &INI && into.In == config.SectionRoot {
		what, form = "section", "[%s]"
	}
	known := names(keys, func(key) bool { return true })
	near := suggest.Nearest(n.Key, known)
	if near == "" {
		if place := d.place(n.Key); place != "" && what == "key" {
			d.Errorf(n.At, "unknown key in this place: it belongs %s", place)
			return
		}
		known = names(keys, func(k key) bool { return k.use == own })
		slices.Sort(known)
		d.Errorf(n.At, "unknown %s: remove it, or write one of %s", what, strings.Join(known, ", "))
		return
	}
	meant := keys[slices.Index(known, near)]
	if meant.use == unsupported {
		d.Errorf(n.At, "%s", meant.why)
		return
	}
	d.Errorf(n.At, "unknown %s: did you mean "+form+"?", what, near)
	markPresent(into, meant, n.At)
}

// place returns where a key belongs that is not known in its place, if that is one place only.
func (d *decoder) place(name string) string {
	var places []string
	for _, section := range keysOf(config.SectionRoot, d.Dialect) {
		if d.Dialect == &YAML && section.use == own && section.name == name {
			places = append(places, "at the top level")
		}
		if section.use == own && section.field.Of != config.SectionRoot {
			if k := d.find(keysOf(section.field.Of, d.Dialect), name); k != nil && k.use == own {
				places = append(places, fmt.Sprintf(d.Dialect.Place, section.name))
			}
		}
	}
	if len(places) == 1 {
		return places[0]
	}
	return ""
}

func names(keys []key, are func(key) bool) []string {
	var all []string
	for _, k := range keys {
		if are(k) {
			all = append(all, k.name)
		}
	}
	return all
}

// markPresent marks the key that a misspelled one means as given, if only wrongly, so that it is not reported as
// missing too.
func markPresent(into *Section, k key, at Position) {
	if k.use != own {
		return
	}
	switch v := into.V(k.field.Key); k.field.Kind {
	case config.KindMapping:
		into.sub(k.field.Key).Unsure = true
	case config.KindRule:
		into.sub(k.field.Key).Bad = true
	case config.KindEntries:
		v.Bad = true
	case config.KindLevels, config.KindLabels:
	default:
		if !v.Set {
			v.At, v.Set, v.Bad = at, true, true
		}
	}
}
