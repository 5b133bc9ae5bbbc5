package topology

import (
	"errors"
	"fmt"
	"strings"
)

// A Placement contains a VM's labels. A label in neither Decisions nor Undecided certainly has no
// value, so a Node may lose it. A Node keeps an undecided label (decision 0014).
type Placement struct {
	// Path decided region and zone, or is empty.
	Path      PathKind
	Decisions []Decision
	Undecided []Undecided
	// Conflicts are valid even if Resolve fails.
	Conflicts []Conflict
	// SystemUnread lists the system folders that are treated as untagged.
	SystemUnread []*Object
}

// A Decision is a label's value and its source.
type Decision struct {
	Label string
	Value string
	// Plain is the value of the rule's own source if Value is composed, and Parts are the
	// decisions that Value is composed of.
	Plain     string
	Parts     []Decision
	Category  string
	Inventory Inventory
	HostGroup string
	// By is the object whose tag or name gave the value: for InventoryVCenter the farthest
	// readable object, for host groups and fault domains the host's cluster.
	By *Object
	// Unread lists the objects, without system folders, that might have decided otherwise. Such
	// a value may be added to a Node but never replace another value.
	Unread []*Object
}

// Source describes where the value comes from.
func (d Decision) Source() string {
	if d.Parts != nil {
		sources := make([]string, len(d.Parts))
		for i, part := range d.Parts {
			sources[i] = part.Source()
		}
		return strings.Join(sources, ", ")
	}
	switch {
	case d.HostGroup != "":
		return fmt.Sprintf("the DRS host groups %q of %s", d.HostGroup, d.By)
	case d.Inventory == InventoryFaultDomain:
		return "the vSAN fault domains of " + d.By.String()
	case d.Inventory == InventoryVCenter:
		return fmt.Sprintf("the name of vCenter %q", d.By.Ref.VCenter)
	case d.Category == "":
		return "the name of " + d.By.String()
	}
	return fmt.Sprintf("category %q on %s", d.Category, d.By)
}

// Undecided is an optional label of unknown value.
type Undecided struct {
	Label string
	// Err is ErrUnknown, ErrAmbiguous or ErrInvalid.
	Err error
}

// Value returns the value of a label, or "".
func (p Placement) Value(label string) string {
	d, _ := p.decision(label)
	return d.Value
}

func (p Placement) decision(label string) (Decision, bool) {
	for _, d := range p.Decisions {
		if d.Label == label {
			return d, true
		}
	}
	return Decision{}, false
}

// WhyUndecided returns the error of an undecided label, or nil.
func (p Placement) WhyUndecided(label string) error {
	for _, u := range p.Undecided {
		if u.Label == label {
			return u.Err
		}
	}
	return nil
}

// NotRead returns the first ErrNotRead of an undecided label, or nil.
func (p Placement) NotRead() error {
	for _, u := range p.Undecided {
		if errors.Is(u.Err, ErrNotRead) {
			return u.Err
		}
	}
	return nil
}

// Uncertainty returns the reason why a label might have a different value, or nil.
func (p Placement) Uncertainty() error {
	for _, u := range p.Undecided {
		return u.Err
	}
	for _, d := range p.Decisions {
		if err := d.Uncertainty(); err != nil {
			return err
		}
	}
	return nil
}

// Further returns the labels besides region and zone, or nil.
func (p Placement) Further() map[string]string {
	var labels map[string]string
	for _, d := range p.Decisions {
		if d.Label == LabelRegion || d.Label == LabelZone {
			continue
		}
		if labels == nil {
			labels = make(map[string]string, len(p.Decisions))
		}
		labels[d.Label] = d.Value
	}
	return labels
}
