package yaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vzones/config"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
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
		d.field(p, fields[i].Into)
	}
}

func (d *Decoder) field(p Pair, into any) {
	switch into := into.(type) {
	case schema.Group:
		if d.isMapping(p.Node, p.At) {
			d.Mapping(p.Node, p.At, into.Fields)
		} else if into.Unsure != nil {
			*into.Unsure = true
		}
	case schema.Entries:
		d.entries(p, into)
	case schema.Elements:
		d.elements(p, into)
	case *schema.Rule:
		d.rule(p, into)
	case schema.Spelling:
		if !Unset(p.Node) {
			d.Warnf(p.At, "is the INI format's spelling of %s and counts as that, but the vSphere CPI ignores it in the YAML format: write %s", into.Key, into.Key)
		}
		d.field(p, into.Into)
	case schema.OlderName:
		schema.TakeOlder(d.List, d.Text(p.Node, p.At), into)
	case schema.OfCSI:
		d.ofCSI(p, into)
	case schema.Ignored:
		if !Empty(p.Node) {
			d.Warnf(p.At, "%s", string(into))
		}
	case schema.Refused:
		if !Empty(p.Node) {
			d.Errorf(p.At, "%s", into.Why)
			if into.Seen != nil {
				*into.Seen = true
			}
		}
	case *schema.Text:
		*into = d.Text(p.Node, p.At)
	case *schema.Secret:
		v := d.Text(p.Node, p.At)
		*into = schema.Secret{V: config.NewPassword(v.V), At: v.At, Set: v.Set, Bad: v.Bad, Mute: true}
	case *schema.Number:
		*into = d.number(p.Node, p.At)
	case *schema.Toggle:
		*into = d.Toggle(p.Node, p.At)
	case *schema.List:
		*into = d.list(p.Node, p.At)
	case *schema.Table:
		d.table(p, into)
	case Taker:
		into.Take(d, p)
	default:
		panic(fmt.Sprintf("config: the schema has a %T at %s", into, p.At.Path))
	}
}

// ofCSI takes a single value, whatever it is, and tells of any that asks for something.
func (d *Decoder) ofCSI(p Pair, into schema.OfCSI) {
	if n := Follow(p.Node); n.Kind == ScalarNode && !Unset(n) {
		*into.Own = append(*into.Own, schema.CSIValue{CSIKey: into.CSIKey, Value: n.Value, At: p.At})
	}
	if !Empty(p.Node) {
		schema.NoticeCSI(d.List, p.At, into)
	}
}

func (d *Decoder) entries(p Pair, into schema.Entries) {
	*into.At = p.At
	if !d.isMapping(p.Node, p.At) {
		*into.Broken = true
		return
	}
	for i, entry := range d.pairs(p.Node, p.At, schema.ShownName, whole) {
		switch {
		case !check.IsEntryName(entry.Name):
			d.Errorf(entry.At, schema.NoName)
			*into.Broken = true
		case !d.isMapping(entry.Node, entry.At):
			*into.Broken = true
		default:
			fields := into.Add(entry.Name, entry.At)
			d.Bounded(entry.At, i+1, schema.MaxVCenters, "vCenters")
			d.Mapping(entry.Node, entry.At, fields)
		}
	}
}

func (d *Decoder) elements(p Pair, into schema.Elements) {
	n := Follow(p.Node)
	if Null(n) {
		return
	}
	if n.Kind != SequenceNode {
		d.Errorf(p.At, "is %s: write a list of mappings, each behind a -", describe(n))
		return
	}
	for i, item := range n.Content {
		d.Visit()
		at := problem.Position{Line: item.Line, Path: fmt.Sprintf("%s[%d]", p.At.Path, i)}
		d.Bounded(at, i+1, schema.MaxLevels, "levels")
		if d.isMapping(item, at) {
			d.Mapping(item, at, into.Add(at))
		}
	}
}

