package takeover

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const theFleet = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - name: dc
    clusters:
    - {name: a, tags: {zone: east-a}, hosts: [a-1]}
    - {name: b, tags: {zone: east-b}, hosts: [b-1]}
    vms:
    - {name: plain}
    - {name: three, nics: [{ips: [10.0.9.12, 10.0.9.7, 10.0.9.9]}]}
    - {name: networks, nics: [{ips: [10.1.9.1]}, {ips: [10.0.9.1]}]}
    - {name: node-ip, nics: [{ips: [10.0.9.21, 10.0.9.20]}, {ips: [10.1.9.21]}]}
    - {name: virtual-first, nics: [{ips: [10.0.9.5, 10.0.9.14]}]}
    - {name: virtual-last, nics: [{ips: [10.0.9.15, 10.0.9.6]}]}
    - {name: in-tree}
    - {name: in-tree-upper}
    - {name: in-tree-host}
    - {name: in-tree-path}
    - {name: in-tree-left}
    - {name: guest, guestID: rhel9_64Guest}
    - {name: resized}
    - {name: moved}
    - {name: silent}
    - {name: joins-cpi}
    - {name: joins-vzones}
- name: west
  tags: {region: west}
  datacenters:
  - name: dc
    tags: {zone: west-a}
    clusters: [{name: c, hosts: 1}]
    vms:
    - {name: dual, nics: [{ips: [10.2.9.11, 10.2.9.4, "fd00::11", "fd00::4"]}]}
    - {name: dual-ip, nics: [{ips: [10.2.9.12, 10.2.9.5, "fd00::12", "fd00::5"]}]}
    - {name: dual-one, nics: [{ips: [10.2.9.13, "fd00::13"]}]}
