package record

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/watch/model"
)

// A property of a managed object that a recording contains.
type property struct {
	// types are the types of the object; empty means all.
	types []string
	path  string
	// write returns the recorded value, or nil to omit the property.
	write func(*names, any) any
	// how and why are for the operator.
	how, why string
}

const (
	asName  = "replaced"
	asState = "kept if it is a value that vSphere defines"
	asIs    = "kept"
)

const (
	typeFolder     = "Folder"
	typeDatacenter = "Datacenter"
	typeCompute    = "ComputeResource"
	typeCluster    = "ClusterComputeResource"
	typeHost       = "HostSystem"
	typePool       = "ResourcePool"
	typeVApp       = "VirtualApp"
	typeVM         = "VirtualMachine"
)

// inventoryTypes are the recorded types, parents before children.
var inventoryTypes = []string{typeFolder, typeDatacenter, typeCompute, typeCluster, typeHost, typePool, typeVApp, typeVM}

var (
	computeResources = []string{typeCompute, typeCluster}
	hosts            = []string{typeHost}
	vms              = []string{typeVM}
)

// properties is the complete list of the recorded properties of an inventory. Nothing else is written.
var properties = []property{
	{nil, "name", writeText, asName, "labels from the inventory, paths, search by name"},
	{nil, "parent", writeRef, asIs, "the path above a VM"},
	{[]string{typeDatacenter}, "hostFolder", writeRef, asIs, "the layout of the inventory"},
	{[]string{typeDatacenter}, "vmFolder", writeRef, asIs, "the layout of the inventory"},
	{[]string{typeDatacenter}, "networkFolder", writeRef, asIs, "the layout of the inventory"},
	{[]string{typeDatacenter}, "datastoreFolder", writeRef, asIs, "the layout of the inventory"},
	{computeResources, "resourcePool", writeRef, asIs, "the layout of the inventory"},
	{[]string{typeCluster}, model.ClusterConfig, writeHostGroups, "DRS host groups only; names replaced", "labels from DRS host groups"},
	{hosts, model.FaultDomain, writeText, asName, "labels from vSAN fault domains"},
	{hosts, model.HostConnected, writeState, asState, "whether an unset fault domain is known"},
	{[]string{typePool, typeVApp}, "owner", writeRef, asIs, "the layout of the inventory"},
	{vms, "parentVApp", writeRef, asIs, "the path above a VM"},
	{vms, "resourcePool", writeRef, asIs, "the path above a VM"},
	{vms, "runtime.host", writeRef, asIs, "the path above a VM"},
	{vms, "runtime.powerState", writeState, asState, "which of several VMs is the Node's"},
	{vms, "runtime.connectionState", writeState, asState, "whether the VM can be read"},
	{vms, "config.template", writePlain[bool], asIs, "templates are no Node's VM"},
	{vms, "config.uuid", writeText, asName, "which VM is a Node's"},
	{vms, model.SummaryUUID, writeText, asName, "which VM is a Node's"},
	{vms, "config.instanceUuid", writeText, asName, "a VM that moved to another vCenter"},
	{vms, "config.ftInfo", writeFaultTolerance, "the role only", "Fault Tolerance secondaries are no Node's VM"},
	{vms, "config.guestId", writeGuestID, asState, "the instance type"},
	{vms, "config.hardware.numCPU", writePlain[int32], asIs, "the instance type"},
	{vms, "config.hardware.memoryMB", writePlain[int32], asIs, "the instance type"},
	{vms, "config.flags.diskUuidEnabled", writePlain[bool], asIs, "a check for the CSI driver"},
	{vms, `config.extraConfig["disk.EnableUUID"]`, writeFlag, "true or false", "a check for the CSI driver"},
	{vms, `config.extraConfig["disk.enableUUID"]`, writeFlag, "true or false", "a check for the CSI driver"},
	{vms, model.GuestMetadata, writeMetadata, "its addresses only, replaced", "static addresses of a Node"},
	{vms, "guest.toolsRunningStatus", writeState, asState, "a check for VMware Tools"},
	{vms, model.GuestHostName, writeHostName, asName, "search by name, the Node's host name"},
	{vms, "guest.ipAddress", writeText, asName, "the Node's addresses"},
	{vms, "guest.net", writeInterfaces, "networks, MAC and IP addresses replaced", "the Node's addresses"},
}

func propertiesOf(kind string) []property {
	return slices.DeleteFunc(slices.Clone(properties), func(p property) bool { return p.types != nil && !slices.Contains(p.types, kind) })
}

// recorded returns the listed properties of an object.
func recorded(n *names, o *types.ObjectContent) (set []types.DynamicProperty) {
	for _, p := range propertiesOf(o.Obj.Type) {
		for _, read := range o.PropSet {
			if read.Name != p.path || read.Val == nil {
				continue
			}
			if value := p.write(n, read.Val); value != nil {
				set = append(set, types.DynamicProperty{Name: p.path, Val: value})
			}
		}
	}
	return set
}

func writeText(n *names, value any) any {
	if s, ok := value.(string); ok {
		return n.text(s)
	}
	return nil
}

