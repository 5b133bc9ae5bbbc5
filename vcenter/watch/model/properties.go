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

// VMProperties are read for a Node's VM.
var VMProperties = []string{
	"name", "parent", "parentVApp", "resourcePool", "runtime.host",
	"config.uuid", SummaryUUID, "config.instanceUuid", "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB",
	"runtime.powerState", "runtime.connectionState", faultTolerance, GuestHostName, guestNet, guestAddress,
	// Other keys, such as guestinfo.userdata, contain secrets.
	GuestMetadata,
}

// Upwards selects the ancestors of an object.
func Upwards(name string) *types.TraversalSpec {
	return &types.TraversalSpec{
		SelectionSpec: types.SelectionSpec{Name: name},
		Type:          "ManagedEntity",
		Path:          "parent",
		SelectSet:     []types.BaseSelectionSpec{&types.SelectionSpec{Name: name}},
	}
}

func vmSelection() []types.BaseSelectionSpec {
	ancestors := func() []types.BaseSelectionSpec {
		return []types.BaseSelectionSpec{&types.SelectionSpec{Name: "up"}}
	}
	return []types.BaseSelectionSpec{
		Upwards("up"),
		&types.TraversalSpec{Type: "VirtualMachine", Path: "runtime.host", SelectSet: ancestors()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "resourcePool", SelectSet: ancestors()},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "parentVApp", SelectSet: ancestors()},
	}
}

// VMRef returns the reference of a VM.
func VMRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}

// ViewSpec selects properties of the objects in a container view.
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

// DatacenterSpec selects the names of datacenters and of their folders.
func DatacenterSpec(view types.ManagedObjectReference) types.PropertyFilterSpec {
	spec := ViewSpec(view, "ManagedEntity", "name", "parent")
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{
		Type: "ContainerView", Path: "view", SelectSet: []types.BaseSelectionSpec{Upwards("up")},
	}}
	return spec
}

// DetailSpec selects the VMs in a list view and their ancestors.
func DetailSpec(list types.ManagedObjectReference, hosts HostFacts) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: detailProperties(hosts),
		ObjectSet: []types.ObjectSpec{{
			Obj:  list,
			Skip: types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{
				Type: "ListView", Path: "view", SelectSet: vmSelection(),
			}},
		}},
	}
}

func detailProperties(hosts HostFacts) []types.PropertySpec {
	return append([]types.PropertySpec{
		{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
		{Type: "VirtualMachine", PathSet: VMProperties},
	}, hosts.Properties()...)
}

// VMSpec selects VMs and their ancestors.
func VMSpec(vms []types.ManagedObjectReference, hosts HostFacts) types.PropertyFilterSpec {
	spec := types.PropertyFilterSpec{PropSet: detailProperties(hosts)}
	for _, ref := range vms {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref, SelectSet: vmSelection()})
	}
	return spec
}

// properties contain one object's converted values. Unset and unreadable properties are absent, except
// that an unreadable host fact is an unreadProperty.
type properties map[string]any

func (p properties) set(name string, value any) {
	// A vCenter may report a change below the property.
	switch name {
	case GuestMetadata + ".value":
		name = GuestMetadata
	case faultTolerance + ".role":
		name = faultTolerance
	}
	converted := convert(name, value)
	if converted == nil {
		delete(p, name)
		return
	}
	p[name] = converted
}

// convert returns nil for invalid values and for properties that were not requested. The result
// shares no memory with a longer string.
func convert(name string, value any) any {
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
		return FaultToleranceRole(value)
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

const faultTolerance = "config.ftInfo"

// FaultToleranceRole returns 1 for the primary of a Fault Tolerance pair, or nil without a role.
func FaultToleranceRole(value any) any {
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

func (p properties) secondary() bool { return p.int32(faultTolerance) > 1 }

func (p properties) connected() bool {
	s, ok := p["runtime.connectionState"].(types.VirtualMachineConnectionState)
	return ok && s == types.VirtualMachineConnectionStateConnected
}

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

// weight estimates the memory of an object and its path, in bytes.
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
