package topology

import (
	"errors"
	"fmt"
	"strings"
)

// A Placement is where a machine is, as labels. Each label that the policy has is
// decided, undecided or absent, and these are never mixed: absent is a label
// that neither Decisions nor Undecided have, for which everything was read and
// nothing found, so that a Node may lose it. An undecided one it keeps.
type Placement struct {
	// Path is the path whose tags decided region and zone, empty if none did.
	Path PathKind
	// Decisions are in the order of the rules, levels last.
	Decisions []Decision
	// Undecided are the labels, none of them required, of which nothing can be
	// said.
	Undecided []Undecided
	// Conflicts are what an operator should know of the tags, whether or not
	// there is a placement.
	Conflicts []Conflict
	// SystemUnread are the folders that vSphere makes itself, the root folder and
	// those right below a datacenter, among the objects that count as untagged
	// because the account may not read their tags.
	SystemUnread []*Object
}

// A Decision is one label's value and what decided it.
type Decision struct {
	Label string
	Value string
	// Plain is what the rule's own source gives where Value is composed of several:
	// the name of a tag is what the CSI driver reads. Parts are those that Value is
	// composed of, without the texts between them.
	Plain string
	Parts []Decision
	// Category, Inventory and HostGroup are those of the rule.
	Category  string
	Inventory Inventory
	HostGroup string
	// By is the object whose tag or name gave the value. For InventoryVCenter it
	// is the farthest object that could be read, mostly the root folder. For host
	// groups and fault domains it is the host's cluster.
	By *Object
	// Unread are the objects that count as untagged, because the account may not
	// read their tags, and that might have decided otherwise. Such a value is good
	// for a label that is missing; it is no reason to change one. Folders that
	// vSphere makes itself are not among them.
	Unread []*Object
}

// Source returns what gave the value, for a person.
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

// Undecided is a label whose value is not known.
type Undecided struct {
	Label string
	// Err is ErrUnknown, ErrAmbiguous or ErrInvalid.
	Err error
}

// Value returns the value of a label, empty if the placement has none.
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

// WhyUndecided returns why nothing can be said of a label. It returns nil for a
// label that is decided, and for one that is known to have no value.
func (p Placement) WhyUndecided(label string) error {
	for _, u := range p.Undecided {
		if u.Label == label {
			return u.Err
		}
	}
	return nil
}

// NotRead returns why a label is undecided of which something was not read for the first time yet, nil if there is
// none.
func (p Placement) NotRead() error {
	for _, u := range p.Undecided {
		if errors.Is(u.Err, ErrNotRead) {
			return u.Err
		}
	}
	return nil
}

// Uncertainty returns why a label is not known, or might be another one, nil if all are certain.
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

// Further returns the labels besides region and zone, nil if there are none.
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