// rule takes text for the name of a tag category, as the CPI does.
func (d *Decoder) rule(p Pair, into *schema.Rule) {
	into.At = p.At
	if Follow(p.Node).Kind == MappingNode {
		d.Mapping(p.Node, p.At, into.Fields())
		return
	}
	into.Short = true
	into.Tag = d.Text(p.Node, p.At)
}

// Text takes any single value as it is written, as the CPI does: a password of
// digits needs no quotes.
func (d *Decoder) Text(n *Node, at problem.Position) schema.Text {
	v := schema.Text{At: at, Mute: n.Kind == AliasNode || n.Anchor != ""}
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

func (d *Decoder) number(n *Node, at problem.Position) schema.Number {
	v := schema.Number{At: at}
	n = Follow(n)
	if Null(n) {
		return v
	}
	v.Set = true
	decimal, err := strconv.ParseInt(n.Value, 10, 32)
	switch {
	case n.Kind != ScalarNode || n.ShortTag() != "!!int":
		v.Bad = true
		if n.Kind == ScalarNode && err == nil && !tagged(n) {
			d.Errorf(at, "is text: write the number without quotes")
			break
		}
		d.Errorf(at, "is %s: write a whole number", describe(n))
	case err != nil || strconv.FormatInt(decimal, 10) != n.Value:
		// A leading 0 means octal to some YAML readers and nothing to others.
		v.Bad = true
		d.Errorf(at, "is not a number that fits: write it in decimal digits, without a leading 0")
	default:
		v.V, v.Set = int(decimal), decimal != 0
	}
	return v
}

// yaml11 are the words that the CPI's YAML reader takes for truth values
// besides true and false.
var yaml11 = map[string]bool{
	"y": true, "yes": true, "on": true,
	"n": false, "no": false, "off": false,
}

func (d *Decoder) Toggle(n *Node, at problem.Position) schema.Toggle {
	v := schema.Toggle{At: at}
	n = Follow(n)
	if Null(n) {
		return v
	}
	v.Set = true
	word := strings.ToLower(n.Value)
	old, isOld := yaml11[word]
	switch {
	case n.Kind == ScalarNode && n.ShortTag() == "!!bool" && (word == "true" || word == "false"):
		v.V = word == "true"
	case n.Kind == ScalarNode && n.Style == 0 && !tagged(n) && isOld:
		v.V = old
	case n.Kind == ScalarNode && (word == "true" || word == "false"):
		v.Bad = true
		d.Errorf(at, "is text: write %s without quotes", word)
	default:
		v.Bad = true
		d.Errorf(at, "is %s: write true or false", describe(n))
	}
	return v
}

func (d *Decoder) list(n *Node, at problem.Position) schema.List {
	v := schema.List{At: at}
	n = Follow(n)
	if Null(n) {
		return v
	}
	if n.Kind != SequenceNode {
		v.Set, v.Bad = true, true
		d.Errorf(at, "is %s: write a list, such as [a, b]", describe(n))
		return v
	}
	for i, item := range n.Content {
		d.Visit()
		at := problem.Position{Line: item.Line, Path: fmt.Sprintf("%s[%d]", at.Path, i)}
		element := d.Text(item, at)
		v.V, v.Bad = append(v.V, element), v.Bad || element.Bad
	}
	v.Set = len(v.V) > 0
	return v
}

// Visit counts a key or an element. Without aliases there are never as many as bytes.
func (d *Decoder) Visit() {
	const beside = 100_000
	if d.visits++; d.visits > d.Size+beside {
		d.Stop(problem.Position{}, "the aliases (*) and merges (<<) make the file stand for more than %d values: "+
			"write out fewer of them", d.Size+beside)
	}
}

func (d *Decoder) table(p Pair, into *schema.Table) {
	if !d.isMapping(p.Node, p.At) {
		return
	}
	for _, entry := range d.pairs(p.Node, p.At, whole, whole) {
		into.Rows = append(into.Rows, schema.Row{Key: entry.Name, At: entry.At, Value: d.Text(entry.Node, entry.At)})
	}
}

// A Taker reads a value in a way of its own.
type Taker interface{ Take(d *Decoder, p Pair) }
