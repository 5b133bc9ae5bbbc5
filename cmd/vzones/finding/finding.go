// Package finding is what the tool finds wrong: what a finding has, the list of all kinds with
// their IDs, and how findings are ordered.
//
// Kinds are by number: VZ1xx are of vzones check, VZ3xx of vzones audit. An ID stays what it means,
// and a number is not used again.
package finding

import (
	"cmp"
	"slices"
	"strings"
)

// A Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	// Error: Nodes have no zone or a wrong one, or will not come up.
	Error Severity = "error"
	// Warning: something works less well than it could, or fails once something else does.
	Warning Severity = "warning"
	// Info: worth knowing, and maybe meant to be so.
	Info Severity = "info"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// AtLeast reports whether a severity is as bad as another one, or worse.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

func (s Severity) rank() int { return slices.Index(Severities(), s) }

// A Kind is one thing that can be wrong.
type Kind struct {
	// ID is such as VZ101.
	ID       string
	Severity Severity
	// Title says in a few words what is wrong.
	Title string
	// Meaning says what it leads to, Fix what to do: whole sentences, for the reference.
	Meaning, Fix string
}

// Page returns the address of what the reference says of a kind.
func (k *Kind) Page() string {
	return "docs/reference/findings.md#" + strings.ToLower(k.ID)
}

// A Finding is something wrong with one object, or with what several have in common.
type Finding struct {
	Kind *Kind
	// VCenter is the name of the vCenter, empty if it is about several or none.
	VCenter string
	// Object names what it is about, as topology.Object and quote do for a person.
	Object string
	// Text says what is wrong, in one line, without the object's name where that is clear from
	// Object. Advice says what to do here; empty for the Fix of the Kind.
	Text, Advice string
	// Short is Text without what differs from object to object, for a line about several of them.
	// It is empty if that is Text itself.
	Short string
	// Command does it, where one govc or kubectl command can; empty where none does.
	Command string
}

// WhatToDo returns the advice.
func (f *Finding) WhatToDo() string { return cmp.Or(f.Advice, f.Kind.Fix) }

// Compare orders findings: by vCenter, those about none first, the worst first, then by ID and object.
func Compare(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.VCenter, b.VCenter), a.Kind.Severity.rank()-b.Kind.Severity.rank(),
		strings.Compare(a.Kind.ID, b.Kind.ID), strings.Compare(a.Object, b.Object), strings.Compare(a.Text, b.Text),
	)
}
