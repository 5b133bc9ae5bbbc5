package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"vzones/config"
	"vzones/internal/signal"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// deletionHold is --deletion-hold.
const deletionHold = 20 * time.Second

// waitFor is the time that a Fleet waits for a silent vCenter.
const waitFor = 2 * time.Second

// orderPlay plays an order: a Fleet whose vCenters answer as planned, and an API server that outlives the daemon.
type orderPlay struct {
	*testing.T
	*order
	client *fake.Clientset
	began  time.Time

	mu          sync.Mutex
	states      []inventory.State
	readings    []inventory.Reading
	homes       []map[string]inventory.Reply
	named       []map[string]bool
	subscribers []signal.Signal
	// life counts the daemons. Results of earlier ones are dropped.
	life int
	// taints counts the writes of out-of-service taints.
	taints *taintCounts
}

type taintCounts struct{ added, removed int }

var _ Fleet = (*orderPlay)(nil)

func vcenterName(i int) string { return fmt.Sprintf("vc-%d", i) }

// homeID is the managed object ID of a Node's VM in every vCenter.
func (o *order) homeID(i int) string { return fmt.Sprint("vm-", o.first(i)+1) }

func nodeUUID(i int) string { return fmt.Sprintf("422e4956-ad22-1139-6d72-00000000000%d", i) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// snapshot returns the current snapshot of a vCenter.
func (p *orderPlay) snapshot(vcenter int) *inventory.Snapshot {
	var vms []*inventory.VM
	for i, n := range p.nodes {
		if n.twin > 0 {
			continue // its VMs are those of another Node
		}
		host := func(m *inventory.VM) {
			m.HostName = fmt.Sprint("node-", i)
			m.Name = fmt.Sprint("node-", i)
			m.Ref.ID = p.homeID(i)
		}
		here, address := in(fmt.Sprintf("r%d", vcenter), fmt.Sprintf("z%d", p.zoneNow(vcenter))), withNICs("a="+n.address(vcenter, i))
		if p.isDestroyed(i) {
			n = n.after()
		}
		instance := func(m *inventory.VM) { m.InstanceUUID = mustUUID(n.instanceUUID(vcenter, i)) }
		power := n.vms[vcenter]
		switch {
		case n.hidden && n.home == vcenter, p.isLacking(i, vcenter):
		case power == on:
			vms = append(vms, newVM(nodeUUID(i), here, address, host, instance))
		case power == off:
			vms = append(vms, newVM(nodeUUID(i), here, withPower(inventory.PowerOff), withoutAddress, host, instance))
		}
	}
	s := stateOf(vcenterName(vcenter), vms...).Snapshot
	s.Instance = fmt.Sprintf("instance-%d", vcenter)
	if len(p.lies) > 0 {
		s.Recorded = map[string]inventory.Entry{ghost: {ID: ghost, Unreadable: true}}
	}
	s.Homes = maps.Clone(p.homes[vcenter])
	names := map[string][]inventory.NameEntry{}
	for name := range p.named[vcenter] {
		names[name] = s.Names[name]
	}
	s.Names = names
	return s
}

// address is the address of the i-th Node's VM in a vCenter.
func (n nodeFact) address(vcenter, i int) string {
	switch {
	case n.shares:
		return "10.0.8.1"
	case n.evidence == sameAddress:
		vcenter = 9
	}
	return fmt.Sprintf("10.0.%d.%d", vcenter, i+1)
}

// instanceUUID is the instance UUID of the i-th Node's VM in a vCenter.
func (n nodeFact) instanceUUID(vcenter, i int) string {
	if n.evidence == sameInstanceUUID {
		vcenter = 9
	}
	return fmt.Sprintf("522e4956-ad22-1139-6d72-0000000000%d%d", vcenter, i)
}

// isLacking reports whether a vCenter does not know a Node's VM yet after a restore from a backup.
func (p *orderPlay) isLacking(i, vcenter int) bool {
	return p.nodes[i].home == vcenter && time.Since(p.began) < seconds(p.nodes[i].lacksUntil)
}

// zoneNow is the current zone of a vCenter's VMs.
func (p *orderPlay) zoneNow(vcenter int) int {
	if vcenter == p.move.vcenter && time.Since(p.began) >= seconds(p.move.at) {
		return vcenter + moved
	}
	return vcenter
}

// errPending is the error of a vCenter that is being read again.
var errPending = errors.New("it is being read again")

// readAgain makes a vCenter be read again for a new configuration while its VMs move to another zone.
func (p *orderPlay) readAgain() {
	m := p.move
	p.mu.Lock()
	mine := p.life
	p.mu.Unlock()
	p.change(m.vcenter, func(s *inventory.State) {
		if s.Snapshot != nil && s.Err == nil {
			s.Err = errPending
			s.Cause = inventory.CausePending
			s.Outdated = true
			s.LastContact = time.Now()
		}
	})
	time.Sleep(seconds(m.lasts))
	p.change(m.vcenter, func(s *inventory.State) {
		if mine == p.life && errors.Is(s.Err, errPending) {
			*s = inventory.State{VCenter: s.VCenter, Snapshot: p.snapshot(m.vcenter), LastContact: time.Now()}
		}
	})
}

// isDestroyed reports whether the VM of a Node was destroyed and has not returned.
func (p *orderPlay) isDestroyed(i int) bool {
	n := p.nodes[i]
	age := time.Since(p.began)
	return n.dies >= 0 && age >= seconds(n.diesAt) && (n.returnsAt == 0 || age < seconds(n.returnsAt))
}

// exists reports whether a VM of a Node exists, whatever the vCenters show.
func (p *orderPlay) exists(i int) bool {
	n := p.nodes[p.first(i)]
	if p.isDestroyed(p.first(i)) {
		n = n.after()
	}
	return p.nodes[i].hidden || slices.ContainsFunc(n.vms, func(power power) bool { return power != none })
}

// watchTaints checks that no Node whose VM exists gets the out-of-service taint, and detaches volumes as
// kube-controller-manager does.
func (p *orderPlay) watchTaints() {
	p.client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch := a.(clienttesting.PatchAction)
		name := patch.GetName()
		var after v1.Node
		if err := json.Unmarshal(patch.GetPatch(), &after); err != nil {
			return true, nil, err
		}
		before, err := p.client.Tracker().Get(a.GetResource(), "", name)
		if err != nil || !strings.Contains(string(patch.GetPatch()), `"taints"`) {
			return false, nil, nil //nolint:nilerr // the tracker answers
		}
		_, hadTaint := nodeinfo.OutOfServiceTaint(before.(*v1.Node))
		_, hasTaint := nodeinfo.OutOfServiceTaint(&after)
		var i int
		isLiar := strings.HasPrefix(name, "liar-")
		if _, err := fmt.Sscanf(name, "node-%d", &i); err != nil && !isLiar {
			p.Error(err)
		}
		switch {
		case hasTaint && !hadTaint:
			p.taints.added++
			if isLiar || p.exists(i) || !p.outOfService {
				p.Errorf("after %v, %s gets the out-of-service taint, but its VM exists or the key is not set", time.Since(p.began), name)
			}
			time.AfterFunc(seconds(p.nodes[i].detachedAfter), func() { p.update(i, func(n *v1.Node) { n.Status.VolumesAttached = nil }) })
		case hadTaint && !hasTaint:
			p.taints.removed++
		}
		return false, nil, nil
	})
}

