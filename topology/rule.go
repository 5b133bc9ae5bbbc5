package topology

// The labels that Kubernetes reads a Node's topology from.
const (
	LabelRegion = "topology.kubernetes.io/region"
	LabelZone   = "topology.kubernetes.io/zone"
)

// A Rule gives one Node label its value: the name of the tag of Category that
// decides for the machine.
type Rule struct {
	// Label is the key of the Node label.
	Label string
	// Category is the name of a vSphere tag category.
	Category string
	// Required says that a Node without a value for Label has no placement at
	// all. Without it the label is left out.
	Required bool
}

// Rules are applied together: one path through the inventory decides all of
// them. Each label and each category occurs once.
type Rules []Rule