`

// theConfig is used by both. The CPI ignores the second line. The zero settle time makes vzones act on a supposed drift
// at once.
const theConfig = `
labels: {region: region, zone: zone}
topology: {settle: 0s}
`

// A bystander is a Node that must not change.
type bystander struct {
	name              string
	swapped           bool // the guest reports the system UUID in the other byte order
	nodeIP            string
	providerID        func(fleet.VM) string
	initializedInTree bool   // initialized by the in-tree provider and not again by the CPI
	gets              string // addresses written by the CPI, if not just the VM's only address
	unidentified      bool   // vzones cannot identify its VM and leaves the Node alone
}

// bystanders returns the Nodes that exist before the CPI.
//
// Kubelets with the in-tree provider wrote different provider IDs: since 1.9.4 the VM's UUID in any case, from the
// serial number or [Global] vm-uuid; in 1.9 the host name; before that the VM's inventory path after another slash.
// They set no instance type and listed the external address first.
func bystanders() []bystander {
	return []bystander{
		{name: "plain"},
		{name: "three", swapped: true, gets: "ExternalIP=10.0.9.12 Hostname=three InternalIP=10.0.9.12"},
		{name: "networks", gets: "ExternalIP=10.1.9.1 Hostname=networks InternalIP=10.1.9.1"},
		{name: "node-ip", nodeIP: "10.0.9.21", gets: "ExternalIP=10.0.9.21 Hostname=node-ip InternalIP=10.0.9.21"},
		{name: "virtual-first", gets: "ExternalIP=10.0.9.5 Hostname=virtual-first InternalIP=10.0.9.5"},
		{name: "virtual-last", gets: "ExternalIP=10.0.9.15 Hostname=virtual-last InternalIP=10.0.9.15"},
		{name: "in-tree", providerID: fleet.VM.ProviderID},
		{name: "in-tree-upper", swapped: true, providerID: func(m fleet.VM) string { return "vsphere://" + strings.ToUpper(m.UUID) }},
		{name: "in-tree-left", initializedInTree: true, providerID: fleet.VM.ProviderID},
		{name: "in-tree-host", initializedInTree: true, unidentified: true, providerID: func(m fleet.VM) string { return "vsphere://" + m.HostName }},
		{name: "in-tree-path", initializedInTree: true, unidentified: true, providerID: func(m fleet.VM) string { return "vsphere:///" + m.Path }},
		{name: "guest"},
		{name: "resized"},
		{name: "moved"},
		{name: "silent"},
		{name: "dual", gets: "ExternalIP=10.2.9.11 ExternalIP=fd00::11 Hostname=dual InternalIP=10.2.9.11 InternalIP=fd00::11"},
		{name: "dual-ip", nodeIP: "10.2.9.12,fd00::12",
			gets: "ExternalIP=10.2.9.12 ExternalIP=fd00::12 Hostname=dual-ip InternalIP=10.2.9.12 InternalIP=fd00::12"},
		{name: "dual-one", nodeIP: "10.2.9.13", gets: "ExternalIP=10.2.9.13 Hostname=dual-one InternalIP=10.2.9.13"},
	}
}

// TestTakenOverAndGivenBack: the CPI initializes the Nodes, vzones takes over, restarts, and gives the cluster back. The
// Nodes change only in vzones' annotations and condition, and each provider waits for the Lease. Only the Node that
// the CPI has never initialized gets additional labels.
func TestTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	old, ours := programs(t)
	w := newWorld(t, stack.Options{Fleet: theFleet})
	w.configure()
	all := bystanders()
	for i := range all {
		w.register(&all[i])
	}
	cpi := w.start(old)
	w.until(cpi, "the CPI has initialized all Nodes", complete)
	w.join(cpi, &all, "joins-cpi")
	w.expect(cpi, all)
	w.change()
	w.expectUnchanged()
	w.hold(cpi, "the CPI has initialized them")

	d := w.startStandby(ours)
	w.hold(cpi, "the CPI leads and vzones is the standby")
	w.expectUnchanged(removeOurs, removeBackfilled)
	w.stopIncumbent(cpi)
	w.until(d, "vzones has recorded all VMs", known(all))
	w.awaitEvent(d, "moved", "TopologyDrift")
	w.awaitEvent(d, "resized", "InstanceTypeDrift")
	w.hold(d, "vzones has taken over")
	w.report("10.0.9.6", "10.0.9.15")
	w.hold(d, "guests report their addresses in another order")
	w.report("10.0.9.15", "10.0.9.6") // the CPI uses the first addresses
	w.until(d, "the in-tree provider's Node gets an instance type", func(n *v1.Node) error {
		if want := "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"; n.Name == "in-tree-left" && (n.Labels[v1.LabelInstanceTypeStable] != want || n.Labels[v1.LabelInstanceType] != want) {
			return fmt.Errorf("labels %v", n.Labels)
		}
		return nil
	})
	w.join(d, &all, "joins-vzones")
	w.until(d, "vzones has recorded all VMs", known(all))

	w.until(d, "each Node has the condition", func(n *v1.Node) error {
		if !slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady }) {
			return errors.New("the condition is missing")
		}
		return nil
	})

	w.expectUnchanged() // from here on, the annotations and the condition must not change either
	w.stop(d)
	d = w.start(ours)
	w.hold(d, "vzones was restarted")
	cpi = w.startStandby(old)
	w.hold(d, "vzones leads and the CPI is the standby")
	w.stop(d)
	w.hold(cpi, "the CPI leads again")
	w.stopIncumbent(cpi)
}

// complete returns nil if the CPI has finished a Node.
func complete(n *v1.Node) error {
	if !stack.Initialized(n) {
		return errors.New("it is uninitialized")
	}
	for _, a := range n.Status.Addresses {
		if a.Type == v1.NodeExternalIP {
			return nil
		}
	}
	return errors.New("it has no ExternalIP")
}

// known returns a check that vzones has recorded the VMs of these Nodes.
func known(all []bystander) func(*v1.Node) error {
	nameless := map[string]bool{}
	for i := range all {
		nameless[all[i].name] = all[i].unidentified
	}
	return func(n *v1.Node) error {
		if !nameless[n.Name] && (n.Annotations[nodeinfo.KeyVM] == "" || n.Annotations[nodeinfo.KeyVCenter] == "") {
			return fmt.Errorf("annotations %v", n.Annotations)
		}
		return nil
	}
}

// removeBackfilled removes the labels that vzones backfills from the Node that only the in-tree provider has
// initialized.
func removeBackfilled(n *v1.Node) {
	if n.Name == "in-tree-left" {
		delete(n.Labels, v1.LabelInstanceType)
		delete(n.Labels, v1.LabelInstanceTypeStable)
	}
}

// join registers a Node while d leads.
func (w *world) join(d *stack.Daemon, all *[]bystander, name string) {
	w.t.Helper()
	b := bystander{name: name}
	w.register(&b)
	*all = append(*all, b)
	w.until(d, "Node "+name+" is initialized", complete)
}

// change makes changes that no provider writes to a running Node by default.
func (w *world) change() {
	w.t.Helper()
	east := w.s.Fleet.VCenter("east")
	for _, err := range []error{
		east.Resize("resized", 8, 16<<10),
		east.MoveVM("moved", "b-1"),
		w.s.Cluster.SetNodeReady(w.t.Context(), "silent", v1.ConditionUnknown),
	} {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// report reverses the interfaces of a guest and sets the order of another guest's addresses.
func (w *world) report(addresses ...string) {
	w.t.Helper()
	east := w.s.Fleet.VCenter("east")
	if err := errors.Join(east.ReverseNICs("networks"), east.SetIPs("virtual-last", addresses...)); err != nil {
		w.t.Fatal(err)
	}
}

// expect checks that the CPI has done its work; otherwise the test would prove nothing.
func (w *world) expect(cpi *stack.Daemon, all []bystander) {
	w.t.Helper()
	wanted := map[string]*bystander{}
	for i := range all {
		wanted[all[i].name] = &all[i]
	}
	w.until(cpi, "the CPI has written everything to all Nodes", func(n *v1.Node) error {
		b := wanted[n.Name]
		m := w.vm(n.Name)
		region := "east"
		zone := "east-a"
		if m.VCenter == "west" {
			region = "west"
			zone = "west-a"
		}
		labels := map[string]string{
			v1.LabelTopologyRegion: region, v1.LabelFailureDomainBetaRegion: region,
			v1.LabelTopologyZone: zone, v1.LabelFailureDomainBetaZone: zone,
		}
		if !b.initializedInTree {
			system := "ubuntu"
			if b.name == "guest" {
				system = "unknown"
			}
			labels[v1.LabelInstanceType] = "vsphere-vm.cpu-4.mem-8gb.os-" + system
			labels[v1.LabelInstanceTypeStable] = labels[v1.LabelInstanceType]
		}
		for key, value := range labels {
			if n.Labels[key] != value {
				return fmt.Errorf("label %s=%q, want %q", key, n.Labels[key], value)
			}
		}
		if id := n.Spec.ProviderID; b.providerID == nil && id != m.ProviderID() || b.providerID != nil && id != b.providerID(m) {
			return fmt.Errorf("provider ID %q", id)
		}
		gets := b.gets
		if gets == "" {
			gets = fmt.Sprintf("ExternalIP=%s Hostname=%s InternalIP=%s", m.IPs[0], m.HostName, m.IPs[0])
		}
		if is := addresses(n); is != gets {
			return fmt.Errorf("addresses %q, want %q", is, gets)
		}
		if len(n.Annotations) > 0 && b.nodeIP == "" {
			return fmt.Errorf("annotations %v", n.Annotations)
		}
		return nil
	})
}

// addresses returns a Node's addresses sorted by type, with the order within a type kept. The API server reorders
// types.
func addresses(n *v1.Node) string {
	var all []string
	for _, a := range n.Status.Addresses {
		all = append(all, string(a.Type)+"="+a.Address)
	}
	slices.SortStableFunc(all, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(all, " ")
}