func (p *orderPlay) States() []inventory.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := slices.Clone(p.states)
	for i := range now {
		if now[i].Snapshot != nil && now[i].Err == nil {
			now[i].LastContact = time.Now()
		}
	}
	return now
}

// Generation is constant: no vCenter is added or removed.
func (p *orderPlay) Generation() uint64 { return 1 }

// AskHome answers a little later.
func (p *orderPlay) AskHome(vcenter, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.homes {
		if _, asked := p.homes[i][id]; asked || vcenter != vcenterName(i) {
			continue
		}
		p.searchAfter(0.05, i, func() {
			p.homes[i][id] = inventory.Gone
			for j, n := range p.nodes {
				if n.hidden && n.home == i && id == p.homeID(j) {
					p.homes[i][id] = inventory.Hidden
				}
			}
		})
	}
}

// ReadTags does nothing: tag names are never too old.
func (p *orderPlay) ReadTags(string) {}

func (p *orderPlay) Subscribe() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := signal.New()
	p.subscribers = append(p.subscribers, ch)
	return ch
}

// change changes the state of a vCenter and notifies subscribers.
func (p *orderPlay) change(vcenter int, change func(*inventory.State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.states[vcenter])
	for _, ch := range p.subscribers {
		ch.Notify()
	}
}

// Follow makes the vCenters search for names.
func (p *orderPlay) Follow(ids []inventory.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, lag := range p.nameLag {
		p.searchAfter(lag, i, func() {
			for _, id := range ids {
				if len(id.UUIDs) == 0 {
					p.named[i][id.Name] = true
				}
			}
		})
	}
}

