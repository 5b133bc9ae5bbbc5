// Package privileges lists which privileges in vCenter vzones needs, on which objects, and what it
// does without them. The reference, the survey of what an account lacks, and the role that
// the operator's tool makes all have it from here. It asks no vCenter.
package privileges

import (
	"slices"

	"vzones/topology"
)

// The privileges that matter. vCenter puts them, and System.Anonymous, into every role.
const (
	View = "System.View"
	Read = "System.Read"
)

// Uses are what a configuration uses of vCenters.
type Uses struct {
	// Tags reports whether it has rules by tags, Paths the paths on which they are read; all if
	// empty.
	Tags  bool
	Paths []topology.PathKind
	// HostGroups and FaultDomains report whether it has rules by these.
	HostGroups, FaultDomains bool
}

// walks reports whether tags are read on a path.
func (u *Uses) walks(path topology.PathKind) bool {
	return u.Tags && (len(u.Paths) == 0 || slices.Contains(u.Paths, path))
}

// A Need is a privilege on objects of some types.
type Need struct {
	Privilege string
	// For says what it is for, for a person.
	For string
	// Types are the types of the objects.
	Types []string
	// Placing reports whether Nodes below or on such an object have no zone without it. Without
	// another one, vzones does with less.
	Placing bool
}

// The types of objects, from machines upwards.
var (
	machines = []string{"VirtualMachine"}
	pools    = []string{"ResourcePool", "VirtualApp"}
	hosts    = []string{"HostSystem"}
	clusters = []string{"ClusterComputeResource"}
	// common are those that all paths have in common.
	common = []string{"ClusterComputeResource", "ComputeResource", "Folder", "Datacenter"}
)

// For returns what a configuration needs on the objects of an inventory. Each privilege is named
// once for each type, by what needs it most.
func For(u Uses) []Need {
	all := []Need{
		{View, "seeing the inventory", []string{"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine"}, true},
		{Read, "reading the machines of Nodes", machines, true},
	}
	if u.HostGroups {
		all = append(all, Need{Read, "reading DRS host groups", clusters, true})
	}
	if u.FaultDomains {
		all = append(all, Need{Read, "reading vSAN fault domains", hosts, true})
	}
	if !u.Tags {
		return all
	}
	tagged := slices.Clone(common)
	if u.walks(topology.ComputePath) {
		tagged = append(tagged, hosts...)
	}
	if u.walks(topology.PoolPath) {
		tagged = append(tagged, pools...)
	}
	named := func(kind string) bool {
		return slices.ContainsFunc(all, func(n Need) bool { return n.Privilege == Read && slices.Contains(n.Types, kind) })
	}
	tagged = slices.DeleteFunc(tagged, named)
	return append(all, Need{Read, "reading tags", tagged, false})
}

// System returns the privileges that vCenter puts into every role: all that vzones needs.
func System() []string { return []string{"System.Anonymous", Read, View} }
