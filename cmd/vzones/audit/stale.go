package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"vzones/cmd/vzones/finding"
)

// A Ref names an object of the cluster.
type Ref struct {
	// Kind is such as EndpointSlice. Namespace is empty for an object of the cluster.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns it as a line of a table has it.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// name returns it as the format name has it.
func (r Ref) name() string {
	parts := []string{strings.ToLower(r.Kind), r.Name}
	if r.Namespace != "" {
		parts = slices.Insert(parts, 1, r.Namespace)
	}
	return strings.Join(parts, "/")
}

// A Stale is a finding about one copy of a zone.
type Stale struct {
	finding.Finding
	// Ref is the object that is wrong, Node the Node that it is wrong about, if that is one.
	Ref  Ref
	Node string
	// Has is what the object says and VSphere what vSphere says, by label, as far as one value
	// stands against one.
	Has, VSphere map[string]string
	// Since is since when the object is known to be stale, zero if that is not known.
	Since time.Time
	// Written is when the copy was made and by whom, zero and empty if that is not known.
	Written time.Time
	Writer  string
}

// findings collects what is stale, each object once for a kind.
type findings struct {
	all []Stale
	// unread are the vCenters that could not be read and that no Node waits for, in configured order.
	unread []Unread
	seen   map[seen]bool
}

// An Unread is a vCenter that could not be read.
type Unread struct {
	VCenter string `json:"vcenter"`
	Reason  string `json:"reason"`
}

type seen struct {
	kind *finding.Kind
	ref  Ref
}

// add adds a finding, unless the same kind is there for the object.
func (f *findings) add(kind *finding.Kind, s Stale) {
	if f.seen == nil {
		f.seen = map[seen]bool{}
	}
	key := seen{kind, s.Ref}
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	s.Kind, s.Object = kind, s.Ref.String()
	f.all = append(f.all, s)
}

// sort puts the worst first, then by kind and object.
func (f *findings) sort() {
	rank := func(s finding.Severity) int { return slices.Index(finding.Severities(), s) }
	slices.SortStableFunc(f.all, func(a, b Stale) int {
		return cmp.Or(rank(a.Kind.Severity)-rank(b.Kind.Severity), cmp.Compare(a.Kind.ID, b.Kind.ID), cmp.Compare(a.Object, b.Object))
	})
}
