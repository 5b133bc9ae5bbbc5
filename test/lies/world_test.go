package lies

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// ghostUUID is the UUID of the VM with an unreadable configuration. No vCenter reports it.
	ghostUUID = "42000000-dead-4000-8000-000000000001"
	// unknownUUID belongs to no VM.
	unknownUUID = "42000000-0000-4000-8000-00000000ffff"
	// period is the interval of the daemon's checks of Nodes that are not ready.
	period = 300 * time.Millisecond
	// timeout bounds the wait for an expected effect, which takes less than a second on an idle
	// host.
	timeout = 30 * time.Second
	// quietPeriod is the wait for effects that must not occur.
	quietPeriod = 2 * time.Second
)

// theFleet: Nodes and VMs have different names, so that neither identifies the other. The liars' VM is in another
// zone than the victims and in another vCenter than the unreadable VM. For each lie a Node joins whose VM
// (joins-0000 and so on) was not watched in detail before.
const theFleet = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - name: dc
    clusters: [{name: a, tags: {zone: east-a}, hosts: 1}]
    vms:
    - {name: spare, cluster: a}
    - {name: ghost-vm, cluster: a, uuid: ` + ghostUUID + `, unreadable: true}
- name: west
  tags: {region: west}
  datacenters:
  - name: dc
    clusters:
    - {name: a, tags: {zone: west-a}, hosts: 1}
    - {name: b, tags: {zone: west-b}, hosts: 1}
    vms:
    - {name: runs-vm, cluster: a}
    - {name: joins, count: %[1]d, cluster: a}
    - {name: liar-vm, cluster: b}
`

const theConfig = `
labels: {region: region, zone: zone}
nodes: {selector: "!` + excluded + `"}
topology:
  settle: 0s
  levels: [{label: ` + leveled + `, inventory: cluster}]