// searchAfter marks a vCenter as searched later, unless the daemon is restarted before.
func (p *orderPlay) searchAfter(lag float64, vcenter int, done func()) {
	mine := p.life
	time.AfterFunc(max(seconds(lag), time.Nanosecond), func() {
		p.mu.Lock()
		current := mine == p.life
		if current {
			done()
		}
		p.mu.Unlock()
		if current {
			p.reread(vcenter)
		}
	})
}

func (p *orderPlay) Probe(string) { p.change(0, func(*inventory.State) {}) }

func (p *orderPlay) SearchOutside(context.Context, inventory.Identity) error { return nil }

// ConfirmAbsent asks the vCenters that answer now.
func (p *orderPlay) ConfirmAbsent(_ context.Context, id inventory.Identity) error {
	p.mu.Lock()
	readings := slices.Clone(p.readings)
	p.mu.Unlock()
	for i, s := range p.States() {
		if s.Err != nil || s.Snapshot == nil {
			return errors.New("no answer")
		}
		if readings[i].CheckHold(id, deletionHold) != nil {
			return topology.Errorf(topology.ErrUnknown, "vCenter %q: %w", s.VCenter, inventory.ErrHeld)
		}
		for j, n := range p.nodes {
			if p.isDestroyed(j) {
				n = n.after()
			}
			if n.vms[i] != none && !p.isLacking(j, i) && slices.Contains(id.UUIDs, mustUUID(nodeUUID(p.first(j)))) {
				return errors.New("it is there")
			}
		}
	}
	return nil
}

// playOrder plays an order and checks the ends of its Nodes.
func playOrder(t *testing.T, seed uint64, o *order, taints *taintCounts) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &orderPlay{T: t, order: o, client: fake.NewClientset(), began: time.Now(), taints: taints}
		p.watchTaints()
		for i, n := range o.nodes {
			for flip, at := range n.flips {
				time.AfterFunc(seconds(at), func() { p.setSilent(i, n.silent != ((len(n.flips)-flip-1)%2 == 1)) })
			}
			if n.lacksUntil > 0 {
				time.AfterFunc(seconds(n.lacksUntil), func() { p.reread(n.home) })
			}
			if n.dies >= 0 {
				time.AfterFunc(seconds(n.diesAt), func() { p.reread(n.dies) })
			}
			if n.returnsAt > 0 {
				time.AfterFunc(seconds(n.returnsAt), func() { p.reread(n.dies) })
			}
			if n.runs || o.created[i] <= 0 {
				p.create(i)
				continue
			}
			time.AfterFunc(seconds(o.created[i]), func() { p.create(i) })
		}
		if o.move.vcenter >= 0 {
			time.AfterFunc(seconds(o.move.at), p.readAgain)
		}
		for i := range o.lies {
			p.lie(i)
		}
		for i, l := range o.lives {
			last := i == len(o.lives)-1
			if last {
				// Long enough for a Node to outlive its home.
				l.lasts = max(seconds(l.lasts), 5*time.Minute-time.Since(p.began), 4*time.Minute).Seconds()
			}
			p.runDaemon(l, last)
		}
		if t.Failed() {
			t.Errorf("play it again with -orders.count=1 -orders.seed=%d: %+v", seed, *o)
		}
	})
}

// runDaemon runs a daemon. After the last one the ends are checked.
func (p *orderPlay) runDaemon(l life, last bool) {
	p.mu.Lock()
	p.life++
	p.states = nil
	p.readings = make([]inventory.Reading, len(l.plans))
	p.named = nil
	p.homes = nil
	p.subscribers = nil
	cfg := testConfig()
	cfg.VCenters = nil
	for i := range l.plans {
		p.states = append(p.states, inventory.State{VCenter: vcenterName(i)})
		p.named = append(p.named, map[string]bool{})
		p.homes = append(p.homes, map[string]inventory.Reply{})
		cfg.VCenters = append(cfg.VCenters, config.VCenter{Name: vcenterName(i), IPFamilies: []string{"ipv4"}})
	}
	p.mu.Unlock()
	cfg.Topology.Drift = config.DriftUpdate
	cfg.Topology.Settle = time.Second
	cfg.Topology.Backfill = true
	if p.outOfService {
		cfg.OutOfService = config.OutOfServiceGone
	}
	stop := p.daemon(cfg)
	defer stop()
	passed := time.Duration(0)
	for _, e := range p.events(l) {
		if e.at > seconds(l.lasts) {
			break
		}
		time.Sleep(e.at - passed)
		passed = e.at
		synctest.Wait()
		p.check(false)
		e.happens()
		synctest.Wait()
		p.check(false)
	}
	time.Sleep(max(seconds(l.lasts)-passed, 0))
	synctest.Wait()
	p.check(last)
}

