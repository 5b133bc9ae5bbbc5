package load

import (
	"strconv"
	"strings"

	"gopkg.in/gcfg.v1/types"

	"vzones/config"
)

// Limits of a configuration.
const (
	maxVCenters = 1000
	maxLevels   = 100
	maxNetworks = 1000
)

const (
	invalidName     = "is not a valid name for a vCenter: use at most 253 bytes, without line breaks or surrounding blanks, such as its address"
	notText         = "is not plain text: put the value in quotes"
	isCutShort      = "is cut off by a comment, or continues on the next line: put the value in quotes"
	keyWithoutValue = "has a key without a value: write key: value, and put a value with a comma in quotes"
)

// A decoder puts raw values into sections. It reports values that do not fit the kind of their key
// and continues.
type decoder struct {
	*Problems
	root *Section
	// places lists the sections with their valid keys, for errors about misplaced keys.
	places []place
	// size is the file's size in bytes, visits the number of keys and elements read.
	size, visits int
}

func newDecoder(p *Problems, root *Section, size int) *decoder {
	return &decoder{Problems: p, root: root, places: placesOf(root, p.Dialect), size: size}
}

// find compares names. Only YAML distinguishes letter case.
func (d *decoder) find(keys []key, name string) *key {
	for i, k := range keys {
		if k.name == name || d.Dialect == &INI && strings.EqualFold(k.name, name) {
			return &keys[i]
		}
	}
	return nil
}

func (d *decoder) mapping(raw *rawValue, into *Section) {
	keys := keysOf(into.In, d.Dialect)
	for _, p := range d.pairs(raw, shownKey) {
		k := d.find(keys, p.key)
		switch {
		case k == nil && p.has(damaged):
		case k == nil && p.has(noValue):
			d.withoutValue(p, raw)
		case k == nil:
			d.unknown(p, keys, into)
		case p.has(damaged):
			markPresent(into, *k, p.pos)
		default:
			d.take(p, k, into)
		}
	}
}

func (d *decoder) take(raw *rawValue, k *key, into *Section) {
	switch {
	case k.use == supported:
		d.value(raw, k.field, into)
	case !raw.isSet():
	case k.use == unsupported:
		d.Errorf(raw.pos, "%s", k.why)
	default:
		d.Warnf(raw.pos, "%s", k.why)
	}
}

func (d *decoder) value(raw *rawValue, f *config.Field, into *Section) {
	switch {
	case f.Kind == config.KindMapping:
		sub := into.sub(f.Key)
		if sub.At = raw.pos; d.isMapping(raw) {
			d.mapping(raw, sub)
		} else {
			sub.Unsure = true
		}
	case f.Kind == config.KindEntries:
		d.entries(raw, f, into.V(f.Key))
	case f.Kind == config.KindLevels:
		into.Put(f.Key, d.levels(raw, f))
	case f.Kind == config.KindLabels:
		into.Put(f.Key, d.labels(raw))
	case f.Kind == config.KindRule:
		rule := &Section{At: raw.pos, In: f.Subsection, IsShort: raw.shape != mapping}
		into.Put(f.Key, &Value{At: raw.pos, Set: true, Section: rule})
		if rule.IsShort {
			rule.Put("tag", d.text(raw))
		} else {
			d.mapping(raw, rule)
		}
	case f.Kind.IsList():
		into.Put(f.Key, d.list(raw))
	case f.Kind == config.KindBool:
		into.Put(f.Key, d.toggle(raw))
	case f.Kind == config.KindInt:
		into.Put(f.Key, d.number(raw))
	case f.Kind == config.KindPassword:
		into.Put(f.Key, d.secret(raw))
	default:
		into.Put(f.Key, d.text(raw))
	}
}

