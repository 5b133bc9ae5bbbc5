package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fleet"
)

// inventedUUID is a UUID that no machine of the description has, the same each time.
func inventedUUID(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("bench/"+name)).String()
}

// victimSpec is a machine that cannot be read, of a Node that runs.
func victimSpec(i int) fleet.VMSpec {
	name := fmt.Sprintf("victim-%d", i)
	return fleet.VMSpec{Name: name, UUID: inventedUUID(name), Unreadable: true}
}

// victimNode is its Node, whose kubelet is silent and which does not say where the
// machine is. Only the uncertainty which machine it is protects it.
func victimNode(m fleet.VMSpec) *v1.Node {
	n := cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID, ProviderID: "vsphere://" + m.UUID}.Node()
	n.Spec.Taints = nil
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == v1.NodeReady {
			c.Status, c.Reason = v1.ConditionUnknown, "NodeStatusUnknown"
		}
	}
	return n
}

// hostileMachines are machines of tenants in the fleet of a cluster.
type hostileMachines struct {
	fleet *fleet.Fleet
	names map[string]string // of the machine's vCenter, by vCenter and machine
}

func (h *hostileMachines) add(v *fleet.VCenter, spec fleet.VMSpec) error {
	if err := v.Create(bareDatacenter, spec); err != nil {
		return err
	}
	h.names[v.Name()+"/"+spec.Name] = v.Name()
	return nil
}

// remove takes them away again.
func (h *hostileMachines) remove() error {
	var errs []error
	for key, vcenter := range h.names {
		errs = append(errs, h.fleet.VCenter(vcenter).Destroy(strings.TrimPrefix(key, vcenter+"/")))
	}
	return errors.Join(errs...)
}

// newHostileMachines makes 20 machines. Those that are not off have UUIDs of their own:
// a copy of a Node's machine that runs keeps that Node waiting, and should.
func newHostileMachines(f *fleet.Fleet, honest []fleet.Machine) (*hostileMachines, error) {
	h := &hostileMachines{fleet: f, names: map[string]string{}}
	vcenters := f.VCenters()
	var errs []error
	for i, spec := range hostileSpecs(honest) {
		errs = append(errs, h.add(vcenters[i%len(vcenters)], spec))
	}
	return h, errors.Join(errs...)
}

func hostileSpecs(honest []fleet.Machine) []fleet.VMSpec {
	var all []fleet.VMSpec
	for i, text := range bombs() {
		name := fmt.Sprintf("bomb-%d", i)
		all = append(all, fleet.VMSpec{Name: name, UUID: inventedUUID(name), Metadata: text, Encoding: "gzip+base64"})
	}
	for i := range 3 { // the last one reports what honest Nodes have
		name := fmt.Sprintf("many-%d", i)
		var ips []string
		for n := range 5000 {
			if i == 2 && n < len(honest) && len(honest[n].IPs) > 0 {
				ips = append(ips, honest[n].IPs[0])
				continue
			}
			ips = append(ips, fmt.Sprintf("172.%d.%d.%d", 16+i, n/250, 1+n%250))
		}
		all = append(all, fleet.VMSpec{Name: name, UUID: inventedUUID(name), NICs: []fleet.NICSpec{{IPs: ips}}})
	}
	for i := range 5 {
		name := fmt.Sprintf("tenant-%d", i)
		all = append(all, fleet.VMSpec{Name: name, UUID: inventedUUID(name), HostName: &honest[i*7].Name})
	}
	for i := range 4 {
		name := fmt.Sprintf("blank-%d", i)
		all = append(all, fleet.VMSpec{Name: name, UUID: inventedUUID(name), Unreadable: true})
	}
	for i := range 2 {
		all = append(all, fleet.VMSpec{Name: fmt.Sprintf("copy-%d", i), UUID: honest[i*11].UUID, Power: "off"})
	}
	for range 2 { // in two vCenters
		all = append(all, fleet.VMSpec{Name: "twice"})
	}
	return all
}

// bombs are metadata that is costly to parse.
func bombs() []string {
	var addresses, anchors, aliases strings.Builder
	addresses.WriteString("network: {ethernets: {a: {addresses: [")
	anchors.WriteString("x: [")
	for i := range 9_900 {
		fmt.Fprintf(&addresses, "10.%d.%d.1,", i/250, i%250)
		fmt.Fprintf(&anchors, "&a%d b,", i)
	}
	aliases.WriteString("x: &x [" + strings.Repeat("10.0.0.1,", 1000) + "]\ny: &y {addresses: *x}\nnetwork: {ethernets: {")
	for i := range 1000 {
		fmt.Fprintf(&aliases, "e%d: *y,", i)
	}
	return []string{
		addresses.String() + "]}}}", anchors.String() + "]", aliases.String() + "}}",
		"x: " + strings.Repeat("0", 64<<20), // 64 kB as the machine has it
	}
}

