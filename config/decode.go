package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder reads YAML nodes into the schema. It reports what does not fit the
// schema's shape and goes on; what values mean is not its concern.
type decoder struct {
	*problems
	places map[string]string
	// size is how many bytes the file has, visits how many keys and elements were taken.
	size, visits int
	// others takes a key that the fields do not have, in place of a mistake.
	others func(p pair, fields []field)
}

func (d *decoder) mapping(n *yaml.Node, at position, fields []field) {
	pairs := d.pairs(n, at, shownKey, func(key string) string { return stands(fields, key) })
	slices.SortStableFunc(pairs, func(a, b pair) int { return newerFirst(fields, a.name, b.name) })
	for _, p := range pairs {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == p.name })
		switch {
		case i >= 0:
		case d.glued(p, at, fields):
		case d.others != nil:
			d.others(p, fields)
		default:
			d.unknown(p.name, p.at, fields, d.places[p.name])
		}
		if i < 0 {
			continue
		}
		d.field(p, fields[i].into)
	}
}

func (d *decoder) field(p pair, into any) {
	switch into := into.(type) {
	case group:
		if d.isMapping(p.node, p.at) {
			d.mapping(p.node, p.at, into.fields)
		} else if into.unsure != nil {
			*into.unsure = true
		}
	case entries:
		d.entries(p, into)
	case elements:
		d.elements(p, into)
	case *rule:
		d.rule(p, into)
	case spelling:
		if !unset(p.node) {
			d.warnf(p.at, "is the INI format's spelling of %s and counts as that, but the vSphere CPI ignores it in the YAML format: write %s", into.key, into.key)
		}
		d.field(p, into.into)
	case instead:
		d.instead(d.text(p.node, p.at), into)
	case ofCSI:
		d.ofCSI(p, into)
	case ignored:
		if !empty(p.node) {
			d.warnf(p.at, "%s", string(into))
		}
	case refused:
		if !empty(p.node) {
			d.errorf(p.at, "%s", into.why)
			if into.seen != nil {
				*into.seen = true
			}
		}
	case *text:
		*into = d.text(p.node, p.at)
	case *secret:
		v := d.text(p.node, p.at)
		*into = secret{v: NewPassword(v.v), at: v.at, set: v.set, bad: v.bad, mute: true}
	case *number:
		*into = d.number(p.node, p.at)
	case *toggle:
		*into = d.toggle(p.node, p.at)
	case *list:
		*into = d.list(p.node, p.at)
	case *table:
		d.table(p, into)
	case taker:
		into.take(d, p)
	default:
		panic(fmt.Sprintf("config: the schema has a %T at %s", into, p.at.path))
	}
}

// ofCSI takes a single value, whatever it is, and tells of any that asks for something.
func (d *decoder) ofCSI(p pair, into ofCSI) {
	if n := follow(p.node); n.Kind == yaml.ScalarNode && !unset(n) {
		*into.own = append(*into.own, csiValue{into.csiKey, n.Value, p.at})
	}
	if !empty(p.node) {
		d.csi(p.at, into)
	}
}

func (d *decoder) entries(p pair, into entries) {
	*into.at = p.at
	if !d.isMapping(p.node, p.at) {
		*into.broken = true
		return
	}
	for i, entry := range d.pairs(p.node, p.at, shownName, whole) {
		switch {
		case !isEntryName(entry.name):
			d.errorf(entry.at, noName)
			*into.broken = true
		case !d.isMapping(entry.node, entry.at):
			*into.broken = true
		default:
			fields := into.add(entry.name, entry.at)
			d.bounded(entry.at, i+1, maxVCenters, "vCenters")
			d.mapping(entry.node, entry.at, fields)
		}
	}
}

const noName = "is no name for a vCenter: write one of at most 253 bytes, without line breaks, nor blanks at its ends, such as its address"

// isEntryName reports whether a text can be a vCenter's name. It is written onto Nodes and into
// labels of metrics, so it is no longer than a host name.
func isEntryName(s string) bool { return parseName(s) == nil && len(s) <= 253 }

func (d *decoder) elements(p pair, into elements) {
	n := follow(p.node)
	if null(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.errorf(p.at, "is %s: write a list of mappings, each behind a -", describe(n))
		return
	}
	for i, item := range n.Content {
		d.visit()
		at := position{line: item.Line, path: fmt.Sprintf("%s[%d]", p.at.path, i)}
		d.bounded(at, i+1, maxLevels, "levels")
		if d.isMapping(item, at) {
			d.mapping(item, at, into.add(at))
		}
	}
}

// rule takes text for the name of a tag category, as the CPI does.
func (d *decoder) rule(p pair, into *rule) {
	into.at = p.at
	if follow(p.node).Kind == yaml.MappingNode {
		d.mapping(p.node, p.at, into.fields())
		return
	}
	into.short = true
	into.tag = d.text(p.node, p.at)
}

// unknown reports a key that the schema does not have in this place; place is
// where it belongs, if that is known.
func (p *problems) unknown(name string, at position, fields []field, place string) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	if near := nearest(name, known); near != "" {
		meant := fields[slices.Index(known, near)].into
		if r, ok := meant.(refused); ok && plain(near) == plain(name) {
			p.errorf(at, "%s", r.why)
			return
		}
		p.errorf(at, "unknown key: did you mean %s?", near)
		misspelt(meant, at)
		return
	}
	if place != "" {
		p.errorf(at, "unknown key in this place: it belongs %s", place)
		return
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !useful(fields, name) })
	slices.Sort(known)
	p.errorf(at, "unknown key: remove it, or write one of %s", strings.Join(known, ", "))
}

