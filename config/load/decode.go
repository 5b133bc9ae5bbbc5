package load

import (
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1/types"

	"vzones/config"
	"vzones/internal/suggest"
)

// Bounds on the cost of a configuration.
const (
	maxVCenters = 1000
	maxLevels   = 100
	maxNetworks = 1000
)

// noName is the mistake in a name that no vCenter can have.
const noName = "is not a valid name of a vCenter: write one of at most 253 bytes, without line breaks, nor blanks at its ends, such as its address"

// A decoder puts nodes into sections, by the keys of their format. It reports a value that does not fit its
// key's kind, and goes on. The checker judges the meaning of values.
type decoder struct {
	*Problems
	// root is the content of the file, places are its sections with keys.
	root   *Section
	places []place
	// size is how many bytes the file has, visits how many keys and elements were taken.
	size, visits int
}

// newDecoder returns a decoder of a file of some bytes, whose content becomes root.
func newDecoder(p *Problems, root *Section, size int) *decoder {
	return &decoder{Problems: p, root: root, places: placesOf(root, p.Dialect), size: size}
}

// find returns the key of a name, or nil. Letter case counts in YAML alone.
func (d *decoder) find(keys []key, name string) *key {
	for i, k := range keys {
		if k.name == name || d.Dialect == &INI && strings.EqualFold(k.name, name) {
			return &keys[i]
		}
	}
	return nil
}

// mapping reads a mapping with known keys.
func (d *decoder) mapping(n *Node, into *Section) {
	keys := keysOf(into.In, d.Dialect)
	for _, p := range d.pairs(n, shownKey) {
		k := d.find(keys, p.Key)
		switch {
		case k == nil && (p.has(Damaged) || d.glued(p, n, keys, into)):
		case k == nil:
			d.unknown(p, keys, into)
		case p.has(Damaged):
			markPresent(into, *k, p.At)
		default:
			d.take(p, k, into)
		}
	}
}

// take reads the value of a key.
func (d *decoder) take(n *Node, k *key, into *Section) {
	if n.has(Glued) {
		d.cutShort(n)
	}
	switch {
	case k.use == own:
		d.value(n, k.field, into)
	case !n.asks():
	case k.use == unsupported:
		d.Errorf(n.At, "%s", k.why)
	default:
		d.Warnf(n.At, "%s", k.why)
	}
}

// value reads the value of a field.
func (d *decoder) value(n *Node, f *config.Field, into *Section) {
	switch {
	case f.Kind == config.KindMapping:
		sub := into.sub(f.Key)
		if sub.At = n.At; d.isMapping(n) {
			d.mapping(n, sub)
		} else {
			sub.Unsure = true
		}
	case f.Kind == config.KindEntries:
		d.entries(n, f, into.V(f.Key))
	case f.Kind == config.KindLevels:
		into.Put(f.Key, d.levels(n, f))
	case f.Kind == config.KindLabels:
		into.Put(f.Key, d.labels(n))
	case f.Kind == config.KindRule:
		rule := &Section{At: n.At, In: f.Of, IsShort: n.Kind != Mapping}
		into.Put(f.Key, &Value{At: n.At, Set: true, Section: rule})
		if rule.IsShort {
			rule.Put("tag", d.text(n))
		} else {
			d.mapping(n, rule)
		}
	case f.Kind.IsList():
		into.Put(f.Key, d.list(n))
	case f.Kind == config.KindBool:
		into.Put(f.Key, d.toggle(n))
	case f.Kind == config.KindInt:
		into.Put(f.Key, d.number(n))
	case f.Kind == config.KindPassword:
		into.Put(f.Key, d.secret(n))
	default:
		into.Put(f.Key, d.text(n))
	}
}

// text takes any single value as it is written, as the CPI does: a password of
// digits needs no quotes.
func (d *decoder) text(n *Node) *Value {
	v := &Value{At: n.At, Hidden: n.has(Shared)}
	switch {
	case n.isText() && n.has(NoValue):
		d.bad(v, "has no value: write %s = and the value behind it", n.Key)
	case n.Kind == Mapping || n.Kind == Sequence:
		d.bad(v, "is %s: write text", n.describe())
	case n.has(Anchored):
		d.bad(v, "begins with &, which makes it the name of a YAML anchor: put the value in quotes")
	case n.hasOddTag():
		d.bad(v, "begins with !, which makes it a YAML tag: put the value in quotes")
	case n.Kind != Null:
		v.Text, v.Set = n.Text, n.Text != ""
	}
	return v
}

