package model

import (
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// properties are the properties of one object that could be read. A property
// that is unset or not readable is not in it. What the guest says is not kept as
// it is reported, but as what is needed of it.
type properties map[string]any

// propertiesOf returns the properties of an object as they were read; before
// is what was read of its metadata, if that was.
func propertiesOf(o *types.ObjectContent, before static) properties {
	p := make(properties, len(o.PropSet))
	for _, d := range o.PropSet {
		if isMetadata(d.Name) {
			p[GuestMetadata] = before
		}
		p.set(d.Name, d.Val)
	}
	p.setUnreadable(o.MissingSet)
	return p
}

// set sets the value of a property, nil for one that is unset.
func (p properties) set(name string, value any) {
	if isMetadata(name) {
		name = GuestMetadata
	}
	switch name {
	case ClusterConfig:
		name = ClusterGroups
	case faultTolerance + ".role":
		name = faultTolerance
	}
	switch {
	case value == nil:
		delete(p, name)
	case name == guestNet:
		p[name] = reportOf(value)
	case name == guestAddress:
		s, _ := value.(string)
		a, _ := addressOf(s)
		p[name] = a.Unmap()
	case name == GuestHostName:
		p[name] = hostNameOf(value)
	case name == GuestMetadata:
		p[name] = p.static().follow(value)
	case name == ClusterGroups:
		p[name] = hostGroupsOf(value)
	default:
		p[name] = value
	}
}

func (p properties) string(name string) string {
	s, _ := p[name].(string)
	return s
}

func (p properties) bool(name string) bool {
	b, _ := p[name].(bool)
	return b
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
		path := missing[i].Path
		if !IsHostFact(path) {
			continue
		}
		if path == ClusterConfig {
			path = ClusterGroups
		}
		p[path] = unreadProperty{whyMissing(&missing[i].Fault)}
	}
}

func (p properties) static() static {
	s, _ := p[GuestMetadata].(static)
	return s
}

func (p properties) report() report {
	r, _ := p[guestNet].(report)
	return r
}

// isMetadata reports whether a property is the metadata: a vCenter may report what has
// changed below a property.
func isMetadata(property string) bool {
	return property == GuestMetadata || property == GuestMetadata+".value"
}
