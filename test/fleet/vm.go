package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A simVM is a VM of the description; fillers are not.
type simVM struct {
	vm    *mo.VirtualMachine
	nics  []types.GuestNicInfo            // interfaces that VMware Tools report while the VM runs
	saved *types.VirtualMachineConfigInfo // configuration while it is unreadable; otherwise nil
	// secondary is the Fault Tolerance secondary, or nil.
	secondary *mo.VirtualMachine
}

func (b *inventory) vmsOf(dc *datacenter, spec *VMSpec) error {
	folder, err := b.folder(dc.vmFolder, spec.Folder)
	if err != nil {
		return err
	}
	c, pool, err := dc.place(spec)
	if err != nil {
		return err
	}
	for i, name := range spec.names() {
		host := c.hosts[i%len(c.hosts)]
		if spec.Host != "" {
			host = c.host(spec.Host)
		}
		m := b.newVM(spec, name)
		b.putVM(folder, host, pool, m.vm)
		b.name(m.vm)
		b.vms = append(b.vms, m)
		b.made++
		if err := b.v.attachAll(m.vm.Self, spec.Tags); err != nil {
			return err
		}
		if spec.Connection != "" && spec.Connection != "connected" {
			b.setConnection(m, spec.Connection)
		}
		if spec.Unreadable {
			m.apply(m.readable(false))
		}
	}
	return nil
}

func (dc *datacenter) place(spec *VMSpec) (*compute, mo.Entity, error) {
	for _, c := range dc.compute {
		switch {
		case spec.Cluster != "" && c.name != spec.Cluster,
			spec.Host != "" && c.host(spec.Host) == nil,
			spec.Pool != "" && c.pools[spec.Pool] == nil,
			len(c.hosts) == 0:
			continue
		}
		if spec.Pool != "" {
			return c, c.pools[spec.Pool], nil
		}
		return c, c.root, nil
	}
	return nil, nil, fmt.Errorf("datacenter %q has no place with cluster %q, host %q, pool %q and a host",
		dc.spec.Name, spec.Cluster, spec.Host, spec.Pool)
}

func (c *compute) host(name string) *simulator.HostSystem {
	for _, h := range c.hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// putVM registers a VM. It has no folder if its pool is a vApp.
func (b *inventory) putVM(folder *simulator.Folder, host *simulator.HostSystem, pool mo.Entity, vm *mo.VirtualMachine) {
	ref := pool.Reference()
	vm.Runtime.Host = &host.Self
	vm.Summary.Runtime.Host = &host.Self
	vm.ResourcePool = &ref
	b.reg.NewEntity(vm)
	vm.Summary.Vm = &vm.Self
	host.Vm = append(host.Vm, vm.Self)
	list := b.vmsIn(ref)
	*list = append(*list, vm.Self)
	if ref.Type == "VirtualApp" {
		vm.ParentVApp = &ref
		b.reg.Put(vm)
		return
	}
	folder.ChildEntity = append(folder.ChildEntity, vm.Self)
	b.reg.PutEntity(folder, vm)
}

func (b *inventory) newVM(spec *VMSpec, name string) *simVM {
	vm := new(mo.VirtualMachine)
	m := &simVM{vm: vm}
	id := strings.ToLower(spec.UUID)
	if id == "" {
		id = derivedUUID(b.v.name, name)
	}
	b.configure(vm, name, id)
	cfg := vm.Config
	if spec.InstanceUUID != "" {
		cfg.InstanceUuid = spec.InstanceUUID
		vm.Summary.Config.InstanceUuid = spec.InstanceUUID
	}
	cfg.Template = spec.Template
	cfg.Flags.DiskUuidEnabled = types.NewBool(spec.EnableUUID)
	cfg.GuestId = cmp.Or(spec.GuestID, "ubuntu64Guest")
	cfg.GuestFullName = guestFullName(cfg.GuestId)
	cfg.Hardware.NumCPU = cmp.Or(spec.CPUs, 4)
	cfg.Hardware.MemoryMB = cmp.Or(spec.MemoryMB, 8192)
	extra := metadata(spec.Metadata, spec.Encoding)
	maps.Copy(extra, spec.ExtraConfig)
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		cfg.ExtraConfig = append(cfg.ExtraConfig, &types.OptionValue{Key: key, Value: extra[key]})
	}
	s := &vm.Summary.Config
	s.Template = cfg.Template
	s.GuestId = cfg.GuestId
	s.GuestFullName = cfg.GuestFullName
	s.NumCpu = cfg.Hardware.NumCPU
	s.MemorySizeMB = cfg.Hardware.MemoryMB

	hostName := name
	if spec.HostName != nil {
		hostName = *spec.HostName
	}
	m.nics, cfg.Hardware.Device = b.nics(spec, id)
	vm.Guest = &types.GuestInfo{HostName: hostName}
	vm.Guest.ToolsStatus = types.VirtualMachineToolsStatusToolsNotInstalled
	if hostName != "" {
		vm.Guest.ToolsStatus = types.VirtualMachineToolsStatusToolsNotRunning
		vm.Guest.GuestId = cfg.GuestId
		vm.Guest.GuestFullName = cfg.GuestFullName
		vm.Guest.GuestFamily = string(types.VirtualMachineGuestOsFamilyLinuxGuest)
	}
	vm.Summary.Guest.HostName = hostName
	power := powerStates[cmp.Or(spec.Power, "on")]
	if spec.Template {
		power = types.VirtualMachinePowerStatePoweredOff
	}
	m.apply(powerChanges(m, power, hostName))
	return m
}

