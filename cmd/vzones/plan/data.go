package plan

import "vzones/topology"

// A Plan is what the daemon would do, or what a change would change of that. It is the output in JSON
// and YAML.
type Plan struct {
	// Nodes is how many there are, Unchanged of how many nothing would change.
	Nodes     int `json:"nodes"`
	Unchanged int `json:"unchanged"`
	// Changes are the other Nodes, by name.
	Changes []NodeChange `json:"changes"`
	// Conflicts are those of tags and names that would arise, then those that would end.
	Conflicts []ConflictChange `json:"conflicts,omitempty"`
	// Notes are what else is to be known, such as a category that has to be made first.
	Notes []string `json:"notes,omitempty"`
	// now reports whether it is without a change.
	now bool
}

// The changes of conflicts.
const (
	arises = "arises"
	ends   = "ends"
)

// ConflictChange is a conflict that is there only before a change, or only after it.
type ConflictChange struct {
	// Change is arises or ends.
	Change string `json:"change"`
	// Kind is as in the daemon's metric of conflicts, Labels are those concerned.
	Kind   topology.ConflictKind `json:"kind"`
	Labels []string              `json:"labels"`
	// Text says what is wrong, and what to change.
	Text string `json:"text"`
}

// NodeChange is what would change about one Node.
type NodeChange struct {
	Node    string   `json:"node"`
	VCenter string   `json:"vcenter,omitempty"`
	Changes []Change `json:"changes"`
}

// Change is one thing about a Node that would change.
type Change struct {
	// Kind is label, instanceType, taint, addresses, problem or managed.
	Kind string `json:"kind"`
	// Label is the key of a label or of a taint.
	Label string `json:"label,omitempty"`
	// Now is what the Node has. Then is what its place gives, after the change if there is one. Both are
	// empty for nothing. Undecided says why Then is not known.
	Now       string `json:"now"`
	Then      string `json:"then"`
	Undecided string `json:"undecided,omitempty"`
	// Result is what the Node has once the daemon has done what it does.
	Result string `json:"result"`
	// By is what decides Then.
	By string `json:"by,omitempty"`
	// Action is backfill, update, remove, initialize, taint, untaint, write, delete, or empty if the
	// Node keeps what it has. Text says it in words.
	Action string `json:"action,omitempty"`
	Text   string `json:"text"`
}