// text decodes a single value as it is written, like the CPI: a password of digits needs no quotes.
func (d *decoder) text(raw *rawValue) *Value {
	v := &Value{At: raw.pos, Hidden: raw.has(shared)}
	switch {
	case raw.isText() && raw.has(noValue):
		d.bad(v, "has no value: write %s = and the value after it", raw.key)
	case raw.shape == mapping || raw.shape == sequence:
		d.bad(v, "is %s: write text", raw.describe())
	case raw.isForeign():
		d.bad(v, notText)
	case raw.shape != null:
		v.Text = raw.text
		v.Set = raw.text != ""
	}
	return v
}

func (d *decoder) secret(raw *rawValue) *Value {
	v := d.text(raw)
	switch {
	case raw.has(cutShort) && v.Set:
		d.Warnf(raw.pos, isCutShort)
	case raw.has(cutShort):
		d.bad(v, isCutShort)
	}
	v.Data = config.NewPassword(v.Text)
	v.Text = ""
	v.Hidden = true
	return v
}

func (d *decoder) number(raw *rawValue) *Value {
	if raw.shape == null || raw.isText() && (raw.has(noValue) || raw.text == "") {
		return d.text(raw)
	}
	v := &Value{At: raw.pos}
	decimal, err := strconv.ParseInt(strings.TrimSpace(raw.text), 10, 32)
	switch {
	case raw.isText() && err != nil:
		d.bad(v, "is not a whole number: write it in decimal digits")
	case raw.isText() || raw.tag == "!!int" && strconv.FormatInt(decimal, 10) == raw.text:
		v.Data = int(decimal)
		v.Set = decimal != 0
	case raw.tag == "!!int":
		// Some YAML readers take a leading 0 for octal.
		d.bad(v, "is not a valid number: write it in decimal digits, without a leading 0")
	case raw.shape == scalar && err == nil && !raw.isForeign():
		d.bad(v, "is text: write the number without quotes")
	default:
		d.bad(v, "is %s: write a whole number", raw.describe())
	}
	return v
}

// yaml11 are the words for booleans that the CPI's YAML reader accepts besides true and false.
var yaml11 = map[string]bool{
	"y": true, "yes": true, "on": true,
	"n": false, "no": false, "off": false,
}

// toggle decodes a boolean. INI accepts gcfg's words, and a key without a value means true.
func (d *decoder) toggle(raw *rawValue) *Value {
	v := &Value{At: raw.pos, Set: raw.shape != null}
	word := strings.ToLower(raw.text)
	old, isOld := yaml11[word]
	isWord := word == "true" || word == "false"
	isTrue, err := types.ParseBool(raw.text)
	switch {
	case raw.shape == null:
	case raw.isText() && err != nil && !raw.has(noValue):
		d.bad(v, "is neither true nor false: write one of them")
	case raw.isText():
		v.Data = isTrue || raw.has(noValue)
	case raw.tag == "!!bool" && isWord:
		v.Data = word == "true"
	case raw.shape == scalar && raw.has(plain) && !raw.isForeign() && isOld:
		v.Data = old
	case raw.shape == scalar && isWord:
		d.bad(v, "is text: write %s without quotes", word)
	default:
		d.bad(v, "is %s: write true or false", raw.describe())
	}
	return v
}

// list decodes a list, or a text with commas. As in the CPI, blank parts are ignored.
func (d *decoder) list(raw *rawValue) *Value {
	v := &Value{At: raw.pos}
	switch {
	case raw.isText():
		t := d.text(raw)
		for part := range strings.SplitSeq(t.Text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				v.List = append(v.List, Value{Text: part, At: t.At, Set: true, Hidden: t.Hidden})
			}
		}
		v.Set = t.Bad || len(v.List) > 0
		v.Bad = t.Bad
	case raw.shape == sequence:
		for _, item := range raw.children(shownName) {
			d.visit()
			element := d.text(item)
			v.List = append(v.List, *element)
			v.Bad = v.Bad || element.Bad
		}
		v.Set = len(v.List) > 0
	case raw.shape != null:
		d.bad(v, "is %s: write a list, such as [a, b]", raw.describe())
	}
	return v
}

