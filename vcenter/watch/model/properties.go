package model

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// MachineProperties are what is read of a Node's machine.
var MachineProperties = []string{
	"name", "parent", "parentVApp", "resourcePool", "runtime.host",
	"config.uuid", SummaryUUID, "config.instanceUuid", "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB",
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

// properties are the properties of one object that could be read. A property
// that is unset or not readable is not in it. What the guest says is not kept as
// it is reported, but as what is needed of it.
type properties map[string]any

// set sets the value of a property, nil for one that is unset.
func (p properties) set(name string, value any) {
	switch name { // a vCenter may report what has changed below a property
	case GuestMetadata + ".value":
		name = GuestMetadata
	case faultTolerance + ".role":
		name = faultTolerance
	}
	switch {
	case value == nil:
		delete(p, name)
	case name == "name":
		s, _ := value.(string)
		p[name] = strings.ToValidUTF8(s[:min(len(s), maxName)], "")
	case name == guestNet:
		p[name] = guestNetworkOf(value)
	case name == guestAddress:
		s, _ := value.(string)
		a, _ := addressOf(s)
		p[name] = a.Unmap()
	case name == GuestHostName:
		p[name] = HostNameOf(value)
	case name == GuestMetadata:
		p[name] = staticOf(value)
	case name == ClusterConfig:
		p[name] = hostGroupsOf(value)
	default:
		p[name] = value
	}
}

func (p properties) string(name string) string {
	s, _ := p[name].(string)
	return s
}

func (p properties) int32(name string) int32 {
	n, _ := p[name].(int32)
	return n
}

func (p properties) ref(name string) (types.ManagedObjectReference, bool) {
	r, ok := p[name].(types.ManagedObjectReference)
	return r, ok
}

func (p properties) power() inventory.Power {
	s, _ := p["runtime.powerState"].(types.VirtualMachinePowerState)
	switch s {
	case types.VirtualMachinePowerStatePoweredOn:
		return inventory.PowerOn
	case types.VirtualMachinePowerStatePoweredOff:
		return inventory.PowerOff
	case types.VirtualMachinePowerStateSuspended:
		return inventory.PowerSuspended
	}
	return inventory.PowerUnknown
}

// faultTolerance is the property that tells a Fault Tolerance pair's machines
// apart.
const faultTolerance = "config.ftInfo"

// secondary reports whether the machine is the secondary of a Fault Tolerance pair: vSphere counts the
// machines of a pair from 1, the primary.
func (p properties) secondary() bool {
	switch info := p[faultTolerance].(type) {
	case types.BaseFaultToleranceConfigInfo:
		return info.GetFaultToleranceConfigInfo().Role > 1
	case types.FaultToleranceSecondaryConfigInfo:
		return info.Role > 1
	case types.FaultTolerancePrimaryConfigInfo:
		return info.Role > 1
	case types.FaultToleranceConfigInfo:
		return info.Role > 1
	case int32:
		return info > 1
	}
	return false
}

// connected says whether the vCenter reaches the machine through its host.
func (p properties) connected() bool {
	s, ok := p["runtime.connectionState"].(types.VirtualMachineConnectionState)
	return ok && s == types.VirtualMachineConnectionStateConnected
}

// setUnreadable records which properties of hosts and clusters cannot be read.
func (p properties) setUnreadable(missing []types.MissingProperty) {
	for i := range missing {
		if path := missing[i].Path; IsHostFact(path) {
			p[path] = unreadProperty{whyMissing(&missing[i].Fault)}
		}
	}
}

func (p properties) guestNetwork() guestNetwork {
	r, _ := p[guestNet].(guestNetwork)
	return r
}