// writeHostName omits a name such as localhost4, whose replacement would identify the VM.
func writeHostName(n *names, value any) any {
	if name := model.HostNameOf(value); name != "" {
		return n.text(name)
	}
	return nil
}

func writePlain[T bool | int32](_ *names, value any) any {
	if v, ok := value.(T); ok {
		return v
	}
	return nil
}

// objectID matches the IDs that vCenter and ESXi assign, such as domain-c8 and 12.
var objectID = regexp.MustCompile(`^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$`)

func writeRef(_ *names, value any) any {
	ref, ok := value.(types.ManagedObjectReference)
	if !ok || !isRecordable(ref) {
		return nil
	}
	return types.ManagedObjectReference{Type: ref.Type, Value: ref.Value}
}

func isRecordable(ref types.ManagedObjectReference) bool {
	return slices.Contains(inventoryTypes, ref.Type) && objectID.MatchString(ref.Value)
}

func writeState(_ *names, value any) any {
	switch s := value.(type) {
	case types.VirtualMachinePowerState:
		return known(s, s.Values())
	case types.VirtualMachineConnectionState:
		return known(s, s.Values())
	case types.HostSystemConnectionState:
		return known(s, s.Values())
	case string:
		return known(s, texts(types.VirtualMachineToolsRunningStatus("").Values()))
	}
	return nil
}

func writeGuestID(_ *names, value any) any {
	s, _ := value.(string)
	return known(s, texts(types.VirtualMachineGuestOsIdentifier("").Values()))
}

// known returns the value if vSphere defines it, and otherwise nil.
func known[T comparable](value T, values []T) any {
	if !slices.Contains(values, value) {
		return nil
	}
	return value
}

func texts[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func writeFaultTolerance(_ *names, value any) any {
	role, ok := model.FaultToleranceRole(value).(int32)
	if !ok {
		return nil
	}
	return types.FaultToleranceConfigInfo{Role: role}
}

func writeHostGroups(n *names, value any) any {
	cluster, ok := value.(interface {
		Groups() []types.BaseClusterGroupInfo
	})
	if !ok {
		return nil
	}
	var config types.ClusterConfigInfoEx
	for _, g := range cluster.Groups() {
		group, ok := g.(*types.ClusterHostGroup)
		if !ok {
			continue
		}
		copied := &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: n.text(group.Name)}}
		for _, ref := range group.Host {
			if host, ok := writeRef(n, ref).(types.ManagedObjectReference); ok {
				copied.Host = append(copied.Host, host)
			}
		}
		config.Group = append(config.Group, copied)
	}
	return config
}

func writeFlag(_ *names, value any) any {
	option, ok := value.(types.OptionValue)
	if !ok {
		return nil
	}
	for _, text := range []string{"true", "false", "1", "0"} {
		if strings.EqualFold(fmt.Sprint(option.Value), text) {
			return types.OptionValue{Key: "disk.EnableUUID", Value: text}
		}
	}
	return nil
}

// writeMetadata writes metadata with the same addresses.
func writeMetadata(n *names, value any) any {
	option, _ := value.(types.OptionValue)
	text, _ := option.Value.(string)
	addresses, err := guestinfo.Addresses(text)
	if err != nil || len(addresses) == 0 {
		return nil
	}
	quoted := make([]string, len(addresses))
	for i, a := range addresses {
		quoted[i] = fmt.Sprintf("%q", n.address(a))
	}
	metadata := fmt.Sprintf("network: {version: 2, ethernets: {nic: {addresses: [%s]}}}", strings.Join(quoted, ", "))
	return types.OptionValue{Key: guestinfo.Key, Value: base64.StdEncoding.EncodeToString([]byte(metadata))}
}

func writeInterfaces(n *names, value any) any {
	report, ok := value.(types.ArrayOfGuestNicInfo)
	if !ok {
		return nil
	}
	copied := types.ArrayOfGuestNicInfo{}
	for _, nic := range report.GuestNicInfo {
		c := types.GuestNicInfo{
			Network: n.text(nic.Network), MacAddress: n.text(nic.MacAddress), Connected: nic.Connected,
			DeviceConfigId: nic.DeviceConfigId, IpAddress: n.texts(nic.IpAddress),
		}
		if nic.IpConfig != nil {
			c.IpConfig = &types.NetIpConfigInfo{}
			for _, a := range nic.IpConfig.IpAddress {
				c.IpConfig.IpAddress = append(c.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
					IpAddress: n.text(a.IpAddress), PrefixLength: a.PrefixLength,
					State:  knownText(a.State, types.NetIpConfigInfoIpAddressStatus("").Values()),
					Origin: knownText(a.Origin, types.NetIpConfigInfoIpAddressOrigin("").Values()),
				})
			}
		}
		copied.GuestNicInfo = append(copied.GuestNicInfo, c)
	}
	return copied
}

// knownText returns the text if vSphere defines it, and otherwise "".
func knownText[T ~string](s string, values []T) string {
	text, _ := known(s, texts(values)).(string)
	return text
}