// secret is text for a secret.
func (d *decoder) secret(n *Node) *Value {
	if n.has(Continued) {
		d.Warnf(n.At, `continues in the next line, since this one ends with a \: `+
			`put the value in quotes, and write \\ for a \ that belongs to it`)
	}
	// What is behind a blank may be a part too.
	if n.has(CutByComment) && !n.has(Glued) && !n.has(Quoted) {
		d.cutShort(n)
	}
	v := d.text(n)
	if !v.Set && n.has(CutByComment) {
		d.bad(v, "is empty, since a comment begins at a %s: put the value in quotes", d.Dialect.Comment)
	}
	v.Data, v.Text, v.Hidden = config.NewPassword(v.Text), "", true
	return v
}

// cutShort warns of a comment that may be a part of the value.
func (d *decoder) cutShort(n *Node) {
	d.Warnf(n.At, "ends at the %s that begins a comment: put the value in quotes if the rest belongs to it", d.Dialect.Comment)
}

// number takes a whole number.
func (d *decoder) number(n *Node) *Value {
	if n.Kind == Null || n.isText() && (n.has(NoValue) || n.Text == "") {
		return d.text(n)
	}
	v := &Value{At: n.At}
	decimal, err := strconv.ParseInt(strings.TrimSpace(n.Text), 10, 32)
	switch {
	case n.isText() && err != nil:
		d.bad(v, "is not a whole number: write it in decimal digits")
	case n.isText() || n.Tag == "!!int" && strconv.FormatInt(decimal, 10) == n.Text:
		v.Data, v.Set = int(decimal), decimal != 0
	case n.Tag == "!!int":
		// A leading 0 means octal to some YAML readers and nothing to others.
		d.bad(v, "is not a number that fits: write it in decimal digits, without a leading 0")
	case n.Kind == Scalar && err == nil && !n.hasOddTag():
		d.bad(v, "is text: write the number without quotes")
	default:
		d.bad(v, "is %s: write a whole number", n.describe())
	}
	return v
}

// yaml11 are the words that the CPI's YAML reader takes for truth values
// besides true and false.
var yaml11 = map[string]bool{
	"y": true, "yes": true, "on": true,
	"n": false, "no": false, "off": false,
}

// toggle takes a truth value, in INI by the words that gcfg takes, where a key without a value means true.
func (d *decoder) toggle(n *Node) *Value {
	v := &Value{At: n.At, Set: n.Kind != Null}
	word := strings.ToLower(n.Text)
	old, isOld := yaml11[word]
	isWord := word == "true" || word == "false"
	switch on, err := types.ParseBool(n.Text); {
	case n.Kind == Null:
	case n.isText() && err != nil && !n.has(NoValue):
		d.bad(v, "is neither true nor false: write one of the two")
	case n.isText():
		v.Data = on || n.has(NoValue)
	case n.Tag == "!!bool" && isWord:
		v.Data = word == "true"
	case n.Kind == Scalar && n.has(Plain) && !n.hasOddTag() && isOld:
		v.Data = old
	case n.Kind == Scalar && isWord:
		d.bad(v, "is text: write %s without quotes", word)
	default:
		d.bad(v, "is %s: write true or false", n.describe())
	}
	return v
}

// list takes a list of single values. In a text they have commas between them, and blank ones do not count, as
// in the CPI.
func (d *decoder) list(n *Node) *Value {
	v := &Value{At: n.At}
	switch {
	case n.isText():
		t := d.text(n)
		for part := range strings.SplitSeq(t.Text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				v.List = append(v.List, Value{Text: part, At: t.At, Set: true, Hidden: t.Hidden})
			}
		}
		v.Set, v.Bad = t.Bad || len(v.List) > 0, t.Bad
	case n.Kind == Sequence:
		for _, item := range n.children(shownName) {
			d.visit()
			element := d.text(item)
			v.List, v.Bad = append(v.List, *element), v.Bad || element.Bad
		}
		v.Set = len(v.List) > 0
	case n.Kind != Null:
		d.bad(v, "is %s: write a list, such as [a, b]", n.describe())
	}
	return v
}