func useful(fields []field, name string) bool {
	for _, f := range fields {
		switch f.into.(type) {
		case ignored, refused, spelling, instead, ofCSI:
			if f.name == name {
				return false
			}
		}
	}
	return true
}

// misspelt takes what stands under a misspelt key as given, if only wrongly, so
// that it is not reported as missing too.
func misspelt(into any, at position) {
	switch into := into.(type) {
	case group:
		if into.unsure != nil {
			*into.unsure = true
		}
	case entries:
		*into.broken = true
	case *text:
		spoil(into, at)
	case *secret:
		spoil(into, at)
	case *list:
		spoil(into, at)
	case *rule:
		into.bad = true
	case spelling:
		misspelt(into.into, at)
	}
}

func spoil[T any](v *value[T], at position) {
	if !v.set {
		v.at, v.set, v.bad = at, true, true
	}
}

// text takes any single value as it is written, as the CPI does: a password of
// digits needs no quotes.
func (d *decoder) text(n *yaml.Node, at position) text {
	v := text{at: at, mute: n.Kind == yaml.AliasNode || n.Anchor != ""}
	n = follow(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		d.errorf(at, "is %s: write text", describe(n))
		v.set, v.bad = true, true
	case n.Anchor != "" && null(n):
		d.errorf(at, "begins with &, which makes it the name of a YAML anchor: put the value in quotes")
		v.set, v.bad = true, true
	case tagged(n):
		d.errorf(at, "begins with !, which makes it a YAML tag: put the value in quotes")
		v.set, v.bad = true, true
	case !null(n):
		v.v, v.set = n.Value, n.Value != ""
	}
	return v
}

func (d *decoder) number(n *yaml.Node, at position) number {
	v := number{at: at}
	n = follow(n)
	if null(n) {
		return v
	}
	v.set = true
	decimal, err := strconv.ParseInt(n.Value, 10, 32)
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int":
		v.bad = true
		if n.Kind == yaml.ScalarNode && err == nil && !tagged(n) {
			d.errorf(at, "is text: write the number without quotes")
			break
		}
		d.errorf(at, "is %s: write a whole number", describe(n))
	case err != nil || strconv.FormatInt(decimal, 10) != n.Value:
		// A leading 0 means octal to some YAML readers and nothing to others.
		v.bad = true
		d.errorf(at, "is not a number that fits: write it in decimal digits, without a leading 0")
	default:
		v.v, v.set = int(decimal), decimal != 0
	}
	return v
}

// yaml11 are the words that the CPI's YAML reader takes for truth values
// besides true and false.
var yaml11 = map[string]bool{
	"y": true, "yes": true, "on": true,
	"n": false, "no": false, "off": false,
}

func (d *decoder) toggle(n *yaml.Node, at position) toggle {
	v := toggle{at: at}
	n = follow(n)
	if null(n) {
		return v
	}
	v.set = true
	word := strings.ToLower(n.Value)
	old, isOld := yaml11[word]
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && (word == "true" || word == "false"):
		v.v = word == "true"
	case n.Kind == yaml.ScalarNode && n.Style == 0 && !tagged(n) && isOld:
		v.v = old
	case n.Kind == yaml.ScalarNode && (word == "true" || word == "false"):
		v.bad = true
		d.errorf(at, "is text: write %s without quotes", word)
	default:
		v.bad = true
		d.errorf(at, "is %s: write true or false", describe(n))
	}
	return v
}

func (d *decoder) list(n *yaml.Node, at position) list {
	v := list{at: at}
	n = follow(n)
	if null(n) {
		return v
	}
	if n.Kind != yaml.SequenceNode {
		v.set, v.bad = true, true
		d.errorf(at, "is %s: write a list, such as [a, b]", describe(n))
		return v
	}
	for i, item := range n.Content {
		d.visit()
		at := position{line: item.Line, path: fmt.Sprintf("%s[%d]", at.path, i)}
		element := d.text(item, at)
		v.v, v.bad = append(v.v, element), v.bad || element.bad
	}
	v.set = len(v.v) > 0
	return v
}

// follow returns the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// unset says that nothing is written behind a key.
func unset(n *yaml.Node) bool {
	n = follow(n)
	return n.Kind == yaml.ScalarNode && (null(n) || n.Value == "")
}

// nothing says that a value is none in whatever key it is: null, an empty text, an empty
// list or the number 0.
func nothing(n *yaml.Node) bool {
	n = follow(n)
	return unset(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 || n.ShortTag() == "!!int" && n.Value == "0"
}

// empty says that a value asks for nothing, as the zero values do that
// generators write for everything that they do not set.
func empty(n *yaml.Node) bool {
	n = follow(n)
	if n.Kind != yaml.ScalarNode {
		return len(n.Content) == 0
	}
	return unset(n) || n.Value == "false" || n.Value == "0"
}

// tagged says that a scalar has a tag that means nothing here.
func tagged(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return false
	}
	return true
}

// describe names the kind of a node, never its text.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case null(n):
		return "empty"
	case n.ShortTag() == "!!int" || n.ShortTag() == "!!float":
		return "a number"
	case n.ShortTag() == "!!bool":
		return "true or false"
	case tagged(n):
		return "a value with a YAML tag"
	}
	return "text"
}
