// Package model is the map of a fleet: its regions, zones, clusters, hosts and Nodes, counted, and
// marked where an operator should look. It is made of plain facts and does no I/O. Its fields are an
// API, since vzones map prints them as JSON.
package model

// A Map is the fleet.
type Map struct {
	Counts Counts `json:"counts"`
	// VCenters are in configured order.
	VCenters []VCenter `json:"vcenters"`
	// Regions are by name. What is in none is in one without a name, the last.
	Regions []Region `json:"regions"`
	// Unplaced are the Nodes without a place, by name.
	Unplaced []Node `json:"unplaced"`
	// Kinds are how often each kind of mark occurs, the worst first.
	Kinds []KindCount `json:"kinds"`
	// Cluster reports whether Nodes were read. Without a cluster the map has none.
	Cluster bool `json:"cluster"`
}

// Counts are how many there are below something. A host, cluster or zone that is in several places of
// the map counts in each, and once for the whole fleet.
type Counts struct {
	Regions  int `json:"regions"`
	Zones    int `json:"zones"`
	Clusters int `json:"clusters"`
	Hosts    int `json:"hosts"`
	// UsedHosts are those with Nodes.
	UsedHosts int `json:"usedHosts"`
	Nodes     int `json:"nodes"`
	// ControlPlane are the Nodes of the control plane among Nodes.
	ControlPlane int `json:"controlPlane"`
	// Problems are the marks of severity error and warning.
	Problems int `json:"problems"`
	// Foreign are Nodes of another provider, which are not in Nodes. They are counted for the fleet only.
	Foreign int `json:"foreign,omitempty"`
}

// KindCount is how often a kind of mark occurs.
type KindCount struct {
	Kind  Kind   `json:"kind"`
	Title string `json:"title"`
	Count int    `json:"count"`
}

// VCenter is a vCenter by its name in the configuration.
type VCenter struct {
	Name   string `json:"name"`
	Read   bool   `json:"read"`
	Counts Counts `json:"counts"`
	Marks  []Mark `json:"marks,omitempty"`
}

// Region is a region by the value of its label.
type Region struct {
	Name   string `json:"name"`
	Counts Counts `json:"counts"`
	// Zones are by name. What is in none is in one without a name, the last.
	Zones []Zone `json:"zones"`
	Marks []Mark `json:"marks,omitempty"`
}

// Zone is a zone of a region by the value of its label.
type Zone struct {
	Name   string `json:"name"`
	Counts Counts `json:"counts"`
	// VCenters are the names of those that have hosts or Nodes of it.
	VCenters []string  `json:"vcenters"`
	Clusters []Cluster `json:"clusters"`
	Marks    []Mark    `json:"marks,omitempty"`
}

// Cluster is the part of a cluster, or the standalone host, that is in a zone.
type Cluster struct {
	VCenter string `json:"vcenter"`
	// Path is the inventory path, empty for machines whose host is not known.
	Path       string `json:"path"`
	Standalone bool   `json:"standalone,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`
	Counts     Counts `json:"counts"`
	Hosts      []Host `json:"hosts"`
	Marks      []Mark `json:"marks,omitempty"`
}

// Host is an ESXi host, with its Nodes of one zone.
type Host struct {
	// ID is the managed object ID, empty if the host of the Nodes is not known.
	ID    string `json:"id"`
	Name  string `json:"name"`
	Nodes []Node `json:"nodes"`
	Marks []Mark `json:"marks,omitempty"`
}

// Node is a Node of the cluster.
type Node struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	// Machine is the inventory path of its machine, empty if that is not known.
	Machine string `json:"machine,omitempty"`
	// Differences are its labels that are not those of its place.
	Differences []Difference `json:"differences,omitempty"`
	Marks       []Mark       `json:"marks,omitempty"`
}

// A Difference is a label of a Node that is not that of its place. Have is empty where the Node has no
// such label, Want where it should have none.
type Difference struct {
	Label string `json:"label"`
	Have  string `json:"have"`
	Want  string `json:"want"`
}
