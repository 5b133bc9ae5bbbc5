package schema

import (
	"strconv"
	"strings"

	"vzones/config"
	"vzones/config/problem"
)

// Value is one field as the file gives it.
type Value[T any] struct {
	V  T
	At problem.Position
	// Set reports whether the file gives a value, if only a wrong one. What is
	// written but empty (null, "", [], a port of 0) is not set, as in the CPI.
	Set bool
	// Bad reports whether the value was reported as wrong: v is not to be used, nor
	// the field to be reported as missing.
	Bad bool
	// Hidden reports whether the text also serves elsewhere in the file, perhaps as a
	// password, and must not appear in a message.
	Hidden bool
}

type (
	// Text is a single value of any kind, as it is written.
	Text = Value[string]
	// Number is a whole number.
	Number = Value[int]
	// Toggle is a truth value.
	Toggle = Value[bool]
	// List is a list of single values.
	List = Value[[]Text]
	// Secret is a Text that is shown nowhere.
	Secret = Value[config.Password]
)

// Either returns the entry's value where it has one.
func Either[T any](entry, global Value[T]) Value[T] {
	if entry.Set {
		return entry
	}
	return global
}

// Otherwise returns a value, or what holds where it is not set.
func Otherwise[T any](v Value[T], unset T) T {
	if v.Set {
		return v.V
	}
	return unset
}

// A Table is a mapping whose keys and values are any text.
type Table struct {
	Rows []Row
	// shown reports whether it is written even if there are no rows.
	shown bool
}

// A Row is a key of a Table with its value.
type Row struct {
	Key   string
	At    problem.Position
	Value Text
}

// Split takes what is between commas. Blank parts do not count, as in the CPI.
func Split(t Text) List {
	l := List{At: t.At}
	for part := range strings.SplitSeq(t.V, ",") {
		if part = strings.TrimSpace(part); part != "" {
			l.V = append(l.V, Text{V: part, At: t.At, Set: true})
		}
	}
	l.Set = len(l.V) > 0
	return l
}

// NumberOf takes a text for a number.
func NumberOf(p *problem.List, t Text) Number {
	n, err := strconv.ParseInt(strings.TrimSpace(t.V), 10, 32)
	if t.Set && err != nil {
		p.Errorf(t.At, "is not a whole number: write it in decimal digits")
	}
	return Number{V: int(n), At: t.At, Set: t.Set && (err != nil || n != 0), Bad: t.Set && err != nil}
}

// Written reports whether the file has the field at all.
func (v Value[T]) Written() bool { return v.At.Line != 0 }

// Usable reports whether the file gives a value that was not reported as wrong.
func (v Value[T]) Usable() bool { return v.Set && !v.Bad }

// SecretOf takes a text for a secret.
func SecretOf(t Text) Secret {
	return Secret{V: config.NewPassword(t.V), At: t.At, Set: t.Set, Bad: t.Bad, Hidden: true}
}
