// Package survey reads what a vCenter has beside the machines of Nodes: all hosts with what is
// above them and the tags on it, the tag categories, what of a machine's settings a Node depends
// on, the DRS rules, and which privileges the account lacks.
//
// What is read comes through the session that the fleet has with the vCenter, in requests whose number does not
// depend on that of hosts or machines, except for pages. It never writes to a vCenter.
package survey

import (
	"time"

	"vzones/topology"
)

// A Query says what is read. Its zero value reads the objects without their tags.
type Query struct {
	// Categories are the names of the tag categories that matter. Without any no tags are read.
	Categories []string
	// Machines are the managed object IDs of the machines whose settings are read, by vCenter.
	Machines map[string][]string
	// Folder is the inventory path of a folder, vApp, resource pool, datacenter, cluster or host,
	// of which all machines below it are listed, empty for none. A vCenter that has nothing there
	// has ErrNoFolder as its MachinesErr.
	Folder string
	// Beside reports whether resource pools, vApps and all folders are in Objects too.
	Beside bool
	// Rules reports whether the DRS configuration of the clusters is read.
	Rules bool
	// Definitions reports whether cardinality, types and tags of the Categories are read. For those of them that
	// are in Tagged all objects that have their tags are listed, wherever in the inventory.
	Definitions bool
	Tagged      []string
	// Privileges reports whether vCenter is asked which privileges the account has.
	Privileges bool
}

// A Survey is what was read of one vCenter. It is never changed.
type Survey struct {
	VCenter string
	// Err says why nothing could be read. Errors of a part are with that part.
	Err   error
	About About
	// Skew is how far the vCenter's clock is ahead of this machine's; SkewErr says why that is
	// not known. Half of the time that the request took is taken off.
	Skew    time.Duration
	SkewErr error
	// Objects are the folders of datacenters and hosts, the datacenters, clusters and hosts that
	// the account sees, the root folder included, in the order of their paths. Those above a
	// host are in Parent.
	Objects []*Object
	// ObjectsErr says why objects may be missing.
	ObjectsErr error
	// Invisible are the categories of the Query that the vCenter does not show to the account: they do
	// not exist there, or the account may not read them.
	Invisible []string
	// Tagged is to what the tags of Query.Tagged are attached. TaggedErr says why that is not known.
	Tagged    []topology.Tagged
	TaggedErr error
	// Categories are those of the Query that the account can see, in that order; CategoriesErr
	// says why they are not known.
	Categories    []Category
	CategoriesErr error
	// Visible are the names of all tag categories that the account can see, if the Query asks for Definitions.
	Visible []string
	// Clusters are the DRS configurations of the clusters, by managed object ID, if the Query
	// asks for them.
	Clusters map[string]*Cluster
	// Machines are those that the Query names or lists, by managed object ID.
	Machines    map[string]*Machine
	MachinesErr error
	// Denied are the privileges that the account lacks, in the order of objects; DeniedErr says
	// why they are not known.
	Denied    []Denied
	DeniedErr error
}

// About is what a vCenter says of itself.
type About struct {
	// Name is the product's, such as "VMware vCenter Server"; Version, Build and APIVersion are
	// as it writes them, such as "8.0.3", "24022515" and "8.0.3.0".
	Name, Version, Build, APIVersion string
	// Instance is its own UUID.
	Instance string
	// User is the account of the session, as the vCenter names it.
	User string
}

// An Object is a folder, a datacenter, a cluster or a host.
type Object struct {
	// Object has its name, its path and its tags, as placements have them. Its type says what it is.
	*topology.Object
	// Parent is nil for the root folder, and where what is above cannot be read.
	Parent *Object
	// Broken says why Parent is nil.
	Broken error
	// Host is the state of a host, zero of other objects.
	Host
}

// A Host is the state of a host.
type Host struct {
	InMaintenance, Connected bool
	// StateErr says why neither can be read.
	StateErr error
}

// Up returns the way upwards from an object, which is first on it, as placement walks it.
func (o *Object) Up() topology.Path {
	p := topology.Path{Kind: topology.ComputePath}
	for at := o; at != nil; at = at.Parent {
		p.Objects = append(p.Objects, at.Object)
		p.Broken = at.Broken
	}
	return p
}

// A Category is a tag category.
type Category struct {
	Name string
	// Multiple reports whether an object may have several of its tags.
	Multiple bool
	// Types are the managed object types that its tags may be attached to, all if empty.
	Types []string
	// Tags are the names of its tags, in order; MoreTags is how many there are beside them: those
	// that the account may not read, and those beyond the first hundred.
	Tags     []string
	MoreTags int
}

// A Machine is what else is read of a machine.
type Machine struct {
	topology.Ref
	Name, Path string
	// UUID is the BIOS UUID as vSphere writes it, empty if it cannot be read.
	UUID string
	// Template and PoweredOn are its state.
	Template, PoweredOn bool
	// Host is the managed object ID of the host that it is on, empty if that cannot be read.
	Host string
	// DiskUUID reports whether disk.enableUUID is on, nil if that cannot be read.
	DiskUUID *bool
	// Tools is guest.toolsRunningStatus, such as "guestToolsRunning", empty if it cannot be read.
	Tools string
}

// A Cluster is the DRS configuration of a cluster.
type Cluster struct {
	// DRS reports whether DRS moves machines at all.
	DRS bool
	// HA reports whether vSphere HA restarts machines on other hosts.
	HA    bool
	Rules []Rule
	Err   error // why it could not be read
}

// A RuleKind is what a Rule does.
type RuleKind string

// The kinds of rules.
const (
	Separate RuleKind = "separate"
	Together RuleKind = "together"
	Hosts    RuleKind = "hosts"
)

// A Rule keeps machines together or apart, or ties a group of them to hosts.
type Rule struct {
	Name    string
	Enabled bool
	// Mandatory reports whether DRS may never violate it.
	Mandatory bool
	Kind      RuleKind
	// Machines are the managed object IDs of its machines; Hosts are those of the hosts that a
	// rule of kind Hosts ties them to, or away from if Away is set.
	Machines, Hosts []string
	Away            bool
}

// Denied is a privilege that the account lacks on an object.
type Denied struct {
	Privilege string
	// For says what needs it, for a person.
	For    string
	Object *topology.Object
	// Needed reports whether the daemon cannot place Nodes without it. Otherwise it does with
	// less, such as seeing a change of tags later.
	Needed bool
	// System reports whether the object is the root folder, or one that vSphere makes right below a
	// datacenter. Hardly anybody tags these, and roles that do not propagate leave them out.
	System bool
}
