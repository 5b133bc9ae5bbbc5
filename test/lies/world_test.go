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
	// ghostUUID is that of the machine whose configuration cannot be read, which no
	// vCenter tells.
	ghostUUID = "42000000-dead-4000-8000-000000000001"
	// nobodysUUID is that of no machine.
	nobodysUUID = "42000000-0000-4000-8000-00000000ffff"
	// period is how often the daemon looks at Nodes that are not ready.
	period = 300 * time.Millisecond
	// timeout is how long something may take that has to happen. It happens within a
	// second, unless the machine is busy.
	timeout = 30 * time.Second
	// quietPeriod is how long what must not happen is waited for.
	quietPeriod = 2 * time.Second
)

// theFleet: Nodes and machines have different names, so that neither gives the other away.
// Liars have a machine in another zone than their victims, and another vCenter than the
// unreadable machine. Beside each lie a Node joins whose machine was not followed before, one
// of joins-0000 and so on.
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

// A world is a cluster with Nodes that have something to lose.
type world struct {
	t      *testing.T
	s      *stack.Stack
	binary string
	config string
	d      *stack.Daemon

	// runs is a running Node, and spared one that is not ready and whose machine cannot
	// be read: nothing but that doubt keeps it from being deleted. Both are as they have
	// to stay.
	runs, spared *v1.Node
	// joins is what becomes of a Node that joins while nobody lies, but for what is its
	// machine's alone.
	joins *v1.Node
	// joiner is the machine whose Node joins beside the lie that is played, gone the one
	// of a Node that dies. next is the number of that lie, and dead are the further
	// machines that were destroyed.
	joiner, gone fleet.Machine
	next         int
	dead         []fleet.Machine
	lies, began  int
	// certain says that nothing is unreadable any more. Then there is no Node spared.
	certain bool
}

// newWorld starts a world in which so many lies can be played.
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
	// What a list view cannot have ends the whole request, as in a vCenter that takes an
	// ID for malformed.
	s.Fleet.VCenter("west").FaultListing(&types.InvalidRequest{})
	if w.config, err = s.WriteConfig(theConfig); err != nil {
		t.Fatal(err)
	}
	// With datacenters the daemon asks for what Nodes say that their machines are.
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

