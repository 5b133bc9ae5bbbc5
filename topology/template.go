package topology

import (
	"slices"
	"strings"
)

// A Template makes a label's value of several sources, part by part.
type Template []Part

// A Part is one piece of a Template. Exactly one of its fields is set.
type Part struct {
	// Text stands in the value as it is.
	Text string
	// Own is what the rule's own source gives.
	Own bool
	// Label is the label of another rule, whose whole value it is.
	Label string
	// Category is a tag category: what its rule's walk finds if it is one of
	// Policy.Rules, and otherwise the nearest tag.
	Category string
	// Inventory is what gives its name.
	Inventory Inventory
}

// String returns the part as the configuration has it.
func (p Part) String() string {
	switch {
	case p.Own:
		return "{own source}"
	case p.Label == LabelRegion:
		return "{region}"
	case p.Label == LabelZone:
		return "{zone}"
	case p.Label != "":
		return "{" + p.Label + "}"
	case p.Category != "":
		return "{tag:" + p.Category + "}"
	case p.Inventory != "":
		return "{" + string(p.Inventory) + "}"
	}
	return p.Text
}

// isSource reports whether the part is more than a text.
func (p Part) isSource() bool { return p.Text == "" }

// format returns the template as the configuration of a label has it.
func (t Template) format(label string) string {
	var b strings.Builder
	for _, part := range t {
		if part.Own {
			part = Part{Label: label}
		}
		b.WriteString(part.String())
	}
	return b.String()
}

// UsesOwn reports whether the template needs the rule's own source.
func (t Template) UsesOwn() bool { return slices.ContainsFunc(t, func(p Part) bool { return p.Own }) }
