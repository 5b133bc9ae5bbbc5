package session

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// readTypes are the names of the types that answers may name for values of properties: those of the properties
// that are read, and of the conditions of a token. Basic types, such as xsd:string, are always known.
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

// ClusterGroups is what is read of a ClusterConfigInfoEx, which has 25 more fields: the decoder skips them.
type ClusterGroups struct {
	Group []types.BaseClusterGroupInfo `xml:"group"`
}

// Groups returns the DRS groups of the cluster.
func (c ClusterGroups) Groups() []types.BaseClusterGroupInfo { return c.Group }

var (
	allTypes  = types.TypeFunc()
	faultType = reflect.TypeFor[types.BaseMethodFault]()
)

// KnownType is the decoder's registry of types. It knows those that are read and all faults. The decoder skips a
// value of another type: a server decides which type a value has, and an empty element of some takes a kilobyte of
// memory and more.
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
