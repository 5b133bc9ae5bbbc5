package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A Ref identifies a managed object of the fleet. Managed object IDs repeat between vCenters.
type Ref struct {
	// VCenter is the name of the vCenter's entry in the configuration.
	VCenter string
	// Type is the managed object type, such as "HostSystem".
	Type string
	// ID is the managed object ID, such as "host-42".
	ID string
}

func (r Ref) String() string { return r.VCenter + ":" + r.Type + ":" + r.ID }

// A Tag is one tag attached to a managed object.
type Tag struct {
	Category string
	Name     string
}

// An Object is a VM or one of its ancestors. Objects are shared between paths and immutable.
type Object struct {
	Ref Ref
	// Name is the name in vSphere's escaping, with %2f, %5c and %25 for slash, backslash and
	// percent.
	Name string
	// Path is the inventory path, "/dc1/host/c1/h1"; "/" for the root folder, empty if unknown.
	Path string
	// Tags are the object's own tags, in no order.
	Tags []Tag
	// TagsErr is nil if Tags is complete. With ErrNotPermitted, the object is treated as
	// untagged if readable tags decide. With any other error, every label that may depend on
	// the object is unknown.
	TagsErr error
	// HostGroups are the DRS host groups of a host, and FaultDomain is its vSAN fault domain.
	// Nil means not read yet, or not requested.
	HostGroups, FaultDomain *Membership
}

// A Membership lists a host's groups or fault domain in its cluster.
type Membership struct {
	// Names is sorted, and empty if the host is in none.
	Names []string
	// Err is nil if Names is complete.
	Err error
}

// String names the object for a person, by its kind, path and vCenter.
func (o *Object) String() string {
	return fmt.Sprintf("%s of vCenter %q", o.inVCenter(), o.Ref.VCenter)
}

// inVCenter is String without the vCenter.
func (o *Object) inVCenter() string {
	switch o.Path {
	case "/":
		return "the root folder"
	case "":
		return o.kind() + " " + quote.Plain(o.Ref.ID)
	}
	return o.kind() + " " + quote.Name(o.Path)
}

// Located is the String of an object with a path, which may be empty.
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
		return "VM"
	}
	return o.Ref.Type
}

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
	// object is nil without a tag.
	object *Object
	// name is the name of any of the tags if there are several.
	name        string
	isAmbiguous bool
}

// tagged returns the object's tag of a category. Duplicates are one tag.
func (o *Object) tagged(category string) hit {
	var h hit
	for i := range o.Tags {
		t := &o.Tags[i]
		if t.Category != category {
			continue
		}
		if h.object == nil {
			h = hit{object: o, name: t.Name}
		} else if t.Name != h.name {
			h.isAmbiguous = true
		}
	}
	return h
}

// differs reports whether a hit on another object gives a different value.
func (h hit) differs(other hit) bool {
	return h.object != other.object && (h.isAmbiguous || other.isAmbiguous || h.name != other.name)
}

// tagNames returns the distinct tag names of a category, sorted.
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

// A PathKind is a way upwards from a VM.
type PathKind string

// The paths, in their default order.
const (
	// ComputePath is host, cluster, host folders, datacenter, datacenter folders, root. The CSI
	// driver reads only this path.
	ComputePath PathKind = "compute"
	// PoolPath is resource pool, parent pools, cluster, and onwards like ComputePath.
	PoolPath PathKind = "resource pool"
	// FolderPath is the VM itself, its VM folders, datacenter, and onwards like ComputePath.
	FolderPath PathKind = "folder"
)

// defaultPaths is in the vSphere CPI's order.
var defaultPaths = [...]PathKind{ComputePath, PoolPath, FolderPath}

// DefaultPaths returns the paths of a policy that sets none, in order.
func DefaultPaths() []PathKind { return slices.Clone(defaultPaths[:]) }

// A Path is a list of objects upwards from a VM.
type Path struct {
	Kind PathKind
	// Objects are ordered from the nearest to the root.
	Objects []*Object
	// Broken is the reason why the path ends before the root folder, such as a missing
	// privilege, or nil.
	Broken error
}

type ancestors []Path

var errNoPath = errors.New("the VM is not said to have one")

// path returns the VM's path of a kind. An unknown path is empty and broken.
func (a ancestors) path(kind PathKind) *Path {
	for i := range a {
		if a[i].Kind == kind {
			return &a[i]
		}
	}
	return &Path{Kind: kind, Broken: errNoPath}
}

// maxNamed limits the objects, tags or vCenters in a text. A usual path fits.
const maxNamed = 10

// maxSearched limits the untagged objects in a text.
const maxSearched = 5

func quoted(names []string) string { return joined(names, ", ") }

func joined(names []string, separator string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quote.Value(n)
	}
	if len(q) > maxNamed {
		return quote.Some(q, maxNamed)
	}
	return strings.Join(q, separator)
}
