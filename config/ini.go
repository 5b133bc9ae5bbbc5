package config

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1/types"
)

var (
	byteOrderMark = []byte("\ufeff")
	keyAndValue   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*\s*=`)
)

// isINI says that a file is in the INI format. Its first line that says anything
// decides, so that a mistake further down is one of that format: no file in the
// YAML format begins with a [, nor with a key and an =.
func isINI(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, byteOrderMark)) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		return line[0] == '[' || keyAndValue.Match(line)
	}
	return false
}

// readINI reads a file in the INI format into the schema, as far as it can be
// read.
func readINI(data []byte, p *problems) *schema {
	s := new(schema)
	d := &iniDecoder{problems: p, schema: s, sections: s.sections(), seen: make(map[string]iniKey)}
	for _, b := range blocks(bytes.TrimPrefix(data, byteOrderMark), p) {
		d.block(b)
	}
	for _, entry := range s.vcenters {
		if !entry.server.set {
			entry.server = text{v: entry.name, at: entry.at, set: true, mute: gluedSecret(entry.name) > 0}
		}
	}
	return s
}

// iniDecoder puts the sections of a file into the schema.
type iniDecoder struct {
	*problems
	schema   *schema
	sections []field
	seen     map[string]iniKey // in all blocks of a section together
}

func (d *iniDecoder) block(b *block) {
	if b.bad {
		// What stands in it may be anybody's.
		d.schema.broken, d.schema.global.unsure = true, true
		return
	}
	i := slices.IndexFunc(d.sections, func(f field) bool { return strings.EqualFold(f.name, b.section) })
	if i < 0 {
		d.unknownSection(b)
		return
	}
	switch into := d.sections[i].into.(type) {
	case ignored:
		d.warnf(b.at, "%s", string(into))
	case refused:
		d.errorf(b.at, "%s", into.why)
	case group:
		if b.named {
			d.errorf(b.at, "takes no name: write [%s]", d.sections[i].name)
			misspelt(into, b.at)
			return
		}
		d.keys(b, into.fields)
		if b.lossy && into.unsure != nil {
			*into.unsure = true
		}
	case named:
		switch {
		case !b.named:
			d.errorf(b.at, "has no name: write it as in [%s %q]", d.sections[i].name, into.such)
			d.schema.broken = true
		case into.unnamed != "" && !isEntryName(b.name):
			d.errorf(b.at, "%s", into.unnamed)
			d.schema.broken = true
		default:
			fields, unsure := into.add(b.name, b.at)
			d.bounded(b.at, len(d.schema.vcenters), maxVCenters, "vCenters")
			d.bounded(b.at, len(d.schema.categoryLabels), maxLevels, "categories with a label")
			d.keys(b, fields)
			if b.lossy && unsure != nil {
				*unsure = true
			}
		}
	}
}

func (d *iniDecoder) unknownSection(b *block) {
	if plain(b.section) == "topology" {
		d.errorf(b.at, "%s", onlyYAML)
		return
	}
	var known []string
	for _, f := range d.sections {
		known = append(known, f.name)
	}
	if near := nearest(b.section, known); near != "" {
		meant := d.sections[slices.Index(known, near)].into
		if r, ok := meant.(refused); ok {
			d.errorf(b.at, "%s", r.why)
			return
		}
		d.errorf(b.at, "unknown section: did you mean [%s]?", near)
		misspelt(meant, b.at)
		if _, ok := meant.(named); ok {
			d.schema.broken = true
		}
		return
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !useful(d.sections, name) })
	d.errorf(b.at, "unknown section: remove it, or write one of %s", strings.Join(known, ", "))
}

func (d *iniDecoder) keys(b *block, fields []field) {
	find := func(k iniKey) int {
		return slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, k.name) })
	}
	slices.SortStableFunc(b.keys, func(a, b iniKey) int { return newerFirst(fields, a.name, b.name) })
	for _, k := range b.keys {
		i := find(k)
		if i < 0 {
			d.unknownKey(k, fields)
			continue
		}
		if k.blank {
			k.at.path += " " + k.name
		}
		id := strings.ToLower(b.section+"\x00"+stands(fields, fields[i].name)) + "\x00" + b.name
		first, again := d.seen[id]
		spelt := again && !strings.EqualFold(first.name, k.name)
		switch {
		case spelt && k.unset():
			continue // generators write both spellings
		case again && (!spelt || !first.unset()):
			d.errorf(k.at, "is written twice, first at line %d: remove one of the two", first.at.line)
			continue
		}
		d.seen[id] = k
		if k.bad {
			misspelt(fields[i].into, k.at)
			continue
		}
		d.field(k, fields[i].into)
	}
}

// unknownKey does not show a key without a value: it may be the rest of a
// password.
func (d *iniDecoder) unknownKey(k iniKey, fields []field) {
	if k.bad {
		return // It was reported already.
	}
	if k.blank {
		d.errorf(k.at, "%s", noKey)
		return
	}
	d.unknown(k.name, k.at, fields, d.place(k.name))
}

// place says where a key belongs, if that is one section only.
func (d *iniDecoder) place(key string) string {
	has := func(fields []field) bool {
		return slices.ContainsFunc(fields, func(f field) bool { return strings.EqualFold(f.name, key) && useful(fields, f.name) })
	}
	entry, _ := new(schema).virtualCenter("", position{})
	if has(entry) {
		return ""
	}
	for _, f := range d.sections {
		if g, ok := f.into.(group); ok && has(g.fields) {
			return "in [" + f.name + "]"
		}
	}
	return ""
}

func (d *iniDecoder) field(k iniKey, into any) {
	if _, ok := into.(*secret); ok && k.continued {
		d.warnf(k.at, `goes on in the next line, which is taken for a part of it, since a \ ends this one: `+
			`put the value in quotes, and write \\ for a \ that belongs to it`)
	}
	// Of a password, what is behind a blank may be a part too.
	if _, ok := into.(*secret); k.glued || ok && k.cut && !k.quoted {
		d.warnf(k.at, "ends at the ; or # that begins a comment: put the value in quotes if the rest belongs to it")
	}
	if other, ok := into.(spelling); ok {
		into = d.spelt(k, other)
	}
	switch into := into.(type) {
	case ignored:
		if k.value != "" || k.blank {
			d.warnf(k.at, "%s", string(into))
		}
		return
	case ofCSI:
		*into.own = into.of(k, *into.own)
		if k.value != "" || k.blank {
			d.csi(k.at, into)
		}
		return
	case refused:
		if k.value != "" || k.blank {
			d.errorf(k.at, "%s", into.why)
			if into.seen != nil {
				*into.seen = true
			}
		}
		return
	case *toggle:
		*into = d.toggle(k)
		return
	}
	if k.blank {
		d.errorf(k.at, "has no value: write %s = and the value behind it", k.name)
		misspelt(into, k.at)
		return
	}
	t := text{v: k.value, at: k.at, set: k.value != ""}
	switch into := into.(type) {
	case *text:
		*into = t
	case *secret:
		if !t.set && k.cut {
			d.errorf(k.at, "is empty, since a comment begins at a ; or #: put the value in quotes")
			t.set, t.bad = true, true
		}
		*into = secret{v: NewPassword(t.v), at: t.at, set: t.set, bad: t.bad, mute: true}
	case *number:
		*into = d.number(t)
	case *list:
		*into = split(t)
	case instead:
		d.instead(t, into)
	case *rule:
		*into = rule{at: t.at, tag: t, short: true}
	default:
		panic(fmt.Sprintf("config: the schema has a %T at %s", into, k.at.path))
	}
}

// spelt returns what another name of a key stands for.
func (d *iniDecoder) spelt(k iniKey, other spelling) any {
	if key := d.words.key(other.key); k.value != "" {
		d.warnf(k.at, "counts as %s, but the vSphere CPI ignores it: write %s", key, key)
	}
	return other.into
}

func (d *problems) number(t text) number {
	n, err := strconv.ParseInt(strings.TrimSpace(t.v), 10, 32)
	if t.set && err != nil {
		d.errorf(t.at, "is no whole number: write it in decimal digits")
	}
	return number{v: int(n), at: t.at, set: t.set && (err != nil || n != 0), bad: t.set && err != nil}
}

// toggle takes the words that gcfg takes, and a key without a value for true.
func (d *iniDecoder) toggle(k iniKey) toggle {
	if k.blank {
		return toggle{v: true, at: k.at, set: true}
	}
	on, err := types.ParseBool(k.value)
	if err != nil {
		d.errorf(k.at, "is neither true nor false: write one of the two")
	}
	return toggle{v: on, at: k.at, set: true, bad: err != nil}
}

// split takes what is between commas. Blank parts do not count, as in the CPI.
func split(t text) list {
	l := list{at: t.at}
	for part := range strings.SplitSeq(t.v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			l.v = append(l.v, text{v: part, at: t.at, set: true})
		}
	}
	l.set = len(l.v) > 0
	return l
}
