package topology

// A Placement is where a machine is, as labels.
type Placement struct {
	// Path is the path that decided, empty if there were no rules.
	Path PathKind
	// Decisions are in the order of the rules. A rule without a decision was
	// not required and found nothing.
	Decisions []Decision
}

// A Decision is one label's value and what decided it.
type Decision struct {
	Label    string
	Value    string
	Category string
	// By is the object whose tag gave the value.
	By *Object
}

// Value returns the value of a label, empty if the placement has none.
func (p Placement) Value(label string) string {
	for _, d := range p.Decisions {
		if d.Label == label {
			return d.Value
		}
	}
	return ""
}
