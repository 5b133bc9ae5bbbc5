package topology

import (
	"slices"
)

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