// entries reads a mapping whose keys are names of vCenters.
func (d *decoder) entries(n *Node, f *config.Field, v *Value) {
	if v.At = n.At; !d.isMapping(n) {
		v.Bad = true
		return
	}
	for i, entry := range d.pairs(n, shownName) {
		switch {
		case !isEntryName(entry.Key):
			d.Errorf(entry.At, noName)
			v.Bad = true
		case !hasServer(entry) && d.misplaced(entry):
			// A key stands in place of the name of an entry.
			v.Bad = true
		case !d.isMapping(entry):
			v.Bad = true
		default:
			entry.At.VCenter = entry.Key
			e := &Section{Name: entry.Key, At: entry.At, In: f.Of}
			v.Sections = append(v.Sections, e)
			d.bounded(entry.At, i+1, maxVCenters, "vCenters")
			d.mapping(entry, e)
		}
	}
}

// levels reads a list of mappings.
func (d *decoder) levels(n *Node, f *config.Field) *Value {
	v := &Value{At: n.At}
	if n.Kind != Sequence && n.Kind != Null {
		d.Errorf(n.At, "is %s: write a list of mappings, each behind a -", n.describe())
	}
	if n.Kind != Sequence {
		return v
	}
	for i, item := range n.children(shownName) {
		d.visit()
		d.bounded(item.At, i+1, maxLevels, "levels")
		if d.isMapping(item) {
			level := &Section{At: item.At, In: f.Of}
			v.Sections = append(v.Sections, level)
			d.mapping(item, level)
		}
	}
	return v
}

// labels reads a mapping whose keys and values are any text.
func (d *decoder) labels(n *Node) *Value {
	v := &Value{At: n.At}
	if d.isMapping(n) {
		for _, entry := range d.pairs(n, shownName) {
			row := d.text(entry)
			row.Key = entry.Key
			v.List = append(v.List, *row)
		}
	}
	v.Set = len(v.List) > 0
	return v
}

func (d *decoder) isMapping(n *Node) bool {
	if n.Kind == Mapping || n.Kind == Null {
		return true
	}
	d.Errorf(n.At, "is %s: write a mapping, its keys indented below it", n.describe())
	return false
}

// visit counts a key or an element. Without aliases there are never as many as bytes.
func (d *decoder) visit() {
	const beside = 100_000
	if d.visits++; d.visits > d.size+beside {
		d.stop(Position{}, "the aliases (*) and merges (<<) make the file stand for more than %d values: "+
			"write out fewer of them", d.size+beside)
	}
}

// pairs returns the keys of a mapping, each once, in the order of the file, then those that it merges in
// and does not have itself. Messages have the keys as they are shown.
func (d *decoder) pairs(n *Node, show func(key string) string) (all []*Node) {
	if n.Kind == Null {
		return nil
	}
	have := make(map[string]*Node)
	for _, c := range n.children(show) {
		d.visit()
		id := c.Key
		if d.Dialect == &INI {
			id = strings.ToLower(id)
		}
		first := have[id]
		switch {
		case c.has(Merge):
			d.Errorf(c.At, "merges (<<) %s: only mappings can be merged", c.describe())
		case c.has(Damaged) && !c.isText():
			d.Errorf(c.At, "there is a key that is not plain text: write each key out")
		case first == nil:
			have[id], all = c, append(all, c)
		case c.has(Merged): // the nearer one wins
		case !c.isText() && c.has(NoValue):
			// Perhaps it is the rest of a password.
			d.Errorf(Position{Line: c.At.Line, Path: n.At.Path}, "a key is written twice in the braces: remove one of the two, "+
				"and put a value with a comma in quotes")
		default:
			d.Errorf(c.At, "is written twice, first at line %d: remove one of the two", first.At.Line)
		}
	}
	return all
}

// glued reports a key in which a value is too: one that is glued to its key, or,
// in braces, the rest of one that has a comma. The value is in no message, since
// it may be a password.
func (d *decoder) glued(p, in *Node, keys []key, into *Section) bool {
	if p.isText() {
		if p.has(NoValue) {
			d.Errorf(p.At, "%s", noKey)
		}
		return p.has(NoValue)
	}
	end := gluedSecret(p.Key)
	if end == 0 {
		end = strings.IndexAny(p.Key, ":=")
	}
	if end > 0 {
		own := names(keys, func(k key) bool { return k.use == own })
		if name := suggest.Nearest(strings.TrimRight(p.Key[:end], " \t"), own); name != "" {
			at := Position{Line: p.At.Line, Path: child(in.At.Path, name)}
			d.Errorf(at, "is not a key with a value: write %s: and the value, with a blank between them", name)
			markPresent(into, *d.find(keys, name), at)
			return true
		}
	}
	if p.has(NoValue) {
		d.Errorf(Position{Line: p.At.Line, Path: in.At.Path}, "a key in the braces has no value: write key: value, and put a value with a comma in quotes")
	}
	return p.has(NoValue)
}
