package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

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
	// TagsErr says why Tags could not be read. Nil means that Tags is complete. If
	// it is ErrNotPermitted the object counts as untagged where what can be read
	// decides; with any other error nothing is said of what rests on the object.
	TagsErr error
	// HostGroups are the DRS host groups of its cluster that a host is in, and
	// FaultDomain is its vSAN fault domain. Nil means that it is not known: it was not
	// read yet, or nobody asked for it.
	HostGroups, FaultDomain *Membership
}

// A Membership is what a host belongs to in its cluster.
type Membership struct {
	// Names are the names of what it belongs to, in order. There are none if it
	// belongs to nothing.
	Names []string
	// Err says why Names could not be read. Nil means that Names is complete.
	Err error
}

// String names the object for a person who looks for it among several vCenters: by its
// kind, its path and its vCenter.
func (o *Object) String() string {
	return fmt.Sprintf("%s of vCenter %q", o.inVCenter(), o.Ref.VCenter)
}

// inVCenter is String where the text names the vCenter elsewhere.
func (o *Object) inVCenter() string {
	switch o.Path {
	case "/":
		return "the root folder"
	case "":
		return o.kind() + " " + quote.Plain(o.Ref.ID)
	}
	return o.kind() + " " + quote.Name(o.Path)
}

// Located is the String of an object with a path, which may be empty if it is not known.
func (r Ref) Located(path string) string { return (&Object{Ref: r, Path: path}).String() }

func (o *Object) kind() string {
	switch o.Ref.Type {
	case typeHost:
		return "host"
	case typeCluster:
		return "cluster"
	case typeStandalone:
		return "standalone host"
	case typePool:
		return "resource pool"
	case typeVApp:
		return "vApp"
	case typeDatacenter:
		return "datacenter"
	case typeFolder:
		return "folder"
	case typeMachine:
		return "virtual machine"
	}
	return o.Ref.Type
}

// The managed object types that mean something here.
const (
	typeMachine    = "VirtualMachine"
	typeHost       = "HostSystem"
	typeCluster    = "ClusterComputeResource"
	typeStandalone = "ComputeResource"
	typePool       = "ResourcePool"
	typeVApp       = "VirtualApp"
	typeFolder     = "Folder"
	typeDatacenter = "Datacenter"
)

// A hit is the tag of one category on one object.
type hit struct {
	// by is the object, nil if there is no tag.
	by *Object
	// name is that of the only tag, or of one of several.
	name    string
	several bool
}

// tagged returns the object's tag of a category. The same tag twice is one.
func (o *Object) tagged(category string) hit {
	var h hit
	for i := range o.Tags {
		t := &o.Tags[i]
		if t.Category != category {
			continue
		}
		if h.by == nil {
			h = hit{by: o, name: t.Name}
		} else if t.Name != h.name {
			h.several = true
		}
	}
	return h
}

// differs reports whether another object's tags give another answer.
func (h hit) differs(other hit) bool {
	return h.by != other.by && (h.several || other.several || h.name != other.name)
}

// tagNames returns the names of the distinct tags of one category, sorted: the order
// in which they are listed means nothing.
func (o *Object) tagNames(category string) []string {
	var names []string
	for _, t := range o.Tags {
		if t.Category == category && !slices.Contains(names, t.Name) {
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

// defaultPaths are all paths, in the vSphere CPI's order.
var defaultPaths = [...]PathKind{ComputePath, PoolPath, FolderPath}

// DefaultPaths returns the paths that are walked unless a policy says otherwise,
// in that order.
func DefaultPaths() []PathKind { return slices.Clone(defaultPaths[:]) }

// A Path is one way upwards from a machine.
type Path struct {
	Kind PathKind
	// Objects are ordered from the nearest to the root.
	Objects []*Object
	// Broken says why the path ends before the root folder, e.g. for lack of a
	// privilege. Nil means that it reaches the root.
	Broken error
}

// ancestors are the paths that lead upwards from one machine.
type ancestors []Path

var errNoPath = errors.New("the machine is not said to have one")

// path returns the machine's path of a kind. A path that was not given is broken before
// its first object: nothing is known of it.
func (a ancestors) path(kind PathKind) *Path {
	for i := range a {
		if a[i].Kind == kind {
			return &a[i]
		}
	}
	return &Path{Kind: kind, Broken: errNoPath}
}

// mostNamed is how many objects, tags or vCenters a text names at most: all of a usual
// path, so that it says where a tag was looked for.
const mostNamed = 10

// mostLookedAt is how many of the objects without a tag a text names: what to do is said before.
const mostLookedAt = 5

func quoted(names []string) string { return joined(names, ", ") }

func joined(names []string, separator string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote.Value(n)
	}
	if len(q) > mostNamed {
		return quote.Some(q, mostNamed)
	}
	return strings.Join(q, separator)
}