func (b *inventory) configure(vm *mo.VirtualMachine, name, id string) {
	vm.Self.Type = "VirtualMachine"
	vm.Name = name
	vm.Config = &types.VirtualMachineConfigInfo{Name: name, Uuid: id, InstanceUuid: derivedUUID(b.v.name, "instance/"+name)}
	vm.Config.Files.VmPathName = "[datastore1] " + name + "/" + name + ".vmx"
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	vm.Summary.Runtime.ConnectionState = vm.Runtime.ConnectionState
	vm.Summary.Config.Name = name
	vm.Summary.Config.Uuid = id
	vm.Summary.Config.InstanceUuid = vm.Config.InstanceUuid
	vm.Summary.Config.VmPathName = vm.Config.Files.VmPathName
	vm.Summary.Guest = new(types.VirtualMachineGuestSummary)
}

var powerStates = map[string]types.VirtualMachinePowerState{
	"on":        types.VirtualMachinePowerStatePoweredOn,
	"off":       types.VirtualMachinePowerStatePoweredOff,
	"suspended": types.VirtualMachinePowerStateSuspended,
}

func guestFullName(id string) string {
	known := map[string]string{
		"ubuntu64Guest":              "Ubuntu Linux (64-bit)",
		"other5xLinux64Guest":        "Other 5.x or later Linux (64-bit)",
		"vmwarePhoton64Guest":        "VMware Photon OS (64-bit)",
		"rhel9_64Guest":              "Red Hat Enterprise Linux 9 (64-bit)",
		"windows2022srvNext_64Guest": "Microsoft Windows Server 2025 (64-bit)",
	}
	return cmp.Or(known[id], id)
}

// fill creates n fillers without guests, spread over all hosts.
func (b *inventory) fill(n int) {
	type place struct {
		folder *simulator.Folder
		pool   *simulator.ResourcePool
		host   *simulator.HostSystem
	}
	var places []place
	for _, dc := range b.order {
		for _, c := range dc.compute {
			for _, h := range c.hosts {
				places = append(places, place{dc.vmFolder, c.root, h})
			}
		}
	}
	for i := range n {
		name := fmt.Sprintf("filler-%05d", i)
		vm := &mo.VirtualMachine{Guest: &types.GuestInfo{ToolsStatus: types.VirtualMachineToolsStatusToolsNotInstalled}}
		b.configure(vm, name, derivedUUID(b.v.name, name))
		vm.Config.GuestId = "otherGuest64"
		vm.Config.Hardware.NumCPU = 1
		vm.Config.Hardware.MemoryMB = 1024
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		vm.Summary.Runtime.PowerState = vm.Runtime.PowerState
		p := places[i%len(places)]
		b.putVM(p.folder, p.host, p.pool, vm)
		b.fillers = append(b.fillers, vm)
	}
}

// UseFiller toggles the power state of filler n modulo their number and changes its host name.
func (v *VCenter) UseFiller(n int) {
	v.world.Lock()
	defer v.world.Unlock()
	vm := v.inv.fillers[n%len(v.inv.fillers)]
	state := types.VirtualMachinePowerStatePoweredOff
	if vm.Runtime.PowerState == state {
		state = types.VirtualMachinePowerStatePoweredOn
	}
	v.inv.update(vm, changes{
		{Name: "runtime.powerState", Val: state}, {Name: "summary.runtime.powerState", Val: state},
		{Name: "guest.hostName", Val: fmt.Sprint("guest-", n)}, {Name: "summary.guest.hostName", Val: fmt.Sprint("guest-", n)},
	})
}
