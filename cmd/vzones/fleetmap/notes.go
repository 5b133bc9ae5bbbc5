package fleetmap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

// note groups the objects with marks of one kind.
type note struct {
	Kind  kind
	Items []*item
	// Count is the number of objects.
	Count int
}

// item is an object with a mark, or all Nodes with equal marks: the same cause for Nodes without a placement, otherwise the
// same kind and text.
type item struct {
	Kind kind
	// Names are the names of the Nodes, or the name of the object.
	Names []string
	// where contains the titles of the boxes around all of the objects, the outermost first.
	where []string
	// cause is set for Nodes without a placement.
	cause *cause
	// Text is the text of the object's mark, or of the first Node's. IsExample is true if another Node has a different
	// text.
	Text      string
	IsExample bool
}

// Name returns the name of an object or of the only Node, or the number of Nodes.
func (i *item) Name() string {
	if len(i.Names) == 1 {
		return i.Names[0]
	}
	return cli.Count(len(i.Names), "Node")
}

// List returns Name and, for several Nodes, at most limit of their names in parentheses.
func (i *item) List(limit int) string {
	if len(i.Names) == 1 {
		return i.Name()
	}
	return i.Name() + " (" + quote.Some(i.Names, limit) + ")"
}

// Where returns the titles of the boxes that contain all of the objects, outermost first, or "".
func (i *item) Where() string { return strings.Join(i.where, ", ") }

// Reason returns the reason of the Event about Nodes without a placement, or "".
func (i *item) Reason() string {
	if i.cause == nil {
		return ""
	}
	return i.cause.Reason
}

// Why returns the reason and the text. If the Nodes' texts differ, the text is the error of their unread vCenter, or the
// first Node's as an example.
func (i *item) Why() string {
	text := i.Text
	switch {
	case i.IsExample && i.cause != nil && i.cause.text != "":
		text = i.cause.text
	case i.IsExample:
		text = "for example, " + i.Names[0] + ": " + text
	}
	if i.Reason() == "" {
		return text
	}
	return i.Reason() + ": " + text
}

// grouped returns an item for each distinct mark of the Nodes whose kind matches. Marks without a placement are grouped by
// cause, all others by kind and text. Items are in the order of their first Nodes.
func grouped(nodes []*node, matches func(kind) bool) (items []*item) {
	byKey := map[string]*item{}
	for _, n := range nodes {
		for _, m := range n.Marks {
			if !matches(m.Kind) {
				continue
			}
			key := fmt.Sprintf("%d %q", m.Kind, m.Text)
			var c *cause
			if m.Kind == unplaced && n.cause != nil {
				c = n.cause
				key = "cause " + c.Key
			}
			i := byKey[key]
			if i == nil {
				i = &item{Kind: m.Kind, where: n.where, cause: c, Text: m.Text}
				byKey[key] = i
				items = append(items, i)
			}
			if !slices.Contains(i.Names, n.Name) {
				i.Names = append(i.Names, n.Name)
			}
			i.where = commonPrefix(i.where, n.where)
			i.IsExample = i.IsExample || m.Text != i.Text
		}
	}
	return items
}

// commonPrefix returns the common beginning of two lists.
func commonPrefix(a, b []string) []string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[:i]
		}
	}
	return a
}

// Unplaced groups by cause the Nodes without a placement on the hosts of a vSphere cluster's box.
func (b *box) Unplaced() []*item {
	var nodes []*node
	for _, h := range b.Boxes {
		nodes = append(nodes, h.Nodes...)
	}
	return grouped(nodes, func(k kind) bool { return k == unplaced })
}

// Remarks groups the marks of a host's Nodes, except unplaced, by kind and text.
func (b *box) Remarks() []*item {
	return grouped(b.Nodes, func(k kind) bool { return k != unplaced })
}

// setNotes sets Notes. An object in several boxes is listed once.
func (f *fleet) setNotes() {
	var items [len(kinds)][]*item
	var marked [len(kinds)]map[string]bool // The keys of the objects.
	for k := range marked {
		marked[k] = map[string]bool{}
	}
	seen := map[string]bool{}
	add := func(key, name string, where []string, marks []mark) {
		for _, m := range marks {
			if id := key + fmt.Sprint(m); !seen[id] {
				seen[id] = true
				marked[m.Kind][key] = true
				items[m.Kind] = append(items[m.Kind], &item{Kind: m.Kind, Names: []string{name}, where: where, Text: m.Text})
			}
		}
	}
	for _, v := range f.VCenters {
		add("vCenter "+v.Name, "vCenter "+v.Name, nil, v.Marks)
	}
	walk(f.Regions, func(b *box) { add(b.key, b.Title, b.where, b.Marks) })
	ofNodes := grouped(f.nodes, func(kind) bool { return true })
	slices.SortStableFunc(ofNodes, func(a, b *item) int { return cmp.Compare(len(b.Names), len(a.Names)) })
	for _, i := range ofNodes {
		for _, name := range i.Names {
			marked[i.Kind]["node "+name] = true
		}
		items[i.Kind] = append(items[i.Kind], i)
	}
	for k, ofKind := range items {
		if len(ofKind) > 0 {
			f.Notes = append(f.Notes, &note{kind(k), ofKind, len(marked[k])})
		}
	}
}

// isComplete reports whether every vCenter was read and every Node has a placement.
func (f *fleet) isComplete() bool {
	return len(f.Notes) == 0 || kinds[f.Notes[0].Kind].severity != check.Error
}
