package scenarios

import (
	"context"
	"strings"

	"vzones/test/fleet"
)

// machineCommands make something happen to machines, tags and other objects in
// a vCenter.
func machineCommands() []command {
	return []command{
		{"vm off VM", "powers a machine off", onMachines((*fleet.VCenter).PowerOff)},
		{"vm on VM", "powers it on", onMachines((*fleet.VCenter).PowerOn)},
		{"vm suspend VM", "suspends it", onMachines((*fleet.VCenter).Suspend)},
		{"vm hide-power VM", "lets its vCenter not say whether it runs, until one of these", onMachines((*fleet.VCenter).HidePower)},
		{"vm destroy VM", "deletes it", onMachines((*fleet.VCenter).Destroy)},
		{"vm move VM HOST", "moves it to a host, as vMotion does; if that is in another datacenter, also to the VM folder there", onMachinesWith("HOST", (*fleet.VCenter).MoveVM)},
		{"vm hostless VM", "makes its vCenter leave out its host, as before a machine is assigned to one; `vm move` to its host or another undoes that", onMachines((*fleet.VCenter).UnassignHost)},
		{"vm rename VM NAME", "renames it", onMachinesWith("NAME", func(v *fleet.VCenter, vm, name string) error { return v.Rename(vm, name) })},
		{"vm uuid VM UUID", "gives it a BIOS UUID", onMachinesWith("UUID", (*fleet.VCenter).SetUUID)},
		{"vm hostname VM NAME", "lets its guest report a host name, `\"\"` for no VMware Tools", onMachinesWith("NAME", (*fleet.VCenter).SetHostName)},
		{"vm address VM IP…", "lets its first interface have these addresses", setAddresses},
		{"vm hide-nics VM", "lets its guest report its address and none of its interfaces, until `vm address` or the like", onMachines((*fleet.VCenter).HideNICs)},
		{"vm resize VM CPUS MEMORY", "gives it other numbers of virtual CPUs and gigabytes of memory", resize},
		{"vm shuffle VM", "lets its guest report its interfaces in the opposite order", onMachines((*fleet.VCenter).ReverseNICs)},
		{"vm metadata VM YAML", "gives it the metadata that cloud-init reads in it, `\"\"` for none", onMachinesWith("YAML", func(v *fleet.VCenter, vm, text string) error { return v.SetMetadata(vm, text, "") })},
		{"vm connection VM STATE", "makes it `connected`, `disconnected`, `inaccessible`, `orphaned` or `invalid`", onMachinesWith("STATE", (*fleet.VCenter).SetConnection)},
		{"vm create VCENTER DATACENTER NAME [KEY=VALUE…]", "makes a machine; KEY is `cluster`, `host`, `pool`, `folder`, `uuid`, `power`, `hostname` or `ip`; `unreadable` instead of one: see `vm unreadable`", createMachine},
		{"tag VCENTER OBJECT CATEGORY TAG", "attaches a tag, which is made if need be; OBJECT is a path (`/` for the root folder), or a name that is unique in its vCenter", onObject(3, func(v *fleet.VCenter, w []string) error { return v.Tag(w[0], w[1], w[2]) })},
		{"untag VCENTER OBJECT CATEGORY TAG", "detaches it", onObject(3, func(v *fleet.VCenter, w []string) error { return v.Untag(w[0], w[1], w[2]) })},
		{"retag VCENTER OBJECT CATEGORY TAG", "attaches it in place of the others of its category", onObject(3, func(v *fleet.VCenter, w []string) error { return v.Retag(w[0], w[1], w[2]) })},
		{"rename-tag VCENTER CATEGORY TAG NAME", "gives a tag another name, on all its objects; vCenter logs no event for it", renameTag},
		{"rename-category VCENTER CATEGORY NAME", "gives a tag category another name", renameCategory},
		{"rename VCENTER OBJECT NAME", "renames any other object", onObject(2, func(v *fleet.VCenter, w []string) error { return v.Rename(w[0], w[1]) })},
		{"vm restart VM HOST", "has vSphere HA restart a machine on another host", onMachinesWith("HOST", (*fleet.VCenter).RestartVM)},
		{"host move VCENTER HOST CLUSTER", "moves a host with its machines, out of all DRS host groups", onObject(2, func(v *fleet.VCenter, w []string) error { return v.MoveHost(w[0], w[1]) })},
		{"host lose VCENTER HOST", "has a host not respond any more; its machines are disconnected, until `vm restart` or `host restore`", onObject(1, func(v *fleet.VCenter, w []string) error { return v.LoseHost(w[0]) })},
		{"host restore VCENTER HOST", "has it respond again, with the machines that are still on it", onObject(1, func(v *fleet.VCenter, w []string) error { return v.RestoreHost(w[0]) })},
		{"host group VCENTER HOST GROUP", "adds a host to a DRS host group of its cluster, which is made if need be", onObject(2, func(v *fleet.VCenter, w []string) error { return v.AddToGroup(w[0], w[1]) })},
		{"host ungroup VCENTER HOST GROUP", "takes it out", onObject(2, func(v *fleet.VCenter, w []string) error { return v.TakeFromGroup(w[0], w[1]) })},
		{"host regroup VCENTER HOST GROUP", "takes it out of all groups and adds it to one, in one change", onObject(2, func(v *fleet.VCenter, w []string) error { return v.RegroupHost(w[0], w[1]) })},
		{"host fault-domain VCENTER HOST DOMAIN", "puts it into a vSAN fault domain, `\"\"` for none", onObject(2, func(v *fleet.VCenter, w []string) error { return v.SetFaultDomain(w[0], w[1]) })},
	}
}

