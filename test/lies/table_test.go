package lies

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/test/fleet"
)

const (
	// restricted is a label that kubelets may not write.
	restricted = "node-restriction.kubernetes.io/tier"
	// leveled is the label of a further level.
	leveled = "example.com/cluster"
	// excluded is the label excluded by the configured selector.
	excluded = "example.com/elsewhere"
)

// firstComes is the reason why a Node may take a VM that no other Node has had.
const firstComes = "only the kubelet reports which VM it runs on: the first Node that names a VM gets it"

// tenantsName is the reason why a Node without a UUID may take a tenant's VM.
const tenantsName = "only the name identifies the Node's VM, and the Node's own VM has neither this name nor running VMware Tools"

// first returns the gains of a Node that names a VM before the VM's own Node does.
func first() map[gain]string {
	return map[gain]string{waiting: firstComes, addresses: firstComes, identity: firstComes, ownZone: firstComes}
}

// table returns all lies. The first is the truth, which must gain nothing.
func table() []lie {
	var all []lie
	for _, part := range [][]lie{truth(), systemUUIDs(), providerIDs(), annotations(), addressLies(), labels(), taints(), names()} {
		all = append(all, part...)
	}
	return all
}

func truth() []lie {
	return []lie{{about: "nothing", value: "the truth", moments: []moment{registering, running}, send: func(*world, *v1.Node) {}, becomes: honest}}
}

func systemUUIDs() []lie {
	const about = "system UUID"
	uuid := func(of func(w *world) string) func(*world, *v1.Node) {
		return func(w *world, n *v1.Node) { n.Status.NodeInfo.SystemUUID = of(w) }
	}
	return []lie{
		{about: about, value: "of a running Node", moments: []moment{registering, before}, send: uuid(func(w *world) string { return w.vm("runs-vm").UUID }), becomes: waits},
		{about: about, value: "of a running Node", moments: []moment{running}, send: uuid(func(w *world) string { return w.vm("runs-vm").UUID }), becomes: honest},
		{about: about, value: "of a running Node, in the other byte order", moments: []moment{registering}, send: uuid(func(w *world) string { return w.vm("runs-vm").SwappedUUID() }), becomes: waits},
		{about: about, value: "of a Node that joins later", moments: []moment{registering}, send: uuid(func(w *world) string { return w.joiner.UUID }), becomes: impostor, accepted: first()},
		{about: about, value: "of a Node that joins later", moments: []moment{running}, send: uuid(func(w *world) string { return w.joiner.UUID }), becomes: honest},
		{
			about: about, value: "of a VM without a Node", moments: []moment{registering, before},
			send: uuid(func(w *world) string { return w.vm("spare").UUID }), becomes: impostor,
			accepted: map[gain]string{identity: firstComes, ownZone: firstComes},
		},
		{about: about, value: "of a Node whose VM is unreadable", moments: []moment{registering}, send: uuid(func(*world) string { return ghostUUID }), becomes: waits},
		{about: about, value: "of a Node whose VM is gone", moments: []moment{registering}, send: uuid(func(w *world) string { return w.gone.UUID }), becomes: waits},
		{about: about, value: "100 kB of text", moments: []moment{registering}, send: uuid(func(*world) string { return strings.Repeat("u", 100<<10) }), becomes: waits},
		{about: about, value: "removed", moments: []moment{running}, send: uuid(func(*world) string { return "" }), becomes: honest},
	}
}

func providerIDs() []lie {
	const about = "provider ID"
	id := func(of func(w *world) string) func(*world, *v1.Node) {
		return func(w *world, n *v1.Node) { n.Spec.ProviderID = of(w) }
	}
	runs := func(w *world) string { return w.vm("runs-vm").ProviderID() }
	joins := func(w *world) string { return w.joiner.ProviderID() }
	return []lie{
		{about: about, value: "of a running Node", moments: []moment{registering, before}, send: id(runs), becomes: waits},
		{
			about: about, value: "of a running Node, and its system UUID", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				n.Spec.ProviderID = runs(w)
				n.Status.NodeInfo.SystemUUID = w.vm("runs-vm").UUID
			}, becomes: waits,
		},
		{about: about, value: "of a Node that joins later", moments: []moment{registering}, send: id(joins), becomes: waits},
		{about: about, value: "of a Node whose VM is unreadable", moments: []moment{registering}, send: id(func(*world) string { return "vsphere://" + ghostUUID }), becomes: waits},
		{about: about, value: "of a Node whose VM is gone", moments: []moment{registering}, send: id(func(w *world) string { return w.gone.ProviderID() }), becomes: waits},
		{about: about, value: "another cloud's", moments: []moment{registering, before}, send: id(func(*world) string { return "aws:///zone/i-1" }), becomes: ignored},
		{about: about, value: "not a UUID", moments: []moment{registering, before}, send: id(func(*world) string { return "vsphere://vm-1\nI1122 fake" }), becomes: waits},
		{about: about, value: "a megabyte", moments: []moment{registering}, send: id(func(*world) string { return "vsphere://" + strings.Repeat("x", 1<<20) }), becomes: waits},
	}
}

