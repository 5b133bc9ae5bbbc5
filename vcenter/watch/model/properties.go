package model

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/internal/quote"
	"vzones/vcenter/faults"
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
// it is reported, but as what is needed of it. What was not asked for is not kept.
type properties map[string]any

// set sets the value of a property, nil for one that is unset.
func (p properties) set(name string, value any) {
	switch name { // a vCenter may report what has changed below a property
	case GuestMetadata + ".value":
		name = GuestMetadata
	case faultTolerance + ".role":
		name = faultTolerance
	}
	kept := keptOf(name, value)
	if kept == nil {
		delete(p, name)
		return
	}
	p[name] = kept
}

// keptOf returns what is kept of the value of a property: nil for one that was not asked for, and for a value that no
// vCenter has. Nothing that it returns shares memory with a longer text.
func keptOf(name string, value any) any {
	if value == nil {
		return nil
	}
	switch name {
	case "name":
		s, _ := value.(string)
		return strings.Clone(strings.ToValidUTF8(s[:min(len(s), maxName)], ""))
	case "parent", "parentVApp", "resourcePool", "runtime.host":
		if ref, ok := value.(types.ManagedObjectReference); ok && faults.CheckRef(ref) == nil {
			return ref
		}
	case "config.uuid", SummaryUUID, "config.instanceUuid", "config.guestId", FaultDomain:
		if s, ok := value.(string); ok && len(s) <= maxName {
			return s
		}
	case "config.hardware.numCPU", "config.hardware.memoryMB":
		if n, ok := value.(int32); ok {
			return n
		}
	case "runtime.powerState", "runtime.connectionState":
		return stateOf(value)
	case faultTolerance:
		return roleOf(value)
	case guestNet:
		return guestNetworkOf(value)
	case guestAddress:
		s, _ := value.(string)
		a, _ := addressOf(s)
		return a.Unmap()
	case GuestHostName:
		return HostNameOf(value)
	case GuestMetadata:
		return staticOf(value)
	case ClusterConfig:
		return hostGroupsOf(value)
	}
	return nil
}

// stateOf returns a state that is read of VMs or hosts, nil for another value.
func stateOf(value any) any {
	switch s := value.(type) {
	case types.VirtualMachinePowerState:
		if slices.Contains(s.Values(), s) {
			return s
		}
	case types.VirtualMachineConnectionState:
		if slices.Contains(s.Values(), s) {
			return s
		}
	case types.HostSystemConnectionState:
		if slices.Contains(s.Values(), s) {
			return s
		}
	}
	return nil
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

// roleOf returns the role of a VM in a Fault Tolerance pair, nil if the value has none. vSphere counts the VMs of a
// pair from 1, the primary.
func roleOf(value any) any {
	switch info := value.(type) {
	case types.BaseFaultToleranceConfigInfo:
		return info.GetFaultToleranceConfigInfo().Role
	case types.FaultToleranceSecondaryConfigInfo:
		return info.Role
	case types.FaultTolerancePrimaryConfigInfo:
		return info.Role
	case types.FaultToleranceConfigInfo:
		return info.Role
	case int32:
		return info
	}
	return nil
}

// secondary reports whether the VM is the secondary of a Fault Tolerance pair.
func (p properties) secondary() bool { return p.int32(faultTolerance) > 1 }

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

// weight returns about how many bytes of memory an object takes, with its path.
func (p properties) weight() int {
	n := maxPath
	for _, value := range p {
		n += 64
		switch v := value.(type) {
		case string:
			n += len(v)
		case unreadProperty:
			n += quote.LongestText
		case types.ManagedObjectReference:
			n += len(v.Type) + len(v.Value) + len(v.ServerGUID) + 48
		case []netip.Addr:
			n += 24 * len(v)
		case guestNetwork:
			for _, nic := range v.nics {
				n += 128 + len(nic.Network) + len(nic.MAC) + 24*(len(nic.Addresses)+len(nic.Unusable)+len(nic.Secondary))
			}
		case []hostGroup:
			for _, g := range v {
				n += 64 + len(g.name)
				for _, ref := range g.hosts {
					n += len(ref.Type) + len(ref.Value) + len(ref.ServerGUID) + 48
				}
			}
		}
	}
	return n
}