// hostileNodes are 100 Nodes that wait and lie about what a kubelet may lie about. Claims
// to machines that cannot be read are by the UUIDs of honest Nodes, which may keep those
// waiting, or of nobody, which may remove the uncertainty that protects Nodes: a machine
// is claimed by one of them at a time.
func hostileNodes(f *fleet.Fleet, honest []fleet.Machine, byNobody bool) []*v1.Node {
	k := kubelets{honest: honest}
	k.providerIDs()
	k.claims(f, byNobody)
	k.addresses()
	for i := range 8 { // no system UUID, and a name that nobody or two machines have
		name := fmt.Sprintf("nobody-%d", i)
		if i == 0 {
			name = "twice"
		}
		k.add(cluster.NodeSpec{Name: name})
	}
	return k.nodes
}

// kubelets make hostile Nodes.
type kubelets struct {
	honest []fleet.Machine
	nodes  []*v1.Node
}

func (k *kubelets) add(spec cluster.NodeSpec) *v1.Node {
	n := spec.Node()
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	k.nodes = append(k.nodes, n)
	return n
}

// victim is an honest machine, another one for each Node.
func (k *kubelets) victim() fleet.Machine { return k.honest[len(k.nodes)*2%len(k.honest)] }

func (k *kubelets) providerIDs() {
	for i := range 4 {
		name := fmt.Sprintf("long-%d", i)
		k.add(cluster.NodeSpec{Name: name, SystemUUID: inventedUUID(name), ProviderID: "vsphere://" + strings.Repeat("x", 1<<20)})
	}
	for i := range 16 {
		name := fmt.Sprintf("impostor-%d", i)
		k.add(cluster.NodeSpec{Name: name, SystemUUID: inventedUUID(name), ProviderID: k.victim().ProviderID()})
	}
	for i := range 16 {
		k.add(cluster.NodeSpec{Name: fmt.Sprintf("twin-%d", i), SystemUUID: k.victim().UUID})
	}
}

// claims say where machines are: others' UUIDs of machines that cannot be read, what is
// no machine, and what is none of theirs.
func (k *kubelets) claims(f *fleet.Fleet, byNobody bool) {
	var unreadable []fleet.Machine
	for _, m := range f.Machines() {
		if m.UUID == "" {
			unreadable = append(unreadable, m)
		}
	}
	for i := range 16 {
		// All that claim one machine do so with one UUID: contradictions are no claim.
		m := unreadable[i%len(unreadable)]
		owner := inventedUUID("owner of " + m.Name)
		if !byNobody {
			owner = k.honest[i%len(unreadable)*13+1].UUID
		}
		n := k.add(cluster.NodeSpec{Name: fmt.Sprintf("claim-%d", i), SystemUUID: owner, ProviderID: "vsphere://" + owner})
		n.Annotations[nodeinfo.KeyMachine] = m.VCenter + "/" + m.MoID
		n.Annotations[nodeinfo.KeyVCenter] = f.VCenter(m.VCenter).InstanceUUID()
	}
	garbage := []string{
		"vc01/", "/vm-1", "vc01/group-d1", "vc01/vm-1 vm-2", "vc01/host-1", "vc01/vm-\x1b[2J", "vc01/vm-1\nvc02/vm-2",
		"vc01/<Obj type=\"VirtualMachine\">vm-1</Obj>", "vc01/" + strings.Repeat("x", 200<<10), strings.Repeat("x/", 100<<10),
		"vc01/vm-99999999", "nowhere/vm-1", "vc01/../vm-1", "vc01/session[1]", "vc02/vm-é", "vc03/\u202evm-1",
	}
	for i, text := range garbage {
		name := fmt.Sprintf("garbage-%d", i)
		n := k.add(cluster.NodeSpec{Name: name, SystemUUID: inventedUUID(name)})
		n.Annotations[nodeinfo.KeyMachine] = text
	}
}

// addresses are node-ips that are too long, on Nodes whose machines are hostile too, and
// those of others.
func (k *kubelets) addresses() {
	for _, name := range []string{"bomb-0", "bomb-1", "bomb-2", "bomb-3", "many-0", "many-1", "many-2"} {
		n := k.add(cluster.NodeSpec{Name: name, SystemUUID: inventedUUID(name)})
		n.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr] = strings.Repeat("10.0.0.1,", 20<<10)
	}
	for i := range 17 {
		name := fmt.Sprintf("thief-%d", i)
		spec := cluster.NodeSpec{Name: name, SystemUUID: inventedUUID(name)}
		if v := k.victim(); len(v.IPs) > 0 {
			spec.ProvidedIP = v.IPs[0]
		}
		if i < 5 {
			spec.SystemUUID = inventedUUID(fmt.Sprintf("tenant-%d", i))
		}
		k.add(spec)
	}
}