func (d *decoder) entries(raw *rawValue, f *config.Field, v *Value) {
	if v.At = raw.pos; !d.isMapping(raw) {
		v.Bad = true
		return
	}
	for i, entry := range d.pairs(raw, shownName) {
		switch {
		case !isEntryName(entry.key):
			d.Errorf(entry.pos, invalidName)
			v.Bad = true
		case !hasServer(entry) && d.misplaced(entry):
			v.Bad = true
		case !d.isMapping(entry):
			v.Bad = true
		default:
			entry.pos.VCenter = entry.key
			e := &Section{Name: entry.key, At: entry.pos, In: f.Subsection}
			v.Sections = append(v.Sections, e)
			d.bounded(entry.pos, i+1, maxVCenters, "vCenters")
			d.mapping(entry, e)
		}
	}
}

func (d *decoder) levels(raw *rawValue, f *config.Field) *Value {
	v := &Value{At: raw.pos}
	if raw.shape != sequence && raw.shape != null {
		d.Errorf(raw.pos, "is %s: write a list of mappings, each after a -", raw.describe())
	}
	if raw.shape != sequence {
		return v
	}
	for i, item := range raw.children(shownName) {
		d.visit()
		d.bounded(item.pos, i+1, maxLevels, "levels")
		if d.isMapping(item) {
			level := &Section{At: item.pos, In: f.Subsection}
			v.Sections = append(v.Sections, level)
			d.mapping(item, level)
		}
	}
	return v
}

func (d *decoder) labels(raw *rawValue) *Value {
	v := &Value{At: raw.pos}
	if d.isMapping(raw) {
		for _, entry := range d.pairs(raw, shownName) {
			row := d.text(entry)
			row.Key = entry.key
			v.List = append(v.List, *row)
		}
	}
	v.Set = len(v.List) > 0
	return v
}

func (d *decoder) isMapping(raw *rawValue) bool {
	if raw.shape == mapping || raw.shape == null {
		return true
	}
	d.Errorf(raw.pos, "is %s: write a mapping, with its keys indented below it", raw.describe())
	return false
}

// visit counts a key or element. Only aliases can lead to more of them than the file has bytes.
func (d *decoder) visit() {
	const slack = 100_000
	if d.visits++; d.visits > d.size+slack {
		d.stop(Position{}, "the aliases (*) and merges (<<) expand to more than %d values: "+
			"use fewer of them", d.size+slack)
	}
}

// pairs returns the keys of a mapping in file order and without duplicates, merged keys last.
func (d *decoder) pairs(raw *rawValue, show func(key string) string) (all []*rawValue) {
	if raw.shape == null {
		return nil
	}
	seen := make(map[string]*rawValue)
	for _, c := range raw.children(show) {
		d.visit()
		id := c.key
		if d.Dialect == &INI {
			id = strings.ToLower(id)
		}
		first := seen[id]
		switch {
		case c.has(invalidMerge):
			d.Errorf(c.pos, "merges (<<) %s: only mappings can be merged", c.describe())
		case c.has(damaged) && !c.isText():
			d.Errorf(c.pos, "contains a key that is not plain text: write out each key")
		case first == nil:
			seen[id] = c
			all = append(all, c)
		case c.has(merged): // The nearer key takes precedence.
		case !c.isText() && c.has(noValue):
			d.withoutValue(c, raw)
		default:
			d.Errorf(c.pos, "is set twice, first in line %d: remove one of them", first.pos.Line)
		}
	}
	return all
}

// withoutValue reports an unknown or repeated key without a value. In braces the key may be part of a
// password with a comma, so the message names only the mapping.
func (d *decoder) withoutValue(key, parent *rawValue) {
	if key.isText() {
		d.Errorf(key.pos, "%s", noKey)
		return
	}
	d.Errorf(Position{Line: key.pos.Line, Path: parent.pos.Path}, keyWithoutValue)
}
