package topology

// A Rule gives one Node label its value: the name of the tag of Category that
// decides for the machine, the name of what it is in, or the name of the DRS host
// group that its host is in. One of the three is set, or none if Value does without
// them.
type Rule struct {
	// Label is the key of the Node label.
	Label string
	// Category is the name of a vSphere tag category.
	Category string
	// Inventory is what gives its name where Category is empty.
	Inventory Inventory
	// Value makes the label's value of this and other sources. Without it the value
	// is what the source gives.
	Value Template
	// HostGroup is the name of DRS host groups, in which a * stands for any
	// characters.
	HostGroup string
	// Required says that a Node without a value for Label has no placement at
	// all. Without it the label is left out.
	Required bool
	// Nested says that each value of a further level lies in one value of the levels
	// before it, of the zone and of the region. What does not is a conflict.
	Nested bool
}

// hasSource reports whether the rule has a source besides those of Value.
func (r *Rule) hasSource() bool { return r.Category != "" || r.Inventory != "" || r.HostGroup != "" }

// categories returns the tag categories that the rule needs.
func (r *Rule) categories() []string {
	var names []string
	if r.Category != "" {
		names = append(names, r.Category)
	}
	for _, part := range r.Value {
		if part.Category != "" {
			names = append(names, part.Category)
		}
	}
	return names
}

// Rules are in the order of the labels of a placement. Each label occurs once.
type Rules []Rule
