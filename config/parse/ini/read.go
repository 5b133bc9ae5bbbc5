// Package ini reads the INI format into the schema, as the vSphere CPI's library does, and
// writes it. It never says what a value means.
package ini

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/gcfg.v1/types"

	"vzones/config"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/internal/suggest"
)

var (
	ByteOrderMark = []byte("\ufeff")
	keyAndValue   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*\s*=`)
)

// Is says that a file is in the INI format. Its first line that says anything
// decides, so that a mistake further down is one of that format: no file in the
// YAML format begins with a [, nor with a key and an =.
func Is(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, ByteOrderMark)) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		return line[0] == '[' || keyAndValue.Match(line)
	}
	return false
}

// Read reads a file in the INI format into the schema, as far as it can be
// read.
func Read(data []byte, p *problem.List) *schema.File {
	s := new(schema.File)
	d := &decoder{List: p, schema: s, sections: s.Sections(), seen: make(map[string]Key)}
	for _, b := range Blocks(bytes.TrimPrefix(data, ByteOrderMark), p) {
		d.block(b)
	}
	for _, entry := range s.VCenters {
		if !entry.Server.Set {
			entry.Server = schema.Text{V: entry.Name, At: entry.At, Set: true, Mute: schema.GluedSecret(entry.Name) > 0}
		}
	}
	return s
}

// iniDecoder puts the sections of a file into the schema.
type decoder struct {
	*problem.List
	schema   *schema.File
	sections []schema.Field
	seen     map[string]Key // in all blocks of a section together
}

func (d *decoder) block(b *Block) {
	if b.bad {
		// What stands in it may be anybody's.
		d.schema.Broken, d.schema.Global.Unsure = true, true
		return
	}
	i := slices.IndexFunc(d.sections, func(f schema.Field) bool { return strings.EqualFold(f.Name, b.Section) })
	if i < 0 {
		d.unknownSection(b)
		return
	}
	switch into := d.sections[i].Into.(type) {
	case schema.Ignored:
		d.Warnf(b.At, "%s", string(into))
	case schema.Refused:
		d.Errorf(b.At, "%s", into.Why)
	case schema.Group:
		if b.named {
			d.Errorf(b.At, "takes no name: write [%s]", d.sections[i].Name)
			schema.Misspelled(into, b.At)
			return
		}
		d.keys(b, into.Fields)
		if b.lossy && into.Unsure != nil {
			*into.Unsure = true
		}
	case schema.Named:
		switch {
		case !b.named:
			d.Errorf(b.At, "has no name: write it as in [%s %q]", d.sections[i].Name, into.Such)
			d.schema.Broken = true
		case into.Unnamed != "" && !check.IsEntryName(b.Name):
			d.Errorf(b.At, "%s", into.Unnamed)
			d.schema.Broken = true
		default:
			fields, unsure := into.Add(b.Name, b.At)
			d.Bounded(b.At, len(d.schema.VCenters), schema.MaxVCenters, "vCenters")
			d.Bounded(b.At, len(d.schema.CategoryLabels), schema.MaxLevels, "categories with a label")
			d.keys(b, fields)
			if b.lossy && unsure != nil {
				*unsure = true
			}
		}
	}
}

func (d *decoder) unknownSection(b *Block) {
	if suggest.Plain(b.Section) == "topology" {
		d.Errorf(b.At, "%s", schema.OnlyYAML)
		return
	}
	var known []string
	for _, f := range d.sections {
		known = append(known, f.Name)
	}
	if near := suggest.Nearest(b.Section, known); near != "" {
		meant := d.sections[slices.Index(known, near)].Into
		if r, ok := meant.(schema.Refused); ok {
			d.Errorf(b.At, "%s", r.Why)
			return
		}
		d.Errorf(b.At, "unknown section: did you mean [%s]?", near)
		schema.Misspelled(meant, b.At)
		if _, ok := meant.(schema.Named); ok {
			d.schema.Broken = true
		}
		return
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !schema.Useful(d.sections, name) })
	d.Errorf(b.At, "unknown section: remove it, or write one of %s", strings.Join(known, ", "))
}

func (d *decoder) keys(b *Block, fields []schema.Field) {
	find := func(k Key) int {
		return slices.IndexFunc(fields, func(f schema.Field) bool { return strings.EqualFold(f.Name, k.Name) })
	}
	slices.SortStableFunc(b.Keys, func(a, b Key) int { return schema.NewerFirst(fields, a.Name, b.Name) })
	for _, k := range b.Keys {
		i := find(k)
		if i < 0 {
			d.unknownKey(k, fields)
			continue
		}
		if k.blank {
			k.at.Path += " " + k.Name
		}
		id := strings.ToLower(b.Section+"\x00"+schema.Stands(fields, fields[i].Name)) + "\x00" + b.Name
		first, again := d.seen[id]
		spelt := again && !strings.EqualFold(first.Name, k.Name)
		switch {
		case spelt && k.unset():
			continue // generators write both spellings
		case again && (!spelt || !first.unset()):
			d.Errorf(k.at, "is written twice, first at line %d: remove one of the two", first.at.Line)
			continue
		}
		d.seen[id] = k
		if k.bad {
			schema.Misspelled(fields[i].Into, k.at)
			continue
		}
		d.field(k, fields[i].Into)
	}
}

// unknownKey does not show a key without a value: it may be the rest of a
// password.
func (d *decoder) unknownKey(k Key, fields []schema.Field) {
	if k.bad {
		return // It was reported already.
	}
	if k.blank {
		d.Errorf(k.at, "%s", noKey)
		return
	}
	schema.Unknown(d.List, k.Name, k.at, fields, d.place(k.Name))
}

// place says where a key belongs, if that is one section only.
func (d *decoder) place(key string) string {
	has := func(fields []schema.Field) bool {
		return slices.ContainsFunc(fields, func(f schema.Field) bool { return strings.EqualFold(f.Name, key) && schema.Useful(fields, f.Name) })
	}
	entry, _ := new(schema.File).VirtualCenter("", problem.Position{})
	if has(entry) {
		return ""
	}
	for _, f := range d.sections {
		if g, ok := f.Into.(schema.Group); ok && has(g.Fields) {
			return "in [" + f.Name + "]"
		}
	}
	return ""
}

func (d *decoder) field(k Key, into any) {
	if _, ok := into.(*schema.Secret); ok && k.continued {
		d.Warnf(k.at, `goes on in the next line, which is taken for a part of it, since a \ ends this one: `+
			`put the value in quotes, and write \\ for a \ that belongs to it`)
	}
	// Of a password, what is behind a blank may be a part too.
	if _, ok := into.(*schema.Secret); k.glued || ok && k.cut && !k.quoted {
		d.Warnf(k.at, "ends at the ; or # that begins a comment: put the value in quotes if the rest belongs to it")
	}
	if other, ok := into.(schema.Spelling); ok {
		into = d.spelt(k, other)
	}
	switch into := into.(type) {
	case schema.Ignored:
		if k.value != "" || k.blank {
			d.Warnf(k.at, "%s", string(into))
		}
		return
	case schema.OfCSI:
		*into.Own = CSIValueOf(into.CSIKey, k, *into.Own)
		if k.value != "" || k.blank {
			schema.NoticeCSI(d.List, k.at, into)
		}
		return
	case schema.Refused:
		if k.value != "" || k.blank {
			d.Errorf(k.at, "%s", into.Why)
			if into.Seen != nil {
				*into.Seen = true
			}
		}
		return
	case *schema.Toggle:
		*into = d.toggle(k)
		return
	}
	if k.blank {
		d.Errorf(k.at, "has no value: write %s = and the value behind it", k.Name)
		schema.Misspelled(into, k.at)
		return
	}
	t := schema.Text{V: k.value, At: k.at, Set: k.value != ""}
	switch into := into.(type) {
	case *schema.Text:
		*into = t
	case *schema.Secret:
		if !t.Set && k.cut {
			d.Errorf(k.at, "is empty, since a comment begins at a ; or #: put the value in quotes")
			t.Set, t.Bad = true, true
		}
		*into = schema.Secret{V: config.NewPassword(t.V), At: t.At, Set: t.Set, Bad: t.Bad, Mute: true}
	case *schema.Number:
		*into = schema.NumberOf(d.List, t)
	case *schema.List:
		*into = schema.Split(t)
	case schema.OlderName:
		schema.TakeOlder(d.List, t, into)
	case *schema.Rule:
		*into = schema.Rule{At: t.At, Tag: t, Short: true}
	default:
		panic(fmt.Sprintf("config: the schema has a %T at %s", into, k.at.Path))
	}
}

// spelt returns what another name of a key stands for.
func (d *decoder) spelt(k Key, other schema.Spelling) any {
	if key := d.Words.Key(other.Key); k.value != "" {
		d.Warnf(k.at, "counts as %s, but the vSphere CPI ignores it: write %s", key, key)
	}
	return other.Into
}

// toggle takes the words that gcfg takes, and a key without a value for true.
func (d *decoder) toggle(k Key) schema.Toggle {
	if k.blank {
		return schema.Toggle{V: true, At: k.at, Set: true}
	}
	on, err := types.ParseBool(k.value)
	if err != nil {
		d.Errorf(k.at, "is neither true nor false: write one of the two")
	}
	return schema.Toggle{V: on, At: k.at, Set: true, Bad: err != nil}
}

// of appends what a key is set to. One without an = is true to gcfg.
func CSIValueOf(k *schema.CSIKey, given Key, values []schema.CSIValue) []schema.CSIValue {
	switch {
	case given.blank && k.Yes:
		return append(values, schema.CSIValue{CSIKey: k, Value: "true", At: given.at})
	case given.value != "":
		return append(values, schema.CSIValue{CSIKey: k, Value: given.value, At: given.at})
	}
	return values
}
