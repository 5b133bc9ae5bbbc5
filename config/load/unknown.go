package load

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/internal/suggest"
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
func (d *decoder) unknown(raw *rawValue, keys []key, into *Section) {
	what, form := "key", "%s"
	if d.Dialect == &INI && into.In == config.SectionRoot {
		what, form = "section", "[%s]"
	}
	known := names(keys, func(key) bool { return true })
	isSpelling := func(name string) bool { return suggest.Plain(name) == suggest.Plain(raw.key) }
	if what == "key" && !slices.ContainsFunc(known, isSpelling) && d.misplaced(raw) {
		return
	}
	near := suggest.Nearest(raw.key, known)
	if near == "" {
		if what == "key" && isEntry(raw) {
			d.Errorf(raw.at, "unknown key in this place: the entry of a vCenter belongs under vcenter")
			d.root.V("vcenter").Bad = true
			return
		}
		known = names(keys, func(k key) bool { return k.use == own })
		slices.Sort(known)
		d.Errorf(raw.at, "unknown %s: remove it, or write one of %s", what, strings.Join(known, ", "))
		return
	}
	meant := keys[slices.Index(known, near)]
	if meant.use == unsupported {
		d.Errorf(raw.at, "%s", meant.why)
		return
	}
	d.Errorf(raw.at, "unknown %s: did you mean "+form+"?", what, near)
	markPresent(into, meant, raw.at)
}

// misplaced reports a key that is known in other sections alone, and marks it as given there.
func (d *decoder) misplaced(raw *rawValue) bool {
	var name string
	var belongs, below []string
	for _, p := range d.places {
		k := p.find(raw)
		switch {
		case k == nil:
			continue
		case p.path == "":
			belongs = append(belongs, "at the top level")
		default:
			below = append(below, p.path)
		}
		name = k.name
		if p.section != nil {
			markPresent(p.section, *k, raw.at)
		}
	}
	if len(below) > 0 {
		belongs = append(belongs, fmt.Sprintf(d.Dialect.Place, alternatives(below)))
	}
	if len(belongs) == 0 {
		return false
	}
	d.Errorf(raw.at, "unknown key in this place: %s belongs %s", name, alternatives(belongs))
	return true
}

// A place is a section that a file can have.
type place struct {
	// path names the section in messages. It is empty for the root.
	path string
	keys []key
	// section is the content. It is nil for the sections of which a file has several: rules, entries and levels.
	section *Section
}

// find returns the key of a place that a node is, in whatever spelling, or nil.
func (p *place) find(raw *rawValue) *key {
	for i, k := range p.keys {
		if k.use == own && suggest.Plain(k.name) == suggest.Plain(raw.key) && raw.fits(k.field.Kind) {
			return &p.keys[i]
		}
	}
	return nil
}

// placesOf returns the sections with keys that a file can have, by the table of keys.
func placesOf(root *Section, dialect *Dialect) (all []place) {
	var add func(name, form string, in config.Section, section *Section)
	add = func(name, form string, in config.Section, section *Section) {
		keys := keysOf(in, dialect)
		if dialect == &YAML || in != config.SectionRoot { // the root of the INI format has sections alone
			all = append(all, place{fmt.Sprintf(form, name), keys, section})
		}
		for _, k := range keys {
			sub := strings.TrimPrefix(name+"."+k.name, ".")
			switch {
			case k.use != own:
			case k.field.Kind == config.KindMapping:
				add(sub, dialect.Section, k.field.Of, section.sub(k.field.Key))
			case k.field.Kind == config.KindRule && dialect == &YAML:
				add(sub, dialect.Section, k.field.Of, nil)
			case k.field.Kind == config.KindEntries, k.field.Kind == config.KindLevels:
				add(sub, dialect.Element, k.field.Of, nil)
			}
		}
	}
	add("", "%s", config.SectionRoot, root)
	return all
}

// isEntry reports whether a node in place of a key is the entry of a vCenter, whose name can be any.
func isEntry(raw *rawValue) bool {
	return raw.shape == mapping && isFullAddress(raw.key) || hasServer(raw)
}

func hasServer(raw *rawValue) bool {
	return raw.shape == mapping && slices.ContainsFunc(raw.children(shownKey), func(c *rawValue) bool { return c.key == "server" })
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
