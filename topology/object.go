package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A Ref identifies a managed object. Managed object IDs repeat between vCenters.
type Ref struct {
	// VCenter is the vCenter's name in the configuration.
	VCenter string
	// Type is the managed object type, such as HostSystem.
	Type string
	// ID is the managed object ID, such as host-42.
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
	// Name is in vSphere's escaping: %2f, %5c and %25 for slash, backslash and percent.
	Name string
	// Path is the inventory path; "/" for the root folder, empty if unknown.
	Path string
	Tags []Tag
	// TagsErr is nil if Tags is complete. With ErrNotPermitted, the object is treated as untagged if another, readable
	// object has a tag of the category. With any other error, labels that may depend on the object are unknown.
	TagsErr error
	// HostGroups and FaultDomain of a host are nil if not requested or not yet read.
	HostGroups, FaultDomain *Membership
}

// A Membership lists a host's DRS groups or vSAN fault domain.
type Membership struct {
	// Names is sorted.
	Names []string
	// Err is nil if Names is complete.
	Err error
}

func (o *Object) String() string {
	return fmt.Sprintf("%s of vCenter %q", o.inVCenter(), o.Ref.VCenter)
}

func (o *Object) inVCenter() string {
	switch o.Path {
	case "/":
		return "the root folder"
	case "":
		return o.kind() + " " + quote.Plain(o.Ref.ID)
	}
	return o.kind() + " " + quote.Name(o.Path)
}

// Located describes the object by its kind, path (which may be empty) and vCenter.
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
	case typeVM:
		return "VM"
	}
	return o.Ref.Type
}

const (
	typeVM         = "VirtualMachine"
	typeHost       = "HostSystem"
	typeCluster    = "ClusterComputeResource"
	typeStandalone = "ComputeResource"
	typePool       = "ResourcePool"
	typeVApp       = "VirtualApp"
	typeFolder     = "Folder"
	typeDatacenter = "Datacenter"
)

type hit struct {
	object *Object
	// name is any of the tags' names if there are several.
	name        string
	isAmbiguous bool
}

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

func (h hit) differs(other hit) bool {
	return h.object != other.object && (h.isAmbiguous || other.isAmbiguous || h.name != other.name)
}

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
	// PoolPath is resource pool, parent pools, cluster, then like ComputePath.
	PoolPath PathKind = "resource pool"
	// FolderPath is the VM itself, its VM folders, datacenter, then like ComputePath.
	FolderPath PathKind = "folder"
)

// defaultPaths is in the vSphere CPI's order.
var defaultPaths = [...]PathKind{ComputePath, PoolPath, FolderPath}

// DefaultPaths returns the paths of a policy that sets none.
func DefaultPaths() []PathKind { return slices.Clone(defaultPaths[:]) }

// A Path lists the ancestors of a VM. A FolderPath starts with the VM itself.
type Path struct {
	Kind PathKind
	// Objects are ordered from the nearest to the root.
	Objects []*Object
	// Broken is the reason why the path ends before the root folder, or nil.
	Broken error
}

type ancestors []Path

var errNoPath = errors.New("none was reported for the VM")

// path returns an empty, broken path if the kind is unknown.
func (a ancestors) path(kind PathKind) *Path {
	for i := range a {
		if a[i].Kind == kind {
			return &a[i]
		}
	}
	return &Path{Kind: kind, Broken: errNoPath}
}

const maxNamed = 10

const maxSearchedObjects = 5

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