type orderEvent struct {
	at      time.Duration
	happens func()
}

func (p *orderPlay) events(l life) []orderEvent {
	var all []orderEvent
	add := func(at float64, vcenter int, change func(*inventory.State)) {
		if at >= 0 {
			all = append(all, orderEvent{seconds(at), func() { p.change(vcenter, change) }})
		}
	}
	for i, plan := range l.plans {
		fails := func(s *inventory.State) {
			s.Err = fmt.Errorf("vCenter %q: connection refused", s.VCenter)
			p.readings[i] = inventory.Reading{AfterInterruption: !p.readings[i].Since.IsZero()}
		}
		add(plan.fails, i, fails)
		add(plan.read, i, func(s *inventory.State) {
			p.readings[i].Since = time.Now()
			*s = inventory.State{VCenter: s.VCenter, Snapshot: p.snapshot(i), LastContact: time.Now(), WatchedSince: time.Now()}
		})
		add(plan.ends, i, fails)
		add(waitFor.Seconds(), i, func(s *inventory.State) { s.Overdue = s.Snapshot == nil && s.Err == nil })
	}
	for at := 5.0; at < 60; at += 5 {
		all = append(all, orderEvent{seconds(at), func() {}}) // only to check
	}
	slices.SortStableFunc(all, func(a, b orderEvent) int { return cmp.Compare(a.at, b.at) })
	return all
}

// daemon starts the provider, the framework's controllers and the node controller.
func (p *orderPlay) daemon(cfg *config.Config) (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	daemon := New(p, cfg, Options{})
	factory := informers.NewSharedInformerFactory(p.client, 0)
	daemon.SetInformers(factory)
	n, err := nodecontroller.NewCloudNodeController(daemon.NodeInformer(), daemon.Client(p.client), daemon, statusEvery, 2, 1)
	if err != nil {
		p.Fatal(err)
	}
	l, err := lifecyclecontroller.NewCloudNodeLifecycleController(daemon.LifecycleInformer(), daemon.Client(p.client), daemon, monitorEvery, 1)
	if err != nil {
		p.Fatal(err)
	}
	daemon.EnableReadyCondition()
	c := nodes.New(p, daemon.store, daemon.checker, p.client)
	var running sync.WaitGroup
	running.Go(func() { n.RunWithContext(ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	running.Go(func() { l.Run(ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
	for _, run := range []func(context.Context) error{c.Run, func(ctx context.Context) error { return c.KeepLabels(ctx, func(string, string, string) {}) }} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				p.Error(err)
			}
		})
	}
	factory.Start(ctx.Done())
	return func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	}
}

// create registers a Node.
func (p *orderPlay) create(i int) {
	n := p.nodes[i]
	uuid := nodeUUID(p.first(i))
	if n.byName {
		uuid = ""
	}
	node := aNode(fmt.Sprint("node-", i), withSystemUUID(uuid))
	// A second for each millisecond: API servers store whole seconds, and a patch loses the rest.
	node.CreationTimestamp = metav1.Unix(time.Now().UnixMilli()%1e8, 0)
	later := slices.IndexFunc(n.flips, func(at float64) bool { return seconds(at) > time.Since(p.began) })
	if later >= 0 && (len(n.flips)-later)%2 == 1 {
		n.silent = !n.silent
	}
	node.Status.Conditions = readiness(n.silent)
	if n.detachedAfter > 0 {
		attached(node)
	}
	if n.runs {
		for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
			node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: kind, Address: n.address(n.home, p.first(i))})
		}
	}
	if n.runs {
		untainted(node)
		node.Spec.ProviderID = "vsphere://" + uuid
		region, zone := fmt.Sprintf("r%d", n.home), fmt.Sprintf("z%d", n.home)
		node.Labels = map[string]string{
			v1.LabelTopologyRegion: region, v1.LabelFailureDomainBetaRegion: region,
			v1.LabelTopologyZone: zone, v1.LabelFailureDomainBetaZone: zone,
		}
		if n.recorded {
			node.Labels[nodeinfo.KeyInitialized] = "true"
			node.Annotations = map[string]string{nodeinfo.KeyVM: vcenterName(n.home) + "/" + p.homeID(i), nodeinfo.KeyVCenter: fmt.Sprintf("instance-%d", n.home), nodeinfo.KeyInstanceUUID: n.instanceUUID(n.home, p.first(i))}
		}
	}
	if _, err := p.client.CoreV1().Nodes().Create(p.Context(), node, metav1.CreateOptions{}); err != nil {
		p.Error(err)
	}
}

