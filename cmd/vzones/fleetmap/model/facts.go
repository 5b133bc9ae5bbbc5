package model

// Facts are what a map is made of.
type Facts struct {
	VCenters []VCenterFacts
	// Hosts are all hosts that are known, in any order, each once.
	Hosts []HostFacts
	Nodes []NodeFacts
	// Foreign is how many Nodes are another provider's.
	Foreign int
	// Cluster reports whether the Nodes are known, or there is no cluster.
	Cluster bool
}

// VCenterFacts are those of one vCenter, by its name in the configuration.
type VCenterFacts struct {
	Name string
	// Unread says why it could not be read, Incomplete what of it is missing.
	Unread     string
	Incomplete []string
}

// HostKey names a host: managed object IDs repeat between vCenters.
type HostKey struct{ VCenter, ID string }

// HostFacts are those of an ESXi host.
type HostFacts struct {
	HostKey
	Name       string
	Datacenter string // its inventory path, empty if it is not known
	Cluster    string // its inventory path, that of the host if Standalone
	Standalone bool
	// Region and Zone are what the tags or names above the host give, empty if they give none.
	Region, Zone string
	// Missing are the labels that it should have and has not, Undecided says why one is not known.
	Missing   []string
	Undecided string

	InMaintenance, Disconnected bool
}

// NodeFacts are those of a Node.
type NodeFacts struct {
	Name         string
	ControlPlane bool
	// Host is where its machine is; its ID is empty if that is not known.
	Host HostKey
	// Machine is the inventory path of its machine, empty if that is not known.
	Machine string
	// Unplaced says why it has no place. Region and Zone are those of its place.
	Unplaced     string
	Region, Zone string
	// Drifts are its labels that are not those of its place.
	Drifts []Difference
	// Waits says what it waits for, empty if it is initialized.
	Waits string
	// Problem is what else is wrong with it.
	Problem string
}
