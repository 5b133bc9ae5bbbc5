package survey

import (
	"slices"

	"vzones/topology"
	"vzones/vcenter"
)

// The privileges that matter. vCenter puts them, and System.Anonymous, into every role.
const (
	privilegeView = "System.View"
	privilegeRead = "System.Read"
)

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

// NeedsOf returns what is needed on the objects of an inventory. Each privilege is named
// once for each type, by what needs it most.
func NeedsOf(r vcenter.Requirements) []Need {
	all := []Need{
		{privilegeView, "seeing the inventory", []string{"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine"}, true},
		{privilegeRead, "reading the machines of Nodes", []string{"VirtualMachine"}, true},
	}
	if r.HostGroups {
		all = append(all, Need{privilegeRead, "reading DRS host groups", []string{"ClusterComputeResource"}, true})
	}
	if r.FaultDomains {
		all = append(all, Need{privilegeRead, "reading vSAN fault domains", []string{"HostSystem"}, true})
	}
	if !r.Tags {
		return all
	}
	walks := func(path topology.PathKind) bool { return len(r.Paths) == 0 || slices.Contains(r.Paths, path) }
	tagged := []string{"ClusterComputeResource", "ComputeResource", "Folder", "Datacenter"} // on all paths
	if walks(topology.ComputePath) {
		tagged = append(tagged, "HostSystem")
	}
	if walks(topology.PoolPath) {
		tagged = append(tagged, "ResourcePool", "VirtualApp")
	}
	named := func(kind string) bool {
		return slices.ContainsFunc(all, func(n Need) bool { return n.Privilege == privilegeRead && slices.Contains(n.Types, kind) })
	}
	tagged = slices.DeleteFunc(tagged, named)
	return append(all, Need{privilegeRead, "reading tags", tagged, false})
}
