// Package ini reads the INI format into the schema, as the vSphere CPI's library does, and
// writes it. It never says what a value means.
package ini

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/gcfg.v1/types"

	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology/suggest"
)

var (
	// ByteOrderMark may be at the beginning of a file.
	ByteOrderMark = []byte("\ufeff")
	keyAndValue   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*\s*=`)
)

// Is reports whether a file is in the INI format. Its first line that says anything
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
			entry.Server = schema.Text{V: entry.Name, At: entry.At, Set: true, Hidden: schema.GluedSecret(entry.Name) > 0}
		}
	}
	return s
}

// A decoder puts the sections of a file into the schema.
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
	f := d.sections[i]
	f.Into.Take(section{value{d, Key{Name: f.Name, at: b.At, blank: true}}, b})
}

// section is a section of the file, as a schema.Source with keys below it.
type section struct {
	value
	*Block
}

func (s section) Group(into schema.Group) {
	if s.named {
		s.Errorf(s.at, "takes no name: write [%s]", s.Key.Name)
		schema.Misspelled(into, s.at)
		return
	}
	s.fill(into.Fields, into.Unsure)
}

func (s section) Named(into schema.Named) {
	d := s.decoder
	switch {
	case !s.named:
		d.Errorf(s.at, "has no name: write it as in [%s %q]", s.Key.Name, into.Such)
		d.schema.Broken = true
	case into.Unnamed != "" && !check.IsEntryName(s.Name):
		d.Errorf(s.at, "%s", into.Unnamed)
		d.schema.Broken = true
	default:
		fields, unsure := into.Add(s.Name, s.at)
		d.Bounded(s.at, len(d.schema.VCenters), schema.MaxVCenters, "vCenters")
		d.Bounded(s.at, len(d.schema.CategoryLabels), schema.MaxLevels, "categories with a label")
		s.fill(fields, unsure)
	}
}

func (s section) fill(fields []schema.Field, unsure *bool) {
	s.keys(s.Block, fields)
	if s.lossy && unsure != nil {
		*unsure = true
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
		v := value{d, k}
		if k.glued {
			v.cutShort()
		}
		fields[i].Into.Take(v)
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

// value is the value of a key, as a schema.Source.
type value struct {
	*decoder
	Key
}

func (v value) Problems() *problem.List { return v.decoder.List }

// Asks reports whether something is written behind the =, or there is none.
func (v value) Asks() bool { return v.value != "" || v.blank }

func (v value) Respelled(key string) {
	if key := v.Words.Key(key); v.value != "" {
		v.Warnf(v.at, "counts as %s, but the vSphere CPI ignores it: write %s", key, key)
	}
}

func (v value) Text() schema.Text {
	if v.blank {
		v.Errorf(v.at, "has no value: write %s = and the value behind it", v.Name)
		return schema.Text{At: v.at, Set: true, Bad: true}
	}
	return schema.Text{V: v.value, At: v.at, Set: v.value != ""}
}

// cutShort warns of a comment that may be a part of the value.
func (v value) cutShort() {
	v.Warnf(v.at, "ends at the ; or # that begins a comment: put the value in quotes if the rest belongs to it")
}

func (v value) Secret() schema.Secret {
	if v.continued {
		v.Warnf(v.at, `continues in the next line, since this one ends with a \: `+
			`put the value in quotes, and write \\ for a \ that belongs to it`)
	}
	// What is behind a blank may be a part too.
	if !v.glued && v.cut && !v.quoted {
		v.cutShort()
	}
	t := v.Text()
	if !t.Set && v.cut {
		v.Errorf(v.at, "is empty, since a comment begins at a ; or #: put the value in quotes")
		t.Set, t.Bad = true, true
	}
	return schema.SecretOf(t)
}

func (v value) Number() schema.Number {
	t := v.Text()
	if t.Bad {
		return schema.Number{At: t.At, Set: true, Bad: true}
	}
	return schema.NumberOf(v.decoder.List, t)
}

func (v value) List() schema.List {
	t := v.Text()
	if t.Bad {
		return schema.List{At: t.At, Set: true, Bad: true}
	}
	return schema.Split(t)
}

// Toggle takes the words that gcfg takes, and a key without a value for true.
func (v value) Toggle() schema.Toggle {
	if v.blank {
		return schema.Toggle{V: true, At: v.at, Set: true}
	}
	on, err := types.ParseBool(v.value)
	if err != nil {
		v.Errorf(v.at, "is neither true nor false: write one of the two")
	}
	return schema.Toggle{V: on, At: v.at, Set: true, Bad: err != nil}
}
