package finding

// The kinds about Nodes, their machines and their hosts.
var (
	NodeUnplaced = &Kind{"VZ150", Error, "a Node has no region or zone",
		"A tag of a required category is missing above its machine. A new Node waits; a running one keeps what it has.",
		"Attach a tag to the host, the cluster or the datacenter of the machine."}
	NodeContradicts = &Kind{"VZ151", Error, "a Node's provider ID is another machine's",
		"The kubelet reports the UUID of another machine, as after one was rebuilt under the name of an old Node.",
		"Delete the Node and restart its kubelet, which registers it again."}
	NodesShareMachine = &Kind{"VZ152", Error, "two Nodes have one machine",
		"Nobody can tell which of the two runs on it.",
		"Delete the Node that is not this machine's."}
	NodeAmbiguous = &Kind{"VZ153", Error, "several machines fit a Node",
		"Clones and restored copies carry the same UUID. The Node is not initialized.",
		"Remove the copies, or give each a UUID of its own."}
	NodeNotFound = &Kind{"VZ154", Error, "a Node has no machine",
		"Every vCenter was read, and none has it.",
		"Delete the Node if its machine is gone for good. If the Node is ready, let the account see the machine."}
	NodeOutside = &Kind{"VZ155", Error, "a Node's machine is outside of the configured datacenters",
		"The Node is neither initialized nor deleted.",
		"Add the datacenter to datacenters in the configuration."}
	NodeUnreadable = &Kind{"VZ156", Error, "the configuration of a Node's machine cannot be read",
		"The machine is inaccessible or orphaned, or the account may not read it.",
		"Reconnect its host or datastore, or remove it from the inventory if it is orphaned."}
	NodeWithoutUUID = &Kind{"VZ157", Error, "a Node reports no system UUID",
		"No machine is looked for by name, since nodes.matchByName is false.",
		"Have the kubelet report the UUID, or give the Node its provider ID."}
	NodeWithoutAddress = &Kind{"VZ158", Error, "a Node gets no address",
		"VMware Tools report none that the configuration allows. The Node waits.",
		"Check VMware Tools in the machine, and the rules for addresses in the configuration."}
	AddressTaken = &Kind{"VZ159", Error, "two Nodes claim one address",
		"The Node waits for it.",
		"Find out which machine has the address, and correct the other one."}
	NodeUnknown = &Kind{"VZ160", Warning, "nothing certain can be said about a Node",
		"It keeps what it has, or waits.",
		"Do what the text says, and run the command again."}
	MachineUnreadable = &Kind{"VZ161", Warning, "machines cannot be read",
		"Each of them may be a Node's. While one of them may be, the absence of a machine is not confirmed.",
		"Reconnect their hosts or datastores, or remove orphaned ones from the inventory."}
	NodeByName = &Kind{"VZ162", Warning, "others' machines can pass for a Node's",
		"A Node without a system UUID is looked for by its name, which a machine's owner and its guest choose. It gets that machine's zone, addresses and provider ID, for good.",
		"Have the kubelet report the system UUID, or set nodes.matchByName to false."}
	DiskUUIDOff = &Kind{"VZ165", Warning, "disk.enableUUID is off",
		"The CSI driver finds no disk in the machine: Pods with volumes do not start there. Left out where the cluster does not have the driver.",
		"Set disk.enableUUID to TRUE while the machine is off. In a cluster that never gets the CSI driver this does not matter."}
	ToolsNotRunning = &Kind{"VZ166", Warning, "VMware Tools do not run",
		"vCenter knows no addresses of the machine. A new Node waits for them; a running one keeps those that it has.",
		"Install and start open-vm-tools in the machine."}
	ControlPlaneShares = &Kind{"VZ170", Warning, "control plane Nodes share an ESXi host",
		"When the host fails, several members of etcd are gone at once.",
		"Move one of the machines, and keep them apart by a DRS rule."}
	ZoneNodesShare = &Kind{"VZ171", Info, "Nodes of one zone share an ESXi host",
		"When the host fails, all of them are gone at once.",
		"If the zone has more hosts, keep the machines apart by a DRS rule. A zone that is meant to be one host needs nothing."}
	ZoneOnOneHost = &Kind{"VZ172", Warning, "all Nodes of a zone are on one ESXi host",
		"When the host fails, the zone is gone.",
		"Move some of the machines to other hosts of the zone, and keep them apart by a DRS rule."}
	RuleTogether = &Kind{"VZ173", Warning, "a DRS rule keeps Nodes on one host",
		"DRS moves their machines together, whatever else is meant.",
		"Remove the rule, or take the machines out of it."}
	DRSOff = &Kind{"VZ174", Warning, "DRS is off, and there are rules for Nodes",
		"Nothing keeps the rules.",
		"Switch DRS on, or remove the rules."}
	ControlPlaneFree = &Kind{"VZ175", Info, "no DRS rule keeps control plane Nodes apart",
		"They are on different hosts now, and DRS or HA may put them onto one.",
		"Make a DRS rule that separates them."}

	checkNodes = []*Kind{
		NodeUnplaced, NodeContradicts, NodesShareMachine, NodeAmbiguous, NodeNotFound, NodeOutside, NodeUnreadable, NodeWithoutUUID,
		NodeWithoutAddress, AddressTaken, NodeUnknown, MachineUnreadable, NodeByName, DiskUUIDOff, ToolsNotRunning,
		ControlPlaneShares, ZoneNodesShare, ZoneOnOneHost, RuleTogether, DRSOff, ControlPlaneFree, ConfigurationWarning,
	}
)
