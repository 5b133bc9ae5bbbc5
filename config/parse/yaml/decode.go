package yaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
)

// Decoder reads YAML nodes into the schema. It reports what does not fit the
// schema's shape and goes on; what values mean is not its concern.
type Decoder struct {
	*problem.List
	places map[string]string
	// Size is how many bytes the file has, visits how many keys and elements were taken.
	Size, visits int
	// Others takes a key that the fields do not have, in place of a mistake.
	Others func(p Pair, fields []schema.Field)
}

// Mapping reads a mapping with known keys.
func (d *Decoder) Mapping(n *Node, at problem.Position, fields []schema.Field) {
	pairs := d.pairs(n, at, schema.ShownKey, func(key string) string { return schema.Stands(fields, key) })
	slices.SortStableFunc(pairs, func(a, b Pair) int { return schema.NewerFirst(fields, a.Name, b.Name) })
	for _, p := range pairs {
		i := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == p.Name })
		switch {
		case i >= 0:
		case d.glued(p, at, fields):
		case d.Others != nil:
			d.Others(p, fields)
		default:
			schema.Unknown(d.List, p.Name, p.At, fields, d.places[p.Name])
		}
		if i < 0 {
			continue
		}
		fields[i].Into.Take(Value{d, p})
	}
}

// A Value is the value of a key, as a schema.Mapping.
type Value struct {
	*Decoder
	Pair
}

// Place returns where the key is.
func (v Value) Place() problem.Position { return v.At }

// Problems returns where mistakes are collected.
func (v Value) Problems() *problem.List { return v.Decoder.List }

// Text takes any single value as it is written.
func (v Value) Text() schema.Text { return v.text(v.Node, v.At) }

// Secret is Text for a secret.
func (v Value) Secret() schema.Secret { return schema.SecretOf(v.Text()) }

// Number takes a whole number.
func (v Value) Number() schema.Number {
	d, n, at := v.Decoder, Follow(v.Node), v.At
	r := schema.Number{At: at}
	if Null(n) {
		return r
	}
	r.Set = true
	decimal, err := strconv.ParseInt(n.Value, 10, 32)
	switch {
	case n.Kind != ScalarNode || n.ShortTag() != "!!int":
		r.Bad = true
		if n.Kind == ScalarNode && err == nil && !tagged(n) {
			d.Errorf(at, "is text: write the number without quotes")
			break
		}
		d.Errorf(at, "is %s: write a whole number", describe(n))
	case err != nil || strconv.FormatInt(decimal, 10) != n.Value:
		// A leading 0 means octal to some YAML readers and nothing to others.
		r.Bad = true
		d.Errorf(at, "is not a number that fits: write it in decimal digits, without a leading 0")
	default:
		r.V, r.Set = int(decimal), decimal != 0
	}
	return r
}

// Toggle takes a truth value.
func (v Value) Toggle() schema.Toggle {
	d, n, at := v.Decoder, Follow(v.Node), v.At
	r := schema.Toggle{At: at}
	if Null(n) {
		return r
	}
	r.Set = true
	word := strings.ToLower(n.Value)
	old, isOld := yaml11[word]
	switch {
	case n.Kind == ScalarNode && n.ShortTag() == "!!bool" && (word == "true" || word == "false"):
		r.V = word == "true"
	case n.Kind == ScalarNode && n.Style == 0 && !tagged(n) && isOld:
		r.V = old
	case n.Kind == ScalarNode && (word == "true" || word == "false"):
		r.Bad = true
		d.Errorf(at, "is text: write %s without quotes", word)
	default:
		r.Bad = true
		d.Errorf(at, "is %s: write true or false", describe(n))
	}
	return r
}

// List takes a list of single values.
func (v Value) List() schema.List {
	d, n, at := v.Decoder, Follow(v.Node), v.At
	r := schema.List{At: at}
	if Null(n) {
		return r
	}
	if n.Kind != SequenceNode {
		r.Set, r.Bad = true, true
		d.Errorf(at, "is %s: write a list, such as [a, b]", describe(n))
		return r
	}
	for i, item := range n.Content {
		d.Visit()
		at := problem.Position{Line: item.Line, Path: fmt.Sprintf("%s[%d]", at.Path, i)}
		element := d.text(item, at)
		r.V, r.Bad = append(r.V, element), r.Bad || element.Bad
	}
	r.Set = len(r.V) > 0
	return r
}

// Asks reports whether it is none of the zero values that generators write for everything
// that they leave unset.
func (v Value) Asks() bool { return !Empty(v.Node) }