`

// A world is a cluster with Nodes that lies could harm.
type world struct {
	t      *testing.T
	s      *stack.Stack
	binary string
	config string
	d      *stack.Daemon

	// runs is a running Node. spared is not ready and its VM is unreadable, so only that doubt
	// prevents its deletion. Both must not change.
	runs, spared *v1.Node
	// joins is a joined Node without a lie, apart from the fields specific to its VM.
	joins *v1.Node
	// joiner is the VM whose Node joins during the current lie, and gone the VM of a dying Node.
	// next is the number of the lie, and dead the remaining destroyed VMs.
	joiner, gone fleet.VM
	next         int
	dead         []fleet.VM
	lies, began  int
	// certain means that all VMs are readable and the Node spared does not exist.
	certain bool
}

// newWorld starts a world for the given number of lies.
func newWorld(t *testing.T, lies int) *world {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{Fleet: fmt.Sprintf(theFleet, 2*lies+2)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, s: s, lies: lies}
	if w.binary, err = stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	// An invalid object fails the whole request, as in a vCenter that considers the ID malformed.
	s.Fleet.VCenter("west").FaultListing(&types.InvalidRequest{})
	if w.config, err = s.WriteConfig(theConfig); err != nil {
		t.Fatal(err)
	}
	// With datacenters the daemon searches for the VMs that Nodes claim.
	config := w.read(w.config)
	for _, name := range s.Fleet.Names() {
		entry := []byte("  " + name + ":\n")
		config = bytes.Replace(config, entry, append(entry, "    datacenters: [dc]\n"...), 1)
	}
	if err := os.WriteFile(w.config, config, 0o600); err != nil {
		t.Fatal(err)
	}
	w.renew()
	return w
}

func (w *world) read(file string) []byte {
	w.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return content
}

// renew resets the world to its state before the first lie.
func (w *world) renew() {
	w.t.Helper()
	if w.d != nil {
		if _, err := w.d.Stop(); err != nil {
			w.t.Errorf("stopping the daemon: %v", err)
		}
	}
	if err := w.s.Client.CoreV1().Nodes().DeleteCollection(w.ctx(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.create(cluster.NodeSpec{Name: "runs", SystemUUID: w.vm("runs-vm").UUID}.Node())
	w.dying()
	if w.certain {
		w.begin()
		return
	}
	spared := cluster.NodeSpec{Name: "spared", SystemUUID: ghostUUID, ProviderID: "vsphere://" + ghostUUID}.Node()
	// The Node was initialized earlier, with a VM in west.
	spared.Spec.Taints = nil
	spared.Annotations = map[string]string{nodeinfo.KeyVM: "west/vm-4711"}
	w.create(spared)
	if err := w.s.Cluster.SetNodeReady(w.t.Context(), "spared", v1.ConditionUnknown); err != nil {
		w.t.Fatal(err)
	}
	w.begin()
}

// begin starts the daemon and records the state without lies.
func (w *world) begin() {
	w.t.Helper()
	var err error
	if w.d, err = w.s.StartDaemon(w.binary, w.config, "--node-monitor-period="+period.String(), "--node-status-update-frequency=1s",
		// The daemon has never seen the VM of the spared Node.
		"--deletion-hold=1s"); err != nil {
		w.t.Fatal(err)
	}
	w.until("all Nodes are complete", func(nodes map[string]*v1.Node) error {
		for name, n := range nodes {
			if name != "spared" && !complete(n) {
				return fmt.Errorf("Node %s is not complete", name)
			}
		}
		return nil
	})
	w.runs = w.get("runs")
	w.spared = w.get("spared")
	// Destroy VMs while the list of watched VMs does not change: the simulator loses an update that
	// coincides with a change of its list view.
	for _, m := range w.dead {
		if err := w.s.Fleet.VCenter("east").Destroy(m.Name); err != nil {
			w.t.Fatal(err)
		}
	}
	w.advance()
	if w.joins = w.join(time.Minute); w.joins == nil || !complete(w.joins) {
		w.t.Fatalf("Node joins is not complete although no kubelet lies\n%s", tail(w.d.Log()))
	}
	w.remove("joins")
}

// advance selects the next victims' VMs.
func (w *world) advance() {
	w.t.Helper()
	w.joiner = w.vm(fmt.Sprintf("joins-%04d", w.next))
	w.gone = w.dead[0]
	w.dead = w.dead[1:]
	w.next++
}

// dying creates VMs that are destroyed later, and their Nodes. The daemon must have seen these VMs next to the
// unreadable VM; otherwise the unreadable VM could be theirs.
func (w *world) dying() {
	w.t.Helper()
	w.began++
	prefix := fmt.Sprintf("gone-%d", w.began)
	left := w.lies + 2
	if err := w.s.Fleet.VCenter("east").Create("dc", fleet.VMSpec{Name: prefix, Count: left, Cluster: "a"}); err != nil {
		w.t.Fatal(err)
	}
	w.dead = nil
	for i := range left {
		m := w.vm(fmt.Sprintf("%s-%04d", prefix, i))
		w.dead = append(w.dead, m)
		w.create(cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID}.Node())
	}
}

// join registers the Node joins and returns it when it is initialized, or its state after the timeout.
func (w *world) join(within time.Duration) *v1.Node {
	w.t.Helper()
	w.create(cluster.NodeSpec{Name: "joins", SystemUUID: w.joiner.UUID}.Node())
	return w.initialized("joins", within)
}

// truthful returns the expected state of the Node joins.
func (w *world) truthful() *v1.Node {
	n := w.joins.DeepCopy()
	n.Spec.ProviderID = w.joiner.ProviderID()
	n.Annotations[nodeinfo.KeyVM] = w.joiner.VCenter + "/" + w.joiner.MoID
	n.Annotations[nodeinfo.KeyInstanceUUID] = w.joiner.InstanceUUID
	for i, a := range n.Status.Addresses {
		if n.Status.Addresses[i].Address = w.joiner.IPs[0]; a.Type == v1.NodeHostName {
			n.Status.Addresses[i].Address = w.joiner.HostName
		}
	}
	return n
}

// complete reports whether a Node has everything that vzones writes.
func complete(n *v1.Node) bool {
	return stack.Initialized(n) && n.Annotations[nodeinfo.KeyVM] != "" && n.Annotations[nodeinfo.KeyLabels] != "" &&
		slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP })
}

// initialized waits until a Node is complete and returns it, or its state after the timeout.
func (w *world) initialized(node string, within time.Duration) *v1.Node {
	w.t.Helper()
	var now *v1.Node
	_ = w.await(within, func(nodes map[string]*v1.Node) error {
		if now = nodes[node]; now == nil || !complete(now) {
			return fmt.Errorf("%s is not initialized", node)
		}
		return nil
	})
	return now
}

// A kubelet writes to the API server with the credentials of a Node's kubelet.
type kubelet struct {
	name  string
	uuid  string
	nodes typedv1.NodeInterface
}

func (w *world) kubelet(l *lie) *kubelet {
	w.t.Helper()
	k := &kubelet{name: l.named, uuid: w.vm("liar-vm").UUID}
	if k.name == "" {
		k.name = fmt.Sprintf("liar-%d", w.next-1)
	}
	if l.homeless {
		k.uuid = unknownUUID
	}
	config, err := w.s.Cluster.KubeletConfig(k.name)
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.CloseIdleConnections)
	api, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		w.t.Fatal(err)
	}
	k.nodes = api.CoreV1().Nodes()
	return k
}

// node returns the Node as registered by an honest kubelet.
func (k *kubelet) node(name string) *v1.Node {
	return cluster.NodeSpec{Name: name, SystemUUID: k.uuid}.Node()
}

func (w *world) vm(name string) fleet.VM {
	w.t.Helper()
	m, err := w.s.Fleet.VM(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) create(n *v1.Node) {
	w.t.Helper()
	if _, err := w.s.Cluster.CreateNode(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

// get returns a Node, or nil if it does not exist.
func (w *world) get(name string) *v1.Node {
	w.t.Helper()
	n, err := w.s.Client.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := w.s.Client.CoreV1().Nodes().Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
}

// await waits until ask returns nil for the Nodes by name. After the timeout it returns the last error.
func (w *world) await(within time.Duration, ask func(map[string]*v1.Node) error) error {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	var last error
	err := w.s.Watch(ctx, "the Nodes are as expected", func(nodes []*v1.Node) bool {
		byName := make(map[string]*v1.Node, len(nodes))
		for _, n := range nodes {
			byName[n.Name] = n
		}
		last = ask(byName)
		return last == nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

func (w *world) until(what string, ask func(map[string]*v1.Node) error) {
	w.t.Helper()
	if err := w.await(time.Minute, ask); err != nil {
		w.t.Fatalf("waiting until %s: %v\n%s", what, err, tail(w.d.Log()))
	}
}

func tail(log string) string { return log[max(0, len(log)-4<<10):] }