func annotate(n *v1.Node, key, value string) {
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[key] = value
}

func annotations() []lie {
	const about = "annotations"
	own := func(w *world, n *v1.Node) { n.Spec.ProviderID = w.vm("liar-vm").ProviderID() }
	// at sets the home annotation, which applies with a provider ID or without the taint.
	long := func(*world) string { return "west/vm-" + strings.Repeat("1", 200<<10) }
	at := func(where func(w *world) string) func(*world, *v1.Node) {
		return func(w *world, n *v1.Node) {
			own(w, n)
			annotate(n, nodeinfo.KeyVM, where(w))
		}
	}
	ghost := func(w *world) string { return "east/" + w.vm("ghost-vm").MoID }
	vm := "`" + nodeinfo.KeyVM + "`: "
	set := func(key, value string) func(*world, *v1.Node) {
		return func(_ *world, n *v1.Node) { annotate(n, key, value) }
	}
	return []lie{
		{about: about, value: vm + "another Node's unreadable VM", moments: []moment{registering}, send: at(ghost), becomes: waits},
		{about: about, value: vm + "another Node's unreadable VM", moments: []moment{running}, send: at(ghost), becomes: honest},
		{
			about: about, value: vm + "another Node's unreadable VM, of a Node without a VM", moments: []moment{registering}, homeless: true,
			send: func(w *world, n *v1.Node) {
				n.Spec.ProviderID = "vsphere://" + unknownUUID
				annotate(n, nodeinfo.KeyVM, ghost(w))
			}, becomes: waits,
		},
		{
			about: about, value: vm + "another Node's unreadable VM, with the provider ID of a running Node", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				n.Spec.ProviderID = w.vm("runs-vm").ProviderID()
				annotate(n, nodeinfo.KeyVM, ghost(w))
			}, becomes: waits,
		},
		{
			about: about, value: vm + "an unreadable VM, with the provider ID of a Node that joins later", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				n.Spec.ProviderID = w.joiner.ProviderID()
				annotate(n, nodeinfo.KeyVM, ghost(w))
			}, becomes: waits,
		},
		{about: about, value: vm + "of a running Node", moments: []moment{registering, running}, send: at(func(w *world) string { return "west/" + w.vm("runs-vm").MoID }), becomes: honest},
		{about: about, value: vm + "of a Node whose VM is gone", moments: []moment{registering}, send: at(func(w *world) string { return "east/" + w.gone.MoID }), becomes: honest},
		{about: about, value: vm + "a nonexistent VM", moments: []moment{registering, running}, send: at(func(*world) string { return "west/vm-999999" }), becomes: honest},
		{about: about, value: vm + "not a managed object ID", moments: []moment{registering, running}, send: at(func(*world) string { return "west/vm 1<&>\nvm-2" }), becomes: honest},
		{about: about, value: vm + "of a vCenter that is not configured", moments: []moment{registering}, send: at(func(*world) string { return "nowhere/vm-1" }), becomes: honest},
		{about: about, value: vm + "200 kB", moments: []moment{registering}, send: at(long), becomes: waits},
		{about: about, value: vm + "200 kB", moments: []moment{running}, send: at(long), becomes: honest},
		{about: about, value: "`" + nodeinfo.KeyVCenter + "`: another vCenter", moments: []moment{running}, send: set(nodeinfo.KeyVCenter, "00000000-0000-4000-8000-000000000001"), becomes: honest},
		{about: about, value: "`" + nodeinfo.KeyLabels + "`: labels that the kubelet may not remove", moments: []moment{running}, send: set(nodeinfo.KeyLabels, restricted+","+v1.LabelTopologyZone), becomes: honest},
		{about: about, value: "`--node-ip`: the address of a running Node", moments: []moment{registering}, send: nodeIP(runner), becomes: waits},
		{about: about, value: "`--node-ip`: the address of a running Node", moments: []moment{running}, send: nodeIP(runner), becomes: honest},
		{about: about, value: "`--node-ip`: the address of a Node that joins later", moments: []moment{registering}, send: nodeIP(joiner), becomes: waits},
		{about: about, value: "`--node-ip`: the address of a Node that joins later, for a Node without a VM", moments: []moment{registering}, homeless: true, send: nodeIP(joiner), becomes: waits},
		{about: about, value: "`--node-ip`: 200 kB", moments: []moment{registering}, send: set(cloudproviderapi.AnnotationAlphaProvidedIPAddr, strings.Repeat("1,", 100<<10)), becomes: waits},
	}
}

// runner and joiner return the VMs of victims.
func runner(w *world) fleet.VM { return w.vm("runs-vm") }
func joiner(w *world) fleet.VM { return w.joiner }

func nodeIP(of func(*world) fleet.VM) func(*world, *v1.Node) {
	return func(w *world, n *v1.Node) {
		annotate(n, cloudproviderapi.AnnotationAlphaProvidedIPAddr, of(w).IPs[0])
	}
}

