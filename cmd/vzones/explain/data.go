package explain

import v1 "k8s.io/api/core/v1"

// An Explanation is all that is known of one Node. It is the output in JSON and YAML.
type Explanation struct {
	// Node is what was asked for. Without a Node of the cluster it stands for a machine.
	Node Node `json:"node"`
	// Identified says how the machine was looked for and what was found.
	Identified Identified `json:"identified"`
	// Machine is absent while it is not known which one it is, or another Node comes first.
	Machine *Machine `json:"machine,omitempty"`
	// Paths lead from the machine to the root folder, in the order in which they are walked.
	Paths []Path `json:"paths,omitempty"`
	// Labels are in the order of the configuration, the instance type last.
	Labels []Label `json:"labels,omitempty"`
	// Taint reports whether the daemon keeps the Node tainted for drift.
	Taint bool `json:"taint"`
	// Conflicts are what is to be changed in vSphere, whether or not labels differ.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Addresses *Addresses `json:"addresses,omitempty"`
	Deletion  Deletion   `json:"deletion"`
	// Unread are the vCenters that could not be read, with the reason.
	Unread []Unread `json:"unreadVCenters,omitempty"`
	// Problems are what is wrong with the Node. With any the exit status is 1.
	Problems []Problem `json:"problems,omitempty"`
}

// Node is a Node, or what stands for a machine without one.
type Node struct {
	Name string `json:"name"`
	// InCluster is false for a machine without a Node.
	InCluster bool `json:"inCluster"`
	// Managed is false for a Node of another provider, or one that the configuration leaves out.
	Managed     bool   `json:"managed"`
	Initialized bool   `json:"initialized"`
	Ready       bool   `json:"ready"`
	ProviderID  string `json:"providerID,omitempty"`
	SystemUUID  string `json:"systemUUID,omitempty"`
}

// Identified is how a machine was looked for.
type Identified struct {
	// By is providerID, systemUUID, systemUUIDSwapped (in the other byte order) or name, empty if
	// the Node says nothing of use, and uuid for a machine without a Node.
	By string `json:"by,omitempty"`
	// Value is what was looked for.
	Value string `json:"value,omitempty"`
	// Recorded is what the Node's annotation says of where its machine was found last.
	Recorded string `json:"recorded,omitempty"`
	// Error is why there is no machine.
	Error string `json:"error,omitempty"`
	// Candidates are all machines that fit, or may fit.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Candidate is a machine that fits what the Node says, or may fit.
type Candidate struct {
	VCenter string `json:"vcenter"`
	ID      string `json:"id"`
	Path    string `json:"path,omitempty"`
	UUID    string `json:"uuid,omitempty"`
	// Standing is chosen, same_machine, template, secondary, powered_off, outside_datacenters,
	// unreadable or undecided.
	Standing  string `json:"standing"`
	PoweredOn bool   `json:"poweredOn"`
	text      string
}

// Machine is a virtual machine.
type Machine struct {
	VCenter  string `json:"vcenter"`
	ID       string `json:"id"`
	Path     string `json:"path"`
	Name     string `json:"name"`
	UUID     string `json:"uuid"`
	HostName string `json:"hostName,omitempty"`
	Power    string `json:"power,omitempty"`
}

// Path is one way upwards.
type Path struct {
	// Kind is compute, resource pool or folder. Walked reports whether tags are looked for on it.
	Kind    string   `json:"kind"`
	Walked  bool     `json:"walked"`
	Objects []Object `json:"objects"`
	// Broken says why the path ends before the root folder.
	Broken string `json:"broken,omitempty"`
}

// Object is the machine, or something above it.
type Object struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Path string `json:"path,omitempty"`
	Tags []Tag  `json:"tags,omitempty"`
	// Unread says why the tags could not be read.
	Unread      string   `json:"unread,omitempty"`
	HostGroups  []string `json:"hostGroups,omitempty"`
	FaultDomain string   `json:"faultDomain,omitempty"`
	name        string
}

// Tag is a tag on an object.
type Tag struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	// For are the labels that could come from it, none if the configuration does not use the
	// category.
	For []Fate `json:"for,omitempty"`
}

// Fate is what became of a tag for one label.
type Fate struct {
	Label string `json:"label"`
	// Fate is decides, two_tags, invalid_value, overwritten, farther, beyond_walk, other_path,
	// incomplete_path or no_decision. Text says it in words.
	Fate string `json:"fate"`
	Text string `json:"text"`
}

// Label is one label, what it is and what it should be.
type Label struct {
	Label string `json:"label"`
	// Node is the value on the Node, that of the beta label if only that one is wrong. Place is that of
	// the machine's place. Both are empty for none.
	Node  string `json:"node,omitempty"`
	Place string `json:"place,omitempty"`
	// Source is what gave Place, By the object, Why the path and the precedence.
	Source string `json:"source,omitempty"`
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
	// Undecided is why nothing can be said of the label, Uncertain why Place might be another.
	Undecided string `json:"undecided,omitempty"`
	Uncertain string `json:"uncertain,omitempty"`
	// Differs reports whether the Node lacks the label, or has it with another value.
	Differs bool `json:"differs"`
	// Action is what the daemon does: backfill, update, remove, initialize, or empty for nothing.
	// Text says it in words, or why nothing is done.
	Action string `json:"action,omitempty"`
	Text   string `json:"text,omitempty"`
}

// Conflict is something in the tags, or in names of the inventory, that is to be changed.
type Conflict struct {
	Kind   string   `json:"kind"`
	Labels []string `json:"labels"`
	Text   string   `json:"text"`
}

// Addresses are those of a Node.
type Addresses struct {
	// Node are those that it has, Chosen those that the rules give.
	Node   []v1.NodeAddress `json:"node,omitempty"`
	Chosen []v1.NodeAddress `json:"chosen,omitempty"`
	// Changed reports whether the daemon writes Chosen.
	Changed bool     `json:"changed"`
	Error   string   `json:"error,omitempty"`
	Results []Result `json:"results,omitempty"`
}

// Result is what became of one address of the machine.
type Result struct {
	Address string `json:"address"`
	Network string `json:"network,omitempty"`
	// Reported is false for an address that the Node or the kubelet has and VMware Tools do not report.
	Reported bool `json:"reported"`
	// Static reports whether the machine's metadata has it.
	Static bool `json:"static"`
	// Internal and External are the rules that chose or dropped it, such as "subnet 10.0.0.0/8".
	Internal string `json:"internal"`
	External string `json:"external"`
	Chosen   bool   `json:"chosen"`
}

// Deletion is what decides whether the Node is deleted.
type Deletion struct {
	// Deleted reports whether the daemon would have the Node deleted now.
	Deleted bool `json:"deleted"`
	// Conditions all have to hold for that.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one thing that has to hold for a Node to be deleted.
type Condition struct {
	// Condition is managed, not_ready, names_machine, absent, found_before, deletion_enabled or
	// searched.
	Condition string `json:"condition"`
	// Holds is absent where another condition that does not hold makes it meaningless.
	Holds *bool  `json:"holds,omitempty"`
	Text  string `json:"text"`
}

// Unread is a vCenter that could not be read.
type Unread struct {
	VCenter string `json:"vcenter"`
	Error   string `json:"error"`
}

// Problem is something wrong with the Node.
type Problem struct {
	// Reason is that of the daemon's Events, such as MachineNotFound.
	Reason string `json:"reason"`
	Text   string `json:"text"`
}
