package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// PowerOn powers a VM on.
func (v *VCenter) PowerOn(vm string) error { return v.power(vm, "on") }

// PowerOff powers a VM off. As in vCenter, its addresses disappear and its host name stays.
func (v *VCenter) PowerOff(vm string) error { return v.power(vm, "off") }

// Suspend suspends a VM.
func (v *VCenter) Suspend(vm string) error { return v.power(vm, "suspended") }

// HidePower makes vCenter omit the power state of a VM until the next power operation.
func (v *VCenter) HidePower(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, changes{
			{Name: "runtime.powerState", Val: types.VirtualMachinePowerState("")},
			{Name: "summary.runtime.powerState", Val: types.VirtualMachinePowerState("")},
		})
		return nil
	})
}

func (v *VCenter) power(vm, state string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, powerChanges(m, powerStates[state], m.vm.Guest.HostName))
		return nil
	})
}

func powerChanges(m *simVM, state types.VirtualMachinePowerState, hostName string) changes {
	var c changes
	c.set("runtime.powerState", state)
	c.set("summary.runtime.powerState", state)
	nics := m.nics
	running := types.VirtualMachineToolsRunningStatusGuestToolsRunning
	guest := types.VirtualMachineGuestStateRunning
	status := types.VirtualMachineToolsStatusToolsOk
	if state != types.VirtualMachinePowerStatePoweredOn || hostName == "" {
		nics = nil
		running = types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
		guest = types.VirtualMachineGuestStateNotRunning
		status = types.VirtualMachineToolsStatusToolsNotRunning
		if hostName == "" {
			status = types.VirtualMachineToolsStatusToolsNotInstalled
		}
	}
	c.set("guest.toolsStatus", status)
	c.set("guest.toolsRunningStatus", string(running))
	c.set("guest.guestState", string(guest))
	c.set("guest.net", nics)
	address := ""
	if len(nics) > 0 && len(nics[0].IpAddress) > 0 {
		address = nics[0].IpAddress[0]
	}
	c.set("guest.ipAddress", address)
	c.set("summary.guest.ipAddress", address)
	return c
}

// SetHostName sets the host name that VMware Tools report; "" means no Tools.
func (v *VCenter) SetHostName(vm, name string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		c := powerChanges(m, m.vm.Runtime.PowerState, name)
		c.set("guest.hostName", name)
		c.set("summary.guest.hostName", name)
		b.update(m.vm, c)
		return nil
	})
}

// HideNICs makes Tools report the VM's address but no interfaces.
func (v *VCenter) HideNICs(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, changes{{Name: "guest.net", Val: []types.GuestNicInfo(nil)}})
		return nil
	})
}

// SetIPs sets the addresses of the VM's first interface, each as ADDRESS or ADDRESS/BITS.
func (v *VCenter) SetIPs(vm string, ips ...string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		if len(m.nics) == 0 {
			return fmt.Errorf("fleet: vCenter %q: VM %q has no interface", v.name, vm)
		}
		m.nics = append([]types.GuestNicInfo(nil), m.nics...) // a response in progress may use the old ones
		setIPs(&m.nics[0], ips)
		b.update(m.vm, powerChanges(m, m.vm.Runtime.PowerState, m.vm.Guest.HostName))
		return nil
	})
}

// ReverseNICs makes Tools report the interfaces in the opposite order, which can happen after
// any restart of the guest.
func (v *VCenter) ReverseNICs(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		m.nics = append([]types.GuestNicInfo(nil), m.nics...) // a response in progress may use the old ones
		slices.Reverse(m.nics)
		b.update(m.vm, powerChanges(m, m.vm.Runtime.PowerState, m.vm.Guest.HostName))
		return nil
	})
}

// SetMetadata sets the cloud-init metadata of a VM, as YAML text, with the encoding base64,
// gzip+base64 or plain.
func (v *VCenter) SetMetadata(vm, text, encoding string) error {
	var c checker
	if c.oneOf("metadataEncoding", encoding, "", "base64", "gzip+base64", "plain"); len(c.errs) > 0 {
		return c.errs[0]
	}
	entries := metadata(text, encoding)
	for _, key := range []string{metadataKey, encodingKey} {
		if err := v.SetExtraConfig(vm, key, entries[key]); err != nil {
			return err
		}
	}
	return nil
}

// SetExtraConfig sets an entry of the VM's extra configuration, such as guestinfo.metadata; ""
// removes it.
func (v *VCenter) SetExtraConfig(vm, key, value string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		entries := slices.DeleteFunc(slices.Clone(m.vm.Config.ExtraConfig), func(o types.BaseOptionValue) bool {
			return o.GetOptionValue().Key == key
		})
		var entry any
		if value != "" {
			entries = append(entries, &types.OptionValue{Key: key, Value: value})
			entry = types.OptionValue{Key: key, Value: value}
		}
		// A client that watches a single entry gets only the second change.
		b.update(m.vm, changes{{Name: "config.extraConfig", Val: entries}, {Name: extraConfigPath(key), Val: entry}})
		return nil
	})
}

func extraConfigPath(key string) string { return fmt.Sprintf("config.extraConfig[%q]", key) }

