package model

import "github.com/vmware/govmomi/vim25/types"

// MachineProperties are what is read of a Node's machine.
var MachineProperties = []string{
	"name", "parent", "parentVApp", "resourcePool", "runtime.host",
	"config.uuid", SummaryUUID, "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB",
	"runtime.powerState", "runtime.connectionState", faultTolerance, GuestHostName, guestNet, guestAddress,
	// One key alone: others, such as guestinfo.userdata, hold secrets.
	GuestMetadata,
}

// Upwards selects the ancestors of an object. Its name lets it select itself,
// which is how the property collector walks to the root.
func Upwards(name string) *types.TraversalSpec {
	return &types.TraversalSpec{
		SelectionSpec: types.SelectionSpec{Name: name},
		Type:          "ManagedEntity",
		Path:          "parent",
		SelectSet:     []types.BaseSelectionSpec{&types.SelectionSpec{Name: name}},
	}
}

// machineSelection selects everything above a machine on each of its paths.
func machineSelection() []types.BaseSelectionSpec {
	again := func() []types.BaseSelectionSpec {
		return []types.BaseSelectionSpec{&types.SelectionSpec{Name: "up"}}
	}
	return []types.BaseSelectionSpec{
		Upwards("up"),
		&types.TraversalSpec{Type: "VirtualMachine", Path: "runtime.host", SelectSet: again()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "resourcePool", SelectSet: again()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "parentVApp", SelectSet: again()},
	}
}

// MachineRef returns the reference of a machine.
func MachineRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}

// ViewSpec reads properties of everything of one type in a container view.
func ViewSpec(view types.ManagedObjectReference, kind string, properties ...string) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: kind, PathSet: properties}},
		ObjectSet: []types.ObjectSpec{{
			Obj:       view,
			Skip:      types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
		}},
	}
}

// DatacenterSpec reads the names of the datacenters in a view and of the folders
// above them.
func DatacenterSpec(view types.ManagedObjectReference) types.PropertyFilterSpec {
	spec := ViewSpec(view, "ManagedEntity", "name", "parent")
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{
		Type: "ContainerView", Path: "view", SelectSet: []types.BaseSelectionSpec{Upwards("up")},
	}}
	return spec
}

// DetailSpec reads the machines on a list and everything above them.
func DetailSpec(list types.ManagedObjectReference, hosts HostFacts) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: detailProperties(hosts),
		ObjectSet: []types.ObjectSpec{{
			Obj:  list,
			Skip: types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{
				Type: "ListView", Path: "view", SelectSet: machineSelection(),
			}},
		}},
	}
}

func detailProperties(hosts HostFacts) []types.PropertySpec {
	return append([]types.PropertySpec{
		{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
		{Type: "VirtualMachine", PathSet: MachineProperties},
	}, hosts.Properties()...)
}

// MachineSpec reads machines and everything above them.
func MachineSpec(machines []types.ManagedObjectReference, hosts HostFacts) types.PropertyFilterSpec {
	spec := types.PropertyFilterSpec{PropSet: detailProperties(hosts)}
	for _, ref := range machines {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref, SelectSet: machineSelection()})
	}
	return spec
}