// Respelled warns of the INI format's spelling.
func (v Value) Respelled(key string) {
	if !Unset(v.Node) {
		v.Warnf(v.At, "is the INI format's spelling of %s and counts as that, but the vSphere CPI ignores it in the YAML format: write %s", key, key)
	}
}

// Group reads a mapping with known keys.
func (v Value) Group(into schema.Group) {
	if v.isMapping(v.Node, v.At) {
		v.Mapping(v.Node, v.At, into.Fields)
	} else if into.Unsure != nil {
		*into.Unsure = true
	}
}

// Fields reads a mapping with known keys if it is one.
func (v Value) Fields(fields []schema.Field) bool {
	is := Follow(v.Node).Kind == MappingNode
	if is {
		v.Mapping(v.Node, v.At, fields)
	}
	return is
}

// Entries reads a mapping whose keys are names.
func (v Value) Entries(into schema.Entries) {
	d := v.Decoder
	into.VCentersAt = v.At
	if !d.isMapping(v.Node, v.At) {
		into.Broken = true
		return
	}
	for i, entry := range d.pairs(v.Node, v.At, schema.ShownName, whole) {
		switch {
		case !check.IsEntryName(entry.Name):
			d.Errorf(entry.At, schema.NoName)
			into.Broken = true
		case !d.isMapping(entry.Node, entry.At):
			into.Broken = true
		default:
			fields := into.Add(entry.Name, entry.At)
			d.Bounded(entry.At, i+1, schema.MaxVCenters, "vCenters")
			d.Mapping(entry.Node, entry.At, fields)
		}
	}
}

// Elements reads a list of mappings.
func (v Value) Elements(into schema.Elements) {
	d, n := v.Decoder, Follow(v.Node)
	if Null(n) {
		return
	}
	if n.Kind != SequenceNode {
		d.Errorf(v.At, "is %s: write a list of mappings, each behind a -", describe(n))
		return
	}
	for i, item := range n.Content {
		d.Visit()
		at := problem.Position{Line: item.Line, Path: fmt.Sprintf("%s[%d]", v.At.Path, i)}
		d.Bounded(at, i+1, schema.MaxLevels, "levels")
		if d.isMapping(item, at) {
			d.Mapping(item, at, into.Add(at))
		}
	}
}

// Table reads a mapping whose keys and values are any text.
func (v Value) Table() []schema.Row {
	if !v.isMapping(v.Node, v.At) {
		return nil
	}
	var rows []schema.Row
	for _, entry := range v.pairs(v.Node, v.At, whole, whole) {
		rows = append(rows, schema.Row{Key: entry.Name, At: entry.At, Value: v.text(entry.Node, entry.At)})
	}
	return rows
}

// text takes any single value as it is written, as the CPI does: a password of
// digits needs no quotes.
func (d *Decoder) text(n *Node, at problem.Position) schema.Text {
	v := schema.Text{At: at, Hidden: n.Kind == AliasNode || n.Anchor != ""}
	n = Follow(n)
	switch {
	case n.Kind != ScalarNode:
		d.Errorf(at, "is %s: write text", describe(n))
		v.Set, v.Bad = true, true
	case n.Anchor != "" && Null(n):
		d.Errorf(at, "begins with &, which makes it the name of a YAML anchor: put the value in quotes")
		v.Set, v.Bad = true, true
	case tagged(n):
		d.Errorf(at, "begins with !, which makes it a YAML tag: put the value in quotes")
		v.Set, v.Bad = true, true
	case !Null(n):
		v.V, v.Set = n.Value, n.Value != ""
	}
	return v
}

// yaml11 are the words that the CPI's YAML reader takes for truth values
// besides true and false.
var yaml11 = map[string]bool{
	"y": true, "yes": true, "on": true,
	"n": false, "no": false, "off": false,
}

// Visit counts a key or an element. Without aliases there are never as many as bytes.
func (d *Decoder) Visit() {
	const beside = 100_000
	if d.visits++; d.visits > d.Size+beside {
		d.Stop(problem.Position{}, "the aliases (*) and merges (<<) make the file stand for more than %d values: "+
			"write out fewer of them", d.Size+beside)
	}
}

// A Pair is one key of a mapping with its value; at is the key's place.
type Pair struct {
	Name string
	At   problem.Position
	Node *Node
	// bare reports whether the key stands in braces and has no value.
	bare bool
}

// whole shows a key that is a name.
func whole(key string) string { return key }