// Resize changes the number of virtual CPUs and the memory of a VM.
func (v *VCenter) Resize(vm string, cpus, memoryMB int32) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		config := *cmp.Or(m.saved, m.vm.Config)
		config.Hardware.NumCPU = cpus
		config.Hardware.MemoryMB = memoryMB
		if m.saved != nil {
			m.saved = &config // visible once the configuration is readable
			return nil
		}
		var c changes
		c.set("config.hardware", config.Hardware)
		c.set("config.hardware.numCPU", cpus)
		c.set("config.hardware.memoryMB", memoryMB)
		c.set("summary.config.numCpu", cpus)
		c.set("summary.config.memorySizeMB", memoryMB)
		b.update(m.vm, c)
		return nil
	})
}

// SetUUID sets the BIOS UUID, for example to the UUID of another VM, as a clone or a restored VM
// may have it.
func (v *VCenter) SetUUID(vm, uuid string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		id := strings.ToLower(uuid)
		b.update(m.vm, changes{{Name: "config.uuid", Val: id}, {Name: "summary.config.uuid", Val: id}})
		return nil
	})
}

// SetConnection sets a VM's connection state: connected, disconnected, inaccessible, orphaned or
// invalid. In the last three its configuration cannot be read and its summary has no UUID (see
// SetSummaryUUID). The configuration is empty instead of absent because the simulator's search
// index does not handle a nil one.
func (v *VCenter) SetConnection(vm, state string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		var c checker
		c.oneOf("connection", state, "connected", "disconnected", "inaccessible", "orphaned", "invalid")
		if len(c.errs) > 0 {
			return c.errs[0]
		}
		b.setConnection(m, state)
		return nil
	})
}

func (b *inventory) setConnection(m *simVM, state string) {
	var c changes
	c.set("runtime.connectionState", types.VirtualMachineConnectionState(state))
	c.set("summary.runtime.connectionState", types.VirtualMachineConnectionState(state))
	b.update(m.vm, append(c, m.readable(state == "connected" || state == "disconnected")...))
}

// SetReadable sets whether the VM's configuration can be read. During the first seconds of a
// clone operation it cannot, although the VM is connected.
func (v *VCenter) SetReadable(vm string, readable bool) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, m.readable(readable))
		return nil
	})
}

// SetSummaryUUID sets the BIOS UUID in the VM's summary, "" for none, without changing its
// configuration. A vCenter may know only one of the two.
func (v *VCenter) SetSummaryUUID(vm, uuid string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		var c changes
		c.optional("summary.config.uuid", strings.ToLower(uuid))
		b.update(m.vm, c)
		return nil
	})
}

// readable returns the property changes of a VM whose configuration becomes readable or
// unreadable.
func (m *simVM) readable(readable bool) (c changes) {
	config := m.vm.Config
	switch {
	case !readable && m.saved == nil:
		m.saved = config
		config = new(types.VirtualMachineConfigInfo)
	case readable && m.saved != nil:
		config = m.saved
		m.saved = nil
	default:
		return nil
	}
	for _, o := range m.vm.Config.ExtraConfig {
		c.set(extraConfigPath(o.GetOptionValue().Key), nil)
	}
	c.set("config", *config)
	// Filters for a property below config ignore a change of config itself.
	c.config(config)
	c.optional("summary.config.uuid", config.Uuid)
	return c
}

func (c *changes) optional(name, value string) {
	if value == "" {
		c.set(name, nil)
		return
	}
	c.set(name, value)
}

// config adds the properties of a configuration that clients watch individually.
func (c *changes) config(config *types.VirtualMachineConfigInfo) {
	c.optional("config.name", config.Name)
	c.optional("config.uuid", config.Uuid)
	c.optional("config.instanceUuid", config.InstanceUuid)
	c.optional("config.guestId", config.GuestId)
	c.optional("config.guestFullName", config.GuestFullName)
	c.set("config.template", config.Template)
	c.set("config.hardware", config.Hardware)
	c.set("config.hardware.numCPU", config.Hardware.NumCPU)
	c.set("config.hardware.memoryMB", config.Hardware.MemoryMB)
	c.set("config.extraConfig", config.ExtraConfig)
	for _, o := range config.ExtraConfig {
		c.set(extraConfigPath(o.GetOptionValue().Key), *o.GetOptionValue())
	}
}

// EnableUUID sets disk.enableUUID of a VM as a flag of the virtual hardware.
func (v *VCenter) EnableUUID(vm string, enabled bool) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		config := *m.vm.Config
		config.Flags.DiskUuidEnabled = &enabled
		b.update(m.vm, changes{{Name: "config", Val: &config}})
		return nil
	})
}

// StopTools makes a VM's guest run with Tools installed but stopped.
func (v *VCenter) StopTools(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, changes{
			{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsNotRunning},
			{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		})
		return nil
	})
}

// StartTools sets the state in which Tools have started but are still executing scripts.
func (v *VCenter) StartTools(vm string) error {
	return v.change(vm, func(b *inventory, m *simVM) error {
		b.update(m.vm, changes{
			{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsExecutingScripts)},
		})
		return nil
	})
}
