package session

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// readTypes are the types of the properties and token conditions that vzones reads. Basic types are always known.
var readTypes = map[string]struct{}{
	"ManagedObjectReference":            {},
	"OptionValue":                       {},
	"UserSession":                       {},
	"VirtualMachinePowerState":          {},
	"VirtualMachineConnectionState":     {},
	"VirtualMachineToolsRunningStatus":  {},
	"ArrayOfGuestNicInfo":               {},
	"FaultToleranceConfigInfo":          {},
	"FaultTolerancePrimaryConfigInfo":   {},
	"FaultToleranceSecondaryConfigInfo": {},
	"HostSystemConnectionState":         {},
	"HostSystemPowerState":              {},
	"ClusterHostGroup":                  {},
	"BaseCondition":                     {},
}

// ClusterGroups is the part of a ClusterConfigInfoEx that vzones reads.
type ClusterGroups struct {
	Group []types.BaseClusterGroupInfo `xml:"group"`
}

// Groups returns the DRS groups of the cluster.
func (c ClusterGroups) Groups() []types.BaseClusterGroupInfo { return c.Group }

var (
	allTypes  = types.TypeFunc()
	faultType = reflect.TypeFor[types.BaseMethodFault]()
)

// KnownType is the decoder's type registry: the types that vzones reads, and all faults. The decoder skips other
// types, because the server chooses them, and some take a kilobyte of memory for an empty element.
func KnownType(name string) (reflect.Type, bool) {
	if name == "ClusterConfigInfoEx" {
		return reflect.TypeFor[ClusterGroups](), true
	}
	t, ok := allTypes(name)
	if !ok {
		return nil, false
	}
	if _, read := readTypes[name]; read || reflect.PointerTo(t).Implements(faultType) {
		return t, true
	}
	return nil, false
}