// onMachines is a command about machines, each in the vCenter that has it.
func onMachines(do func(*fleet.VCenter, string) error) func(*arguments) action {
	return func(a *arguments) action {
		pattern := a.word("VM")
		return eachMachine(pattern, do)
	}
}

// onMachinesWith is the same with one more argument.
func onMachinesWith(what string, do func(v *fleet.VCenter, vm, arg string) error) func(*arguments) action {
	return func(a *arguments) action {
		pattern, arg := a.word("VM"), a.word(what)
		return eachMachine(pattern, func(v *fleet.VCenter, vm string) error { return do(v, vm, arg) })
	}
}

func eachMachine(pattern string, do func(*fleet.VCenter, string) error) action {
	return func(_ context.Context, w *world) error {
		machines, err := w.machinesNamed(pattern)
		if err != nil {
			return err
		}
		for _, m := range machines {
			if err := do(w.stack.Fleet.VCenter(m.VCenter), m.Name); err != nil {
				return err
			}
		}
		return nil
	}
}

// onObject is a command about an object of a vCenter, with its name and what
// else it needs in n words.
func onObject(n int, do func(*fleet.VCenter, []string) error) func(*arguments) action {
	return func(a *arguments) action {
		name := a.vcenter()
		var words []string
		for range n {
			words = append(words, a.word("an argument"))
		}
		return onVCenters([]string{name}, func(_ *world, v *fleet.VCenter) error { return do(v, words) })
	}
}

func setAddresses(a *arguments) action {
	pattern, ips := a.word("VM"), append([]string{a.word("IP")}, a.rest()...)
	return eachMachine(pattern, func(v *fleet.VCenter, vm string) error { return v.SetIPs(vm, ips...) })
}

func resize(a *arguments) action {
	pattern, cpus, memory := a.word("VM"), int32(a.number("CPUS")), int32(a.number("MEMORY"))
	return eachMachine(pattern, func(v *fleet.VCenter, vm string) error { return v.Resize(vm, cpus, memory<<10) })
}

func createMachine(a *arguments) action {
	vcenter, datacenter := a.vcenter(), a.word("DATACENTER")
	vm := fleet.VMSpec{Name: a.word("NAME")}
	hostName, ip := vm.Name, ""
	fields := map[string]*string{
		"cluster": &vm.Cluster, "host": &vm.Host, "pool": &vm.Pool, "folder": &vm.Folder,
		"uuid": &vm.UUID, "power": &vm.Power, "hostname": &hostName, "ip": &ip,
	}
	for _, word := range a.rest() {
		key, value, _ := strings.Cut(word, "=")
		if word == "unreadable" {
			vm.Unreadable = true
			continue
		}
		if fields[key] == nil || value == "" {
			a.fail("%q is unknown of a machine", word)
			break
		}
		*fields[key] = value
	}
	vm.HostName = &hostName
	if ip != "" {
		vm.NICs = []fleet.NICSpec{{IPs: []string{ip}}}
	}
	return onVCenters([]string{vcenter}, func(_ *world, v *fleet.VCenter) error { return v.Create(datacenter, vm) })
}

func renameTag(a *arguments) action {
	names, category, tag, name := a.vcenters(), a.word("CATEGORY"), a.word("TAG"), a.word("NAME")
	return onVCenters(names, func(_ *world, v *fleet.VCenter) error { return v.RenameTag(category, tag, name) })
}

func renameCategory(a *arguments) action {
	names, category, name := a.vcenters(), a.word("CATEGORY"), a.word("NAME")
	return onVCenters(names, func(_ *world, v *fleet.VCenter) error { return v.RenameCategory(category, name) })
}