func readiness(silent bool) []v1.NodeCondition {
	status := v1.ConditionTrue
	if silent {
		status = v1.ConditionUnknown
	}
	return []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
}

// setSilent makes a Node's kubelet silent or not.
func (p *orderPlay) setSilent(i int, silent bool) {
	p.update(i, func(n *v1.Node) { n.Status.Conditions = readiness(silent) })
}

// update changes the status of a Node, if the Node exists.
func (p *orderPlay) update(i int, change func(*v1.Node)) {
	n, err := p.client.CoreV1().Nodes().Get(context.Background(), fmt.Sprint("node-", i), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err == nil {
		change(n)
		_, err = p.client.CoreV1().Nodes().UpdateStatus(context.Background(), n, metav1.UpdateOptions{})
	}
	if err != nil {
		p.Error(err)
	}
}

// reread makes a vCenter publish a new snapshot if it can be read.
func (p *orderPlay) reread(vcenter int) {
	p.change(vcenter, func(s *inventory.State) {
		if s.Snapshot != nil && s.Err == nil {
			s.Snapshot = p.snapshot(vcenter)
		}
	})
}

// check compares the Nodes with the allowed ends, during the order or after it.
func (p *orderPlay) check(last bool) {
	p.checkLies()
	for i, fact := range p.nodes {
		is, ok := p.now(i, last)
		if !ok {
			continue
		}
		allowed := p.passing(i)
		switch {
		case last && slices.Contains(p.unsure, true):
			allowed = mixed(p.allowed(i))
		case last:
			allowed = p.allowed(i)
		}
		if !slices.Contains(allowed, is) {
			p.Errorf("in the end: %t; node-%d %+v is %+v, allowed is %+v", last, i, fact, is, allowed)
		}
	}
}

// now returns the current end of a Node, or false if the Node was not created yet.
func (p *orderPlay) now(i int, last bool) (end, bool) {
	n, err := p.client.CoreV1().Nodes().Get(context.Background(), fmt.Sprint("node-", i), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return end{gone: true}, p.nodes[i].runs
	}
	if err != nil {
		p.Fatal(err)
	}
	if _, isOurs := nodeinfo.OutOfServiceTaint(n); last && isOurs && p.exists(i) {
		p.Errorf("in the end, node-%d has the out-of-service taint although its VM exists", i)
	}
	is := end{waits: nodeinfo.IsUninitialized(n), zone: p.nodes[i].home}
	if zone := n.Labels[v1.LabelTopologyZone]; zone != "" {
		if _, err := fmt.Sscanf(zone, "z%d", &is.zone); err != nil {
			p.Error(err)
		}
	}
	is.shut = slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintNodeShutdown })
	return is, true
}

// A lie is a Node whose annotation names an unreadable VM of a vCenter. Its provider ID belongs to another Node, or to none
// if negative.
type lie struct {
	vcenter, of int
	silent      bool
}

// ghost is the managed object ID of the VM that lies claim, in every vCenter.
const ghost = "vm-666"

// lie registers a Node that claims an unreadable VM.
func (p *orderPlay) lie(i int) {
	l := p.lies[i]
	uuid := fmt.Sprintf("422e4956-ad22-1139-6d72-66600000000%d", i)
	if l.of >= 0 {
		uuid = nodeUUID(l.of)
	}
	node := aNode(fmt.Sprint("liar-", i), withSystemUUID(uuid), withProviderID("vsphere://"+uuid))
	if l.silent {
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	}
	node.Annotations = map[string]string{nodeinfo.KeyVM: vcenterName(l.vcenter) + "/" + ghost}
	if _, err := p.client.CoreV1().Nodes().Create(p.Context(), node, metav1.CreateOptions{}); err != nil {
		p.Error(err)
	}
}

// checkLies checks that a Node which claims an unreadable VM is neither initialized nor deleted.
func (p *orderPlay) checkLies() {
	for i := range p.lies {
		n, err := p.client.CoreV1().Nodes().Get(context.Background(), fmt.Sprint("liar-", i), metav1.GetOptions{})
		if err != nil || !nodeinfo.IsUninitialized(n) {
			p.Errorf("liar-%d %+v: %v", i, p.lies[i], err)
		}
	}
}