// renew makes the world as it was before anybody lied.
func (w *world) renew() {
	w.t.Helper()
	if w.d != nil {
		if _, err := w.d.Stop(); err != nil {
			w.t.Errorf("the daemon: %v", err)
		}
	}
	if err := w.s.Client.CoreV1().Nodes().DeleteCollection(w.ctx(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.create(cluster.NodeSpec{Name: "runs", SystemUUID: w.machine("runs-vm").UUID}.Node())
	w.dying()
	if w.certain {
		w.begin()
		return
	}
	spared := cluster.NodeSpec{Name: "spared", SystemUUID: ghostUUID, ProviderID: "vsphere://" + ghostUUID}.Node()
	// The Node was initialized long ago, with a VM in west.
	spared.Spec.Taints = nil
	spared.Annotations = map[string]string{nodeinfo.KeyMachine: "west/vm-4711"}
	w.create(spared)
	if err := w.s.Cluster.SetNodeReady(w.t.Context(), "spared", v1.ConditionUnknown); err != nil {
		w.t.Fatal(err)
	}
	w.begin()
}

// begin starts the daemon and remembers how everything is while nobody lies.
func (w *world) begin() {
	w.t.Helper()
	var err error
	if w.d, err = w.s.StartDaemon(w.binary, w.config, "--node-monitor-period="+period.String(), "--node-status-update-frequency=1s",
		// The VM of the spared Node was never seen.
		"--deletion-hold=1s"); err != nil {
		w.t.Fatal(err)
	}
	w.until("all Nodes are initialized and told where their VMs are", func(nodes map[string]*v1.Node) error {
		for name, n := range nodes {
			if name != "spared" && !complete(n) {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
	w.runs = w.get("runs")
	w.spared = w.get("spared")
	// Here, where no list of machines changes: the simulator loses what happens to a
	// machine in the moment in which its list view does.
	for _, m := range w.dead {
		if err := w.s.Fleet.VCenter("east").Destroy(m.Name); err != nil {
			w.t.Fatal(err)
		}
	}
	w.advance()
	if w.joins = w.join(time.Minute); w.joins == nil || !complete(w.joins) {
		w.t.Fatalf("no Node joins although nobody lies\n%s", tail(w.d.Log()))
	}
	w.remove("joins")
}

// advance takes the next machines for victims.
func (w *world) advance() {
	w.t.Helper()
	w.joiner = w.machine(fmt.Sprintf("joins-%04d", w.next))
	w.gone = w.dead[0]
	w.dead = w.dead[1:]
	w.next++
}

// dying makes machines that are to be destroyed, and their Nodes. The daemon has to see
// them beside the unreadable machine, or that may be theirs.
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
		m := w.machine(fmt.Sprintf("%s-%04d", prefix, i))
		w.dead = append(w.dead, m)
		w.create(cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID}.Node())
	}
}

// join registers the Node joins, and returns it when it is initialized, or as it is when
// it was not in time.
func (w *world) join(within time.Duration) *v1.Node {
	w.t.Helper()
	w.create(cluster.NodeSpec{Name: "joins", SystemUUID: w.joiner.UUID}.Node())
	return w.initialized("joins", within)
}

// truthful is what the Node joins has to become.
func (w *world) truthful() *v1.Node {
	n := w.joins.DeepCopy()
	n.Spec.ProviderID = w.joiner.ProviderID()
	n.Annotations[nodeinfo.KeyMachine] = w.joiner.VCenter + "/" + w.joiner.MoID
	n.Annotations[nodeinfo.KeyInstanceUUID] = w.joiner.InstanceUUID
	for i, a := range n.Status.Addresses {
		if n.Status.Addresses[i].Address = w.joiner.IPs[0]; a.Type == v1.NodeHostName {
			n.Status.Addresses[i].Address = w.joiner.HostName
		}
	}
	return n
}

// complete reports whether a Node has all that it gets.
func complete(n *v1.Node) bool {
	return stack.Initialized(n) && n.Annotations[nodeinfo.KeyMachine] != "" && n.Annotations[nodeinfo.KeyLabels] != "" &&
		slices.ContainsFunc(n.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP })
}

// initialized waits until a Node is initialized and has its addresses and annotations,
// which come later, and returns it as it is then, or at the end of that time.
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

// A kubelet writes to the API server as the kubelet of a Node does.
type kubelet struct {
	name  string
	uuid  string
	nodes typedv1.NodeInterface
}

func (w *world) kubelet(l *lie) *kubelet {
	w.t.Helper()
	k := &kubelet{name: l.named, uuid: w.machine("liar-vm").UUID}
	if k.name == "" {
		k.name = fmt.Sprintf("liar-%d", w.next-1)
	}
	if l.homeless {
		k.uuid = nobodysUUID
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

// node is the Node as an honest kubelet registers it.
func (k *kubelet) node(name string) *v1.Node {
	return cluster.NodeSpec{Name: name, SystemUUID: k.uuid}.Node()
}

func (w *world) machine(name string) fleet.Machine {
	w.t.Helper()
	m, err := w.s.Fleet.Machine(name)
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

// get returns a Node, nil if there is none.
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

// await waits until ask returns nil of all Nodes, by name, and returns its last error if
// it does not in time.
func (w *world) await(within time.Duration, ask func(map[string]*v1.Node) error) error {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	var last error
	err := w.s.Watch(ctx, "the answer is right", func(nodes []*v1.Node) bool {
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
		w.t.Fatalf("%s: not so: %v\n%s", what, err, tail(w.d.Log()))
	}
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-4<<10):] }