func addressLies() []lie {
	const about = "addresses"
	of := func(victim func(*world) fleet.VM) func(*world, *v1.Node) {
		return func(w *world, n *v1.Node) {
			ip := victim(w).IPs[0]
			n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: ip}, {Type: v1.NodeExternalIP, Address: ip}, {Type: v1.NodeHostName, Address: n.Name}}
		}
	}
	return []lie{
		{about: about, value: "of a running Node", moments: []moment{registering, running}, send: of(runner), becomes: honest},
		{about: about, value: "of a Node that joins later", moments: []moment{registering, running}, send: of(joiner), becomes: honest},
		{about: about, value: "of a Node that joins later, for a Node without a VM", moments: []moment{registering, before}, homeless: true, send: of(joiner), becomes: waits},
		{
			about: about, value: "of a Node that joins later, for a Node with another cloud's provider ID", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				n.Spec.ProviderID = "aws:///zone/i-1"
				of(joiner)(w, n)
			}, becomes: ignored,
		},
		{
			about: about, value: "a thousand of the network", moments: []moment{registering, running},
			send: func(_ *world, n *v1.Node) {
				n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeHostName, Address: n.Name}}
				for i := range 1000 {
					n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)})
				}
			}, becomes: honest,
		},
	}
}

func labels() []lie {
	const about = "labels"
	set := func(pairs ...string) func(*world, *v1.Node) {
		return func(_ *world, n *v1.Node) {
			for i := 0; i < len(pairs); i += 2 {
				n.Labels[pairs[i]] = pairs[i+1]
			}
		}
	}
	zones := set(v1.LabelTopologyZone, "west-a", v1.LabelFailureDomainBetaZone, "west-a")
	return []lie{
		{about: about, value: "the zone of another Node", moments: []moment{registering}, send: zones, becomes: honest},
		{about: about, value: "the zone of another Node", moments: []moment{running}, send: zones, becomes: reported},
		{about: about, value: "the value of a further level", moments: []moment{registering, running}, send: set(leveled, "a"), becomes: reported},
		{about: about, value: "a label that `nodes.selector` excludes", moments: []moment{registering}, send: set(excluded, ""), becomes: ignored},
	}
}

func taints() []lie {
	const about = "taints"
	without := func(_ *world, n *v1.Node) { n.Spec.Taints = nil }
	add := func(keys ...string) func(*world, *v1.Node) {
		return func(_ *world, n *v1.Node) {
			for _, key := range keys {
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
			}
		}
	}
	return []lie{
		{about: about, value: "not uninitialized", moments: []moment{registering}, send: without, becomes: honest},
		{
			about: about, value: "not uninitialized, with another Node's unreadable VM", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				without(w, n)
				annotate(n, nodeinfo.KeyVM, "east/"+w.vm("ghost-vm").MoID)
			}, becomes: unlabeled,
		},
		{
			about: about, value: "not uninitialized, with another Node's unreadable VM and without a VM", moments: []moment{registering}, homeless: true,
			send: func(w *world, n *v1.Node) {
				without(w, n)
				n.Status.NodeInfo.SystemUUID = unknownUUID
				annotate(n, nodeinfo.KeyVM, "east/"+w.vm("ghost-vm").MoID)
			}, becomes: unlabeled,
		},
		{
			about: about, value: "not uninitialized, with the zone of another Node", moments: []moment{registering},
			send: func(w *world, n *v1.Node) {
				without(w, n)
				n.Labels[v1.LabelTopologyZone] = "west-a"
				n.Labels[v1.LabelFailureDomainBetaZone] = "west-a"
			}, becomes: reported,
		},
		{about: about, value: "`" + nodeinfo.DriftTaint + "`, and shut down", moments: []moment{registering}, send: add(nodeinfo.DriftTaint, cloudproviderapi.TaintNodeShutdown), becomes: honest},
	}
}

func names() []lie {
	const about = "name"
	nameless := func(_ *world, n *v1.Node) { n.Status.NodeInfo.SystemUUID = "" }
	return []lie{
		{about: about, value: "of a running Node's VM, without a UUID", moments: []moment{registering}, named: "runs-vm", certain: true, send: nameless, becomes: waits},
		{
			about: about, value: "of a VM without a Node, without a UUID", moments: []moment{registering}, named: "spare", certain: true, send: nameless, becomes: impostor,
			accepted: map[gain]string{identity: firstComes, ownZone: firstComes},
		},
		{
			about: about, value: "its own, without a UUID, which a tenant's guest also reports", moments: []moment{registering}, certain: true,
			send: func(w *world, n *v1.Node) {
				nameless(w, n)
				if err := w.s.Fleet.VCenter("east").SetHostName("spare", n.Name); err != nil {
					w.t.Error(err)
				}
			}, becomes: impostor, accepted: map[gain]string{identity: tenantsName, ownZone: tenantsName},
		},
	}
}

// ctx bounds a request of a kubelet.
func (w *world) ctx() context.Context { return w.t.Context() }
