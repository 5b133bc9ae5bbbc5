package topology

import "slices"

// A Ref names one managed object of the fleet. Managed object IDs repeat
// between vCenters, so a reference without its vCenter means nothing.
type Ref struct {
	// VCenter is the name of the vCenter's entry in the configuration.
	VCenter string
	// Type is the managed object type, e.g. "HostSystem".
	Type string
	// ID is the managed object ID, e.g. "host-42".
	ID string
}

func (r Ref) String() string { return r.VCenter + ":" + r.Type + ":" + r.ID }

// A Tag is one tag attached to a managed object.
type Tag struct {
	Category string
	Name     string
}

// An Object is a machine or one of its ancestors. Objects are shared between
// paths and never changed once they are in one.
type Object struct {
	Ref Ref
	// Name is the object's name as vSphere gives it, with %2f, %5c and %25 for
	// slash, backslash and percent.
	Name string
	// Path is the inventory path, "/dc1/host/c1/h1"; the root folder's is "/".
	Path string
	// Tags are the tags attached to the object itself, in no order.
	Tags []Tag
	// TagsErr says why Tags could not be read. Nil means that Tags is complete.
	TagsErr error
}

func (o *Object) String() string { return o.Ref.Type + " " + o.Path }

// named returns the names of the distinct tags of one category, sorted: the order
// in which they are listed means nothing.
func (o *Object) named(category string) []string {
	var names []string
	for _, t := range o.Tags {
		if t.Category != category {
			continue
		}
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// PathKind tells the ways that lead upwards from a machine apart.
type PathKind string

// The paths, in the order in which they are tried.
const (
	// ComputePath is host, cluster, host folders, datacenter, datacenter
	// folders, root. It is the only one that the CSI driver reads.
	ComputePath PathKind = "compute"
	// PoolPath is resource pool, parent pools, cluster and on as ComputePath.
	PoolPath PathKind = "resource pool"
	// FolderPath is the machine itself, its VM folders, datacenter and on as
	// ComputePath.
	FolderPath PathKind = "folder"
)

// A Path is one way upwards from a machine.
type Path struct {
	Kind PathKind
	// Objects are ordered from the nearest to the root.
	Objects []*Object
	// Broken says why the path ends before the root folder, e.g. for lack of a
	// privilege. Nil means that it reaches the root.
	Broken error
}
