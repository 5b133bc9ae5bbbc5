package beside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// names is the number of Nodes at a time.
	names = 60
	// reuse is how long a name of the other provider's Node rests before another provider's Node gets it. The framework
	// deletes and patches by name; vzones adds the UID, the other provider does not.
	reuse = 5 * time.Second
	// timeout bounds the wait for the end state.
	timeout = 5 * time.Minute

	theFleet = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, clusters: [{name: c0, tags: {zone: east-c0}, hosts: 1}, {name: c1, tags: {zone: east-c1}, hosts: 1}]}
- name: west
  tags: {region: west}
  datacenters:
  - {name: dc, clusters: [{name: c0, tags: {zone: west-c0}, hosts: 1}, {name: c1, tags: {zone: west-c1}, hosts: 1}]}
`
	theConfig = `
labels: {region: region, zone: zone}
topology: {drift: update, settle: 1s}
nodes: {matchByName: false}
`
)

// A slot is a name of Nodes. The Node under the name has a VM, an instance of the other cloud, both, or neither.
type slot struct {
	name string
	// node is the UID of the Node, "" without a Node. observed may remove it: a cloud controller manager deletes Nodes.
	node       types.UID
	vm         *fleet.VCenter // nil without a VM
	uuid       string
	isOff      bool
	isInstance bool
	// wantsVM and wantsInstance are what the Node has or will have. With both, either provider may initialize it.
	wantsVM, wantsInstance bool
	isSilent               bool
	// wasTheirs is when the last Node with an instance was deleted.
	wasTheirs time.Time
}

type world struct {
	t      *testing.T
	s      *stack.Stack
	audit  string
	random *rand.Rand
	binary string
	config string
	d      *stack.Daemon

	cloud  *cloud
	client kubernetes.Interface
	stop   func() // stops the other cloud controller manager

	slots  []*slot
	played map[string]int

	mu sync.Mutex
	// joined are the owners of Nodes that joined with a provider ID.
	joined map[types.UID]owner
	// leftovers are Nodes of the other provider with data of vzones, since when.
	leftovers map[types.UID]time.Time
	failed    []string
}

func newWorld(t *testing.T, binary string, random *rand.Rand) *world {
	t.Helper()
	w := &world{
		t: t, random: random, binary: binary, cloud: newCloud(), played: map[string]int{},
		joined: map[types.UID]owner{}, leftovers: map[types.UID]time.Time{},
	}
	for i := range names {
		w.slots = append(w.slots, &slot{name: fmt.Sprintf("n-%03d", i)})
	}
	var options cluster.Options
	options, w.audit = audited(t)
	var err error
	if w.s, err = stack.Start(t.Context(), stack.Options{Fleet: theFleet, Cluster: options}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if w.config, err = w.s.WriteConfig(theConfig); err != nil {
		t.Fatal(err)
	}
	w.client = w.otherClient()
	w.watch()
	w.startOurs()
	w.startTheirs()
	t.Cleanup(func() { w.stop() })
	return w
}

// otherClient returns the client of the other cloud controller manager.
func (w *world) otherClient() kubernetes.Interface {
	w.t.Helper()
	ctx := w.t.Context()
	there := metav1.ObjectMeta{Name: theirName, Namespace: metav1.NamespaceSystem}
	_, err := w.s.Client.CoreV1().ServiceAccounts(there.Namespace).Create(ctx, &v1.ServiceAccount{ObjectMeta: there}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.s.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: theirName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: there.Namespace, Name: there.Name}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	path, err := w.s.Cluster.ServiceAccountKubeconfig(ctx, there.Namespace, there.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		w.t.Fatal(err)
	}
	config.QPS, config.Burst = 200, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

func (w *world) startOurs() {
	w.t.Helper()
	var err error
	w.d, err = w.s.StartDaemon(w.binary, w.config, "--node-monitor-period=1s", "--node-status-update-frequency=2s", "--deletion-hold=1s", "--tag-refresh=5s")
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) startTheirs() {
	w.t.Helper()
	var err error
	if w.stop, err = w.cloud.run(w.client); err != nil {
		w.t.Fatal(err)
	}
}

// watch sees each version of a Node.
func (w *world) watch() {
	_, hasSynced, stop := w.s.FollowNodes(w.t.Context(), cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.see(o.(*v1.Node)) },
		UpdateFunc: func(_, o any) { w.see(o.(*v1.Node)) },
		DeleteFunc: w.gone,
	})
	w.t.Cleanup(stop)
	if !cache.WaitForCacheSync(w.t.Context().Done(), hasSynced) {
		w.t.Fatal(context.Cause(w.t.Context()))
	}
}

func (w *world) see(n *v1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	traces := tracesOf(n)
	if !strings.HasPrefix(n.Spec.ProviderID, theirScheme) || len(traces) == 0 {
		delete(w.leftovers, n.UID)
		return
	}
	if slices.ContainsFunc(traces, func(trace string) bool { return trace != nodeinfo.TopologyReady }) {
		w.failed = append(w.failed, fmt.Sprintf("Node %s of the other provider has %v", n.Name, traces))
	}
	// vzones may have written its condition while the Node had no provider ID.
	if _, known := w.leftovers[n.UID]; !known {
		w.leftovers[n.UID] = time.Now()
	}
}

func (w *world) gone(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	n := o.(*v1.Node)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.leftovers, n.UID)
	for _, s := range w.slots {
		if s.node == n.UID {
			s.node = ""
			if strings.HasPrefix(n.Spec.ProviderID, theirScheme) || s.isInstance {
				s.wasTheirs = time.Now()
			}
		}
	}
}

// tracesOf lists what vzones has written to a Node.
func tracesOf(n *v1.Node) []string {
	var traces []string
	for key := range n.Annotations {
		if strings.HasPrefix(key, "vzones/") {
			traces = append(traces, key)
		}
	}
	for key := range n.Labels {
		if strings.HasPrefix(key, "vzones.") {
			traces = append(traces, key)
		}
	}
	for _, taint := range n.Spec.Taints {
		if strings.HasPrefix(taint.Key, "vzones/") {
			traces = append(traces, taint.Key)
		}
	}
	if report.ConditionOf(n).Type != "" {
		traces = append(traces, nodeinfo.TopologyReady)
	}
	return traces
}

func (w *world) isFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, since := range w.leftovers {
		if time.Since(since) > lag {
			w.failed = append(w.failed, fmt.Sprintf("the Node with the UID %s of the other provider has had a condition of vzones since %s", uid, since.Format(time.TimeOnly)))
		}
	}
	return len(w.failed) > 0
}

func (w *world) hasNode(s *slot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.node != ""
}

func (w *world) oneOf(n int) bool { return w.random.IntN(n) == 0 }

// event plays a random event.
func (w *world) event() {
	w.t.Helper()
	s := w.slots[w.random.IntN(len(w.slots))]
	kind := ""
	switch n := w.random.IntN(1000); {
	case n < 2:
		kind = "vzones restarts"
		if _, err := w.d.Stop(); err != nil {
			w.t.Fatalf("stopping the daemon: %v", err)
		}
		w.startOurs()
	case n < 4:
		kind = "the other cloud controller manager restarts"
		w.stop()
		w.startTheirs()
	case n < 24:
		kind = w.outage(n)
	case !w.hasNode(s):
		kind = w.join(s)
	default:
		kind = w.change(s)
	}
	w.played[kind]++
	select {
	case <-time.After(time.Duration(w.random.IntN(20)) * time.Millisecond):
	case <-w.t.Context().Done():
		w.t.Fatal(context.Cause(w.t.Context()))
	}
}

// outage ends the outages of a vCenter and of the other cloud four times as often as they begin: both delay deletions.
func (w *world) outage(n int) string {
	v := w.s.Fleet.VCenters()[n%2]
	isEnd := !w.oneOf(5)
	switch {
	case n%4 < 2 && isEnd:
		w.cloud.change(func() { w.cloud.isDown = false })
		return "the other cloud returns"
	case n%4 < 2:
		w.cloud.change(func() { w.cloud.isDown = true })
		return "the other cloud fails"
	case isEnd:
		w.check(v.Recover())
		return "a vCenter returns"
	}
	[]func(){v.Refuse, v.Hang, v.Drop}[w.random.IntN(3)]()
	return "a vCenter fails"
}

// join creates a Node as its kubelet does. Its VM or instance may come later, and may have been left by the previous Node.
func (w *world) join(s *slot) string {
	w.t.Helper()
	kind := "a Node without a VM or an instance joins"
	var wantsVM, wantsInstance bool
	switch n := w.random.IntN(20); {
	case n < 8:
		kind = "a Node with a VM joins"
		wantsVM = true
	case n < 16:
		kind = "a Node with an instance joins"
		wantsInstance = true
	case n < 18:
		kind = "a Node with a VM and an instance joins"
		wantsVM, wantsInstance = true, true
	}
	if !wantsInstance && time.Since(s.wasTheirs) < reuse {
		return "a name rests"
	}
	if !wantsVM || w.oneOf(2) {
		w.destroy(s)
	}
	w.terminate(s)
	spec := cluster.NodeSpec{Name: s.name, SystemUUID: w.newUUID()}
	switch {
	case wantsVM && s.vm == nil:
		s.uuid = spec.SystemUUID
		if !w.oneOf(4) {
			w.create(s)
		}
	case wantsVM:
		spec.SystemUUID = s.uuid
	}
	if wantsInstance && !w.oneOf(4) {
		w.launch(s)
	}
	if wantsVM && w.oneOf(3) {
		spec.SystemUUID = fleet.VM{UUID: spec.SystemUUID}.SwappedUUID()
	}
	if !wantsVM && w.oneOf(3) {
		spec.SystemUUID = ""
	}
	if w.oneOf(6) {
		switch {
		case wantsVM && (!wantsInstance || w.oneOf(2)):
			spec.ProviderID = ourScheme + s.uuid
		case wantsInstance && s.isInstance:
			spec.ProviderID = w.cloud.instances[s.name].id
		}
	}
	s.wantsVM, s.wantsInstance, s.isSilent = wantsVM, wantsInstance, false
	w.mu.Lock()
	defer w.mu.Unlock()
	var n *v1.Node
	w.retry(func() (err error) {
		if n, err = w.s.Cluster.CreateNode(w.t.Context(), spec.Node()); apierrors.IsAlreadyExists(errors.Unwrap(err)) {
			// The answer to an earlier try was lost.
			n, err = w.s.Client.CoreV1().Nodes().Get(w.t.Context(), s.name, metav1.GetOptions{})
		}
		return err
	})
	s.node = n.UID
	if spec.ProviderID != "" {
		scheme, _, _ := strings.Cut(spec.ProviderID, "://")
		w.joined[n.UID] = owner{scheme + "://", n.CreationTimestamp.Time}
	}
	return kind
}

// change changes a Node or what is behind it.
func (w *world) change(s *slot) string {
	w.t.Helper()
	switch n := w.random.IntN(20); {
	case n < 3:
		w.setReady(s, !s.isSilent)
		return "a kubelet sends a heartbeat"
	case n < 6:
		w.setReady(s, s.isSilent)
		return "a kubelet falls silent or returns"
	case n < 8:
		w.retry(func() error { return w.s.Client.CoreV1().Nodes().Delete(w.t.Context(), s.name, metav1.DeleteOptions{}) })
		return "a Node is deleted"
	case s.wantsVM && s.vm == nil && n < 14:
		w.create(s)
		return "a VM appears"
	case s.wantsInstance && !s.isInstance && n < 14:
		w.launch(s)
		return "an instance appears"
	case s.vm != nil && (!s.isInstance || n%2 == 0):
		return w.changeVM(s, n)
	case s.isInstance:
		return w.changeInstance(s, n)
	}
	w.setReady(s, true)
	return "a kubelet sends a heartbeat"
}

func (w *world) changeVM(s *slot, n int) string {
	switch {
	case n < 11:
		// The name of a host is that of its cluster and a number.
		w.check(s.vm.MoveVM(s.name, fmt.Sprintf("c%d-host-1", w.random.IntN(2))))
		return "a VM moves"
	case n < 17 && s.isOff:
		w.check(s.vm.PowerOn(s.name))
		s.isOff = false
		w.setReady(s, true)
		return "a VM is powered on"
	case n < 17:
		w.check(s.vm.PowerOff(s.name))
		s.isOff = true
		w.setReady(s, false)
		return "a VM is powered off"
	}
	w.destroy(s)
	w.setReady(s, false)
	s.wantsVM = false
	return "a VM is destroyed"
}

func (w *world) changeInstance(s *slot, n int) string {
	if n < 17 {
		var isStopped bool
		w.cloud.change(func() {
			i := w.cloud.instances[s.name]
			i.isStopped = !i.isStopped
			isStopped = i.isStopped
		})
		w.setReady(s, !isStopped)
		return "an instance stops or starts"
	}
	w.terminate(s)
	w.setReady(s, false)
	s.wantsInstance = false
	return "an instance is terminated"
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newUUID() string {
	var u uuid.UUID
	for i := range u {
		u[i] = byte(w.random.IntN(256))
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u.String()
}

func (w *world) create(s *slot) {
	w.t.Helper()
	s.vm = w.s.Fleet.VCenters()[w.random.IntN(2)]
	s.isOff = false
	w.check(s.vm.Create("dc", fleet.VMSpec{Name: s.name, UUID: s.uuid, Cluster: fmt.Sprintf("c%d", w.random.IntN(2))}))
}

func (w *world) destroy(s *slot) {
	w.t.Helper()
	if s.vm != nil {
		w.check(s.vm.Destroy(s.name))
		s.vm = nil
	}
}

func (w *world) launch(s *slot) {
	w.cloud.create(s.name)
	s.isInstance = true
}

func (w *world) terminate(s *slot) {
	w.cloud.change(func() { delete(w.cloud.instances, s.name) })
	s.isInstance = false
}

// setReady is the kubelet's, or the control plane's after a silence. The Node may be gone.
func (w *world) setReady(s *slot, isReady bool) {
	w.t.Helper()
	s.isSilent = !isReady
	status := v1.ConditionUnknown
	if isReady {
		status = v1.ConditionTrue
	}
	w.retry(func() error { return w.s.Cluster.SetNodeReady(w.t.Context(), s.name, status) })
}

// retry repeats a request until it succeeds or the Node does not exist: a busy API server may not answer in time.
func (w *world) retry(request func() error) {
	w.t.Helper()
	var err error
	for range 10 {
		if err = request(); err == nil || apierrors.IsNotFound(err) || apierrors.IsNotFound(errors.Unwrap(err)) {
			return
		}
	}
	w.t.Fatal(err)
}

// settle ends all outages, starts what is stopped, and waits until each Node has what its provider gives it.
func (w *world) settle() {
	w.t.Helper()
	for _, v := range w.s.Fleet.VCenters() {
		w.check(v.Recover())
	}
	w.cloud.change(func() {
		w.cloud.isDown = false
		for _, i := range w.cloud.instances {
			i.isStopped = false
		}
	})
	for _, s := range w.slots {
		if s.vm != nil && s.isOff {
			w.check(s.vm.PowerOn(s.name))
		}
	}
	var unmet []string
	err := wait.PollUntilContextTimeout(w.t.Context(), 2*time.Second, timeout, true, func(context.Context) (bool, error) {
		unmet = nil
		for _, s := range w.slots {
			if !w.hasNode(s) {
				continue
			}
			n, err := w.s.Client.CoreV1().Nodes().Get(w.t.Context(), s.name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				continue
			} else if err != nil {
				return false, err
			}
			// A ready Node is never deleted, so a kubelet is silent without the instance that its provider ID is about.
			runs := s.isInstance || s.wantsInstance
			if !strings.HasPrefix(n.Spec.ProviderID, theirScheme) {
				runs = runs || s.vm != nil || s.wantsVM
			}
			// The heartbeat also makes the other provider's controller try again.
			w.setReady(s, runs)
			if err := w.judgeNode(s, n); err != nil {
				unmet = append(unmet, fmt.Sprintf("Node %s, VM in %v, instance %t: %v", s.name, s.vm, s.isInstance, err))
			}
		}
		return len(unmet) == 0 && !w.isFailed(), nil
	})
	if err != nil {
		w.t.Errorf("the end state: %v: %d Nodes differ: %s", err, len(unmet), strings.Join(unmet[:min(5, len(unmet))], "\n"))
	}
}

// judgeNode returns an error unless a Node has its end state.
func (w *world) judgeNode(s *slot, n *v1.Node) error {
	scheme := ""
	if before, _, ok := strings.Cut(n.Spec.ProviderID, "://"); ok {
		scheme = before + "://"
	}
	traces := tracesOf(n)
	switch {
	case scheme == theirScheme:
		isTheirs := stack.Initialized(n) && n.Labels[v1.LabelTopologyZone] == theirZone
		if s.isInstance && !isTheirs || !s.isInstance && !s.wantsInstance || len(traces) > 0 {
			return fmt.Errorf("it is to be the other provider's: taints %v, zone %q, of vzones %v, instance %t", n.Spec.Taints, n.Labels[v1.LabelTopologyZone], traces, s.isInstance)
		}
	case scheme == ourScheme && s.vm != nil:
		m, err := s.vm.VM(s.name)
		if err != nil {
			return err
		}
		want := s.vm.Name() + "-" + m.Cluster
		if !stack.Initialized(n) || n.Spec.ProviderID != m.ProviderID() || n.Labels[v1.LabelTopologyZone] != want || n.Annotations[nodeinfo.KeyVM] != m.VCenter+"/"+m.MoID {
			return fmt.Errorf("it is to be in zone %s with %s: %s, taints %v, zone %q, annotations %v", want, m.ProviderID(), n.Spec.ProviderID, n.Spec.Taints, n.Labels[v1.LabelTopologyZone], n.Annotations)
		}
	case scheme == ourScheme:
		// vzones deletes the Node if it has found the VM before.
	case s.vm != nil || s.isInstance:
		return fmt.Errorf("no provider has initialized it: taints %v", n.Spec.Taints)
	case stack.Initialized(n):
		return errors.New("it has neither a VM nor an instance, but no taint")
	}
	return nil
}

// judge reads the audit log and reports all violations.
func (w *world) judge() {
	w.t.Helper()
	w.stop()
	w.stop = func() {}
	if _, err := w.d.Stop(); err != nil {
		w.t.Errorf("stopping the daemon: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	j := &judge{owners: maps.Clone(w.joined), wrote: map[string]int{}}
	w.check(j.read(w.audit))
	for _, violation := range slices.Concat(w.failed, j.failed[:min(10, len(j.failed))]) {
		w.t.Error(violation)
	}
	for _, counts := range []map[string]int{w.played, j.wrote} {
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			w.t.Logf("%6d %s", counts[what], what)
		}
	}
	for _, what := range []string{"cloud-controller-manager update nodes", "cloud-controller-manager delete nodes", theirName + " update nodes", theirName + " delete nodes", cleanups} {
		if j.wrote[what] == 0 {
			w.t.Errorf("the events caused no %s", what)
		}
	}
	if w.t.Failed() {
		log := w.d.Log()
		w.t.Logf("the end of the daemon's log:\n%s", log[max(0, len(log)-4<<10):])
	}
}
