package provider

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// waking counts the announcements of a Node. The test decides when the framework asks.
type waking struct {
	*cluster
	woken atomic.Int64
}

// withWaking runs a test with one Node, without the framework.
func withWaking(t *testing.T, test func(*waking)) {
	t.Helper()
	alone(t, &fakeFleet{states: states{stateOf("east")}}, func(c *cluster) {
		w := &waking{cluster: c}
		handlers := cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { w.woken.Add(1) }}
		if _, err := c.provider.NodeInformer().Informer().AddEventHandler(handlers); err != nil {
			t.Fatal(err)
		}
		test(w)
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// state returns a state of the vCenter in which the VM can be placed, or cannot.
func (w *waking) state(good bool) states {
	zone := ""
	if good {
		zone = "a"
	}
	return states{stateOf("east", newVM(uuidA, in("east", zone)))}
}

// become changes the state and notifies subscribers.
func (w *waking) become(good bool) {
	w.fleet.become(w.state(good)...)
	w.settle()
}

// unseen changes the state without a notification.
func (w *waking) unseen(good bool) {
	w.fleet.mu.Lock()
	defer w.fleet.mu.Unlock()
	w.fleet.states = w.state(good)
}

// asks reports whether the framework can initialize the Node.
func (w *waking) asks() bool {
	m, err := w.provider.InstanceMetadata(w.ctx, w.node("node-1"))
	if err != nil {
		w.Error(err)
	}
	return m != nil
}

func (w *waking) want(woken int64, when string) {
	w.Helper()
	w.settle()
	if n := w.woken.Load(); n != woken {
		w.Errorf("announced %d times, want %d, %s", n, woken, when)
	}
}

// TestWokenAfterAShortBadState: the framework asks in a bad state that the controller has not seen, and asks again only
// after an announcement.
func TestWokenAfterAShortBadState(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		w.want(1, "when the VM is known")
		w.unseen(false)
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.become(true)
		w.want(2, "when the good state is back")
		if !w.asks() {
			t.Fatal("not initialized in a good state")
		}
		w.become(true)
		w.become(true)
		w.want(2, "once the framework has its answer")
	})
}

// TestWokenWhileTheFrameworkAsks: the states become good before the framework gets its answer from the bad states.
func TestWokenWhileTheFrameworkAsks(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		w.want(1, "when the VM is known")
		w.unseen(false)
		w.fleet.reading = func() { w.fleet.become(w.state(true)...) }
		if w.asks() {
			t.Fatal("initialized in a bad state")
		}
		w.pass(gather)
		w.want(2, "in the middle of the question")
	})
}

// TestWokenAfterALateAnswer: an answer from a bad state is recorded after the controller has decided from the good state.
func TestWokenAfterALateAnswer(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		w.want(1, "when the VM is known")
		w.unseen(false)
		node := w.node("node-1")
		if _, err := w.provider.placer.JoinAndReserve(node); err == nil {
			t.Fatal("the Node joins in a bad state")
		}
		w.become(true)
		w.want(1, "before the answer is recorded")
		w.provider.guard.RecordMetadata(node, nil, framework.Additions{})
		w.pass(gather)
		w.want(2, "after the answer is recorded")
	})
}

// TestWokenAfterARejectionOfTheSameVM: the tag names become too old between the announcement and the framework's question.
// Once they are read again, the Node is announced at once, although its VM is unchanged.
func TestWokenAfterARejectionOfTheSameVM(t *testing.T) {
	withWaking(t, func(w *waking) {
		same := w.state(true)[0]
		w.fleet.become(named(same, 29*time.Second, needed...))
		w.want(1, "when the VM is known")
		w.pass(2 * time.Second)
		if w.asks() {
			t.Fatal("initialized with names that are too old")
		}
		w.fleet.become(named(same, 0, needed...))
		w.pass(gather)
		w.want(2, "once the names are read again")
		w.become(true)
		w.want(2, "while the framework has not asked again")
		if !w.asks() {
			t.Fatal("not initialized with names that were just read")
		}
	})
}

// TestALateQuestionReservesNothing: the framework asks about a deleted Node. A new Node of that name gets the VM at once.
func TestALateQuestionReservesNothing(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(true)
		old := w.node("node-1")
		w.delete("node-1")
		w.settle()
		if m, err := w.provider.InstanceMetadata(w.ctx, old); m != nil || err != nil {
			t.Errorf("InstanceMetadata of a deleted Node = %+v, %v, want nil", m, err)
		}
		w.create(aNode("node-1", withSystemUUID(uuidA), func(n *v1.Node) { n.UID = "another" }))
		w.pass(gather)
		if !w.asks() {
			t.Error("it has to wait")
		}
	})
}

// TestALateQuestionLeavesNothing: the framework processes a list with a deleted Node.
func TestALateQuestionLeavesNothing(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA))}}, func(c *cluster) {
		old := c.node("node-1")
		c.delete("node-1")
		c.pass(time.Second)
		if m, err := c.provider.InstanceMetadata(c.ctx, old); err != nil || len(m.NodeAddresses) > 0 {
			t.Errorf("InstanceMetadata of a deleted Node = %+v, %v, want no addresses", m, err)
		}
		if at := c.lastSeen(old.UID); at != (inventory.LastSeen{}) {
			t.Errorf("kept of a Node that is gone: %v", at)
		}
	}, running())
}

// isRejected reports whether the framework's last answer was that the Node stays uninitialized.
func (w *waking) isRejected() bool {
	node := w.node("node-1")
	w.provider.store.Lock()
	defer w.provider.store.Unlock()
	return w.provider.store.AnswersAbout(node).Rejected
}

func TestWaitsAreForgotten(t *testing.T) {
	withWaking(t, func(w *waking) {
		w.become(false)
		if w.asks() || !w.isRejected() {
			t.Fatal("the Node does not wait")
		}
		w.delete("node-1")
		synctest.Wait()
		if w.isKnown("uid-node-1") {
			t.Error("the Node is kept")
		}
	})
}

// joins returns the writes to a Node that joins, in order. It is initialized once its VM appears, after meanwhile was
// called, and with a level in our own domain and a level in the operator's.
func joins(t *testing.T, n *v1.Node, meanwhile func(*cluster)) (writes []string, joined *v1.Node) {
	t.Helper()
	withFramework(t, &fakeFleet{answers: true, states: states{stateOf("east"), stateOf("west")}}, func(c *cluster) {
		c.provider.placer.Config().Topology.Policy.Levels = topology.Rules{
			{Label: topology.LabelRack, Category: "k8s-zone"}, {Label: "example.com/zone", Category: "k8s-zone"},
		}
		defer c.keepLabels()()
		c.create(n)
		c.pass(time.Second)
		c.client.ClearActions()
		c.asked.after("InstanceMetadata", func(*v1.Node) { meanwhile(c) })
		c.fleet.become(stateOf("east", newVM(uuidA)), stateOf("west"))
		c.pass(20 * time.Second)
		writes = c.writes()
		joined = c.node(n.Name)
		c.client.ClearActions()
		for i := range 60 { // an hour of unrelated changes
			c.fleet.become(stateOf("east", newVM(uuidA), newVM(uuidB, in("east", []string{"a", "b"}[i%2]))), stateOf("west"))
			c.pass(time.Minute)
		}
		if more := c.writes(); len(more) > 0 {
			t.Errorf("at rest it is written: %q", more)
		}
	})
	return writes, joined
}

// TestANodeJoinsComplete: the write that removes the framework's taint contains all labels, including those that the
// framework leaves out, and there are no writes besides the framework's.
func TestANodeJoinsComplete(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"a new Node": nil, "it has another rack": {topology.LabelRack: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			n := aNode("node-1", withSystemUUID(uuidA))
			n.Labels = labels
			writes, n := joins(t, n, func(*cluster) {})
			if d := cmp.Diff([]string{"update", "patch status"}, writes); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
			if n.Labels[topology.LabelRack] != "a" || n.Labels["example.com/zone"] != "a" || n.Annotations[nodeinfo.KeyLabels] != "example.com/zone" || n.Annotations[nodeinfo.KeyVM] != "east/vm-1" {
				t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
			}
			if is := report.ConditionOf(n); is.Status != v1.ConditionTrue || is.Reason != report.ConditionCurrent || is.LastTransitionTime.IsZero() {
				t.Errorf("the condition is %+v", is)
			}
		})
	}
}

// TestNoConditionBesideAnotherValue: a label that initialization keeps differs from the placement.
func TestNoConditionBesideAnotherValue(t *testing.T) {
	for _, c := range []struct {
		label   string
		current bool
	}{
		// Labels of the placement are overwritten.
		{v1.LabelTopologyZone, true},
		{v1.LabelFailureDomainBetaRegion, true},
		{topology.LabelRack, true},
		{"example.com/row", false},  // a level without a value
		{"example.com/zone", false}, // a level with a value
		{"example.com/what-nobody-configured", true},
	} {
		cfg := testConfig()
		cfg.Topology.Policy.Levels = topology.Rules{
			{Label: topology.LabelRack, Category: "k8s-zone"}, {Label: "example.com/zone", Category: "k8s-zone"}, {Label: "example.com/row", Category: "row"},
		}
		p := New(&fakeFleet{states: states{stateOf("east", newVM(uuidA)), stateOf("west")}}, cfg, Options{})
		n := aNode("node-1", withSystemUUID(uuidA))
		n.Labels = map[string]string{c.label: "x"}
		d, err := p.placer.Join(n)
		if err != nil {
			t.Fatal(err)
		}
		if p.additions(n, d).Condition != nil {
			t.Error("nobody keeps the labels")
		}
		p.EnableReadyCondition()
		p.Apply(testConfig()) // the levels are gone, and the decision depends on them
		if got := p.additions(n, d).Condition; (got != nil) != c.current {
			t.Errorf("a Node with %s=x gets the condition %+v, want one: %t", c.label, got, c.current)
		}
		if d.Shared = true; p.additions(n, d).Condition != nil {
			t.Error("another Node has the VM too")
		}
	}
}

// TestALabelOfOthersIsNotOurs: the framework keeps an existing label, so it is not listed as ours, and the condition reports
// the difference.
func TestALabelOfOthersIsNotOurs(t *testing.T) {
	for value, want := range map[string]v1.ConditionStatus{"a": v1.ConditionTrue, "b": v1.ConditionFalse} {
		n := aNode("node-1", withSystemUUID(uuidA))
		n.Labels = map[string]string{"example.com/zone": value}
		_, n = joins(t, n, func(*cluster) {})
		if n.Labels["example.com/zone"] != value || n.Annotations[nodeinfo.KeyLabels] != "" || report.ConditionOf(n).Status != want {
			t.Errorf("labels %v, annotations %v, conditions %v", n.Labels, n.Annotations, n.Status.Conditions)
		}
	}
}

// TestALevelThatLeavesAsANodeJoins: its label is added with the Node and then removed.
func TestALevelThatLeavesAsANodeJoins(t *testing.T) {
	_, n := joins(t, aNode("node-1", withSystemUUID(uuidA)), func(c *cluster) {
		c.provider.Apply(testConfig())
		c.fleet.become(stateOf("east", newVM(uuidA)), stateOf("west"))
	})
	if nodeinfo.IsUninitialized(n) || n.Labels["example.com/zone"] != "" || n.Annotations[nodeinfo.KeyLabels] != "" {
		t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
	}
}

// named returns a state whose tag names were read that long ago.
func named(s inventory.State, age time.Duration, categories ...string) inventory.State {
	s.TagNames = inventory.TagNames{ReadAt: time.Now().Add(-age), Categories: categories}
	return s
}

// needed are the categories of testConfig.
var needed = []string{"k8s-region", "k8s-zone"}

// TestNamesThatAreOld initialize no Node and are read again first. Initialized Nodes have outcomes by what is known.
func TestNamesThatAreOld(t *testing.T) {
	for name, c := range map[string]struct {
		age        time.Duration
		categories []string
		waits      bool
	}{
		"of lately":                      {29 * time.Second, needed, false},
		"older than the interval":        {31 * time.Second, needed, true},
		"without one of the categories":  {0, needed[:1], true},
		"with more than are needed":      {0, append([]string{"rack"}, needed...), false},
		"none could be read by anything": {100000 * time.Hour, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := named(stateOf("east", newVM(uuidA)), c.age, c.categories...)
				if c.categories == nil {
					s.TagNames = inventory.TagNames{}
				}
				p, fleet := provide(states{s})
				node := aNode("node-1", withSystemUUID(uuidA))
				metadata, err := p.InstanceMetadata(t.Context(), node)
				if err != nil || (metadata == nil) != c.waits {
					t.Errorf("InstanceMetadata = %+v, %v, want the Node to wait: %t", metadata, err, c.waits)
				}
				if (len(fleet.tagsRead()) > 0) != c.waits {
					t.Errorf("read again: %q", fleet.tagsRead())
				}
				if _, err := p.placer.Join(node); (err != nil) != c.waits || c.waits && !errors.Is(err, topology.ErrUnknown) {
					t.Errorf("it waits for %v", err)
				}
				if err := p.placer.Decide(node).Err; err != nil {
					t.Errorf("what is known: %v", err)
				}
			})
		})
	}
}

// TestAVMIsSeenWhileItsNodeJoins: if the VM is destroyed right afterwards, --deletion-hold does not keep the Node.
func TestAVMIsSeenWhileItsNodeJoins(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA))
	for name, c := range map[string]struct {
		state inventory.State
		seen  bool
	}{
		"found":                        {stateOf("east", newVM(uuidA)), true},
		"found, in a failing vCenter":  {failing(stateOf("east", newVM(uuidA))), false},
		"absent":                       {stateOf("east"), false},
		"found, and it has no address": {stateOf("east", newVM(uuidA, withoutAddress)), true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provide(states{c.state})
			_, _ = p.placer.Join(node)
			if id, err := p.placer.Identify(node); err != nil || id.Seen != c.seen {
				t.Errorf("seen: %t, error %v; want seen: %t", id.Seen, err, c.seen)
			}
		})
	}
}

// TestANodeWaitsForTheFirstReading of the tags of an optional label, because without backfill nothing adds it later. It does
// not wait after a failed reading, or if the label is known to have no value.
func TestANodeWaitsForTheFirstReading(t *testing.T) {
	rack, site := topology.Rule{Label: "example.com/rack", Category: "rack"}, topology.Rule{Label: "example.com/site", HostGroup: "site-*"}
	optional := topology.Rule{Label: topology.LabelZone, Category: "k8s-zone"}
	for name, c := range map[string]struct {
		rule    topology.Rule
		tagsErr error
		groups  *topology.Membership
		waits   bool
	}{
		"a level's tags are not read yet":        {rack, topology.ErrNotRead, nil, true},
		"a level's tags cannot be read":          {rack, errors.New("503"), nil, false},
		"a level's tags may not be read":         {rack, topology.ErrNotPermitted, nil, false},
		"a level has no tag":                     {rack, nil, nil, false},
		"an optional zone's tags, not read yet":  {optional, topology.ErrNotRead, nil, true},
		"host groups are not read yet":           {site, nil, nil, true},
		"host groups cannot be read":             {site, nil, &topology.Membership{Err: errors.New("no answer")}, false},
		"in no host group":                       {site, nil, &topology.Membership{}, false},
		"host groups, beside tags, not read yet": {site, topology.ErrNotRead, &topology.Membership{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Topology.Policy = topology.Policy{Levels: topology.Rules{c.rule}}
			if c.rule.Label == topology.LabelZone {
				cfg.Topology.Policy = topology.Policy{Rules: topology.Rules{c.rule}}
			}
			m := newVM(uuidA)
			for _, o := range m.Paths[0].Objects {
				o.Tags = nil
				o.TagsErr = c.tagsErr
				o.HostGroups = c.groups
			}
			p := New(&fakeFleet{states: states{stateOf("east", m)}}, cfg, Options{})
			metadata, err := p.InstanceMetadata(t.Context(), aNode("node-1", withSystemUUID(uuidA)))
			if err != nil || (metadata == nil) != c.waits {
				t.Errorf("the Node is initialized with %+v, error %v; want that it waits: %t", metadata, err, c.waits)
			}
		})
	}
}

// TestANodeWaitsForNames until they were read, even if that takes longer than their greatest age, and is announced then.
func TestANodeWaitsForNames(t *testing.T) {
	for _, took := range []time.Duration{time.Second, 45 * time.Second, 150 * time.Second} {
		s := stateOf("east", newVM(uuidA))
		s.TagNames = inventory.TagNames{ReadAt: time.Unix(0, 0), Categories: needed}
		fleet := &fakeFleet{states: states{s}}
		withFramework(t, fleet, func(c *cluster) {
			c.pass(time.Second)
			if !nodeinfo.IsUninitialized(c.node("node-1")) || len(fleet.tagsRead()) == 0 {
				t.Errorf("initialized, or nothing was read: %q", fleet.tagsRead())
			}
			c.pass(took)
			fleet.become(named(s, took, needed...))
			c.pass(time.Second)
			if nodeinfo.IsUninitialized(c.node("node-1")) {
				t.Errorf("read %v ago: it still waits", took)
			}
		}, aNode("node-1", withSystemUUID(uuidA)))
	}
}

// TestNamesServeForAMoment: names that were read since a Node began to wait become too old eventually, and names from
// before a new reason to wait are not used.
func TestNamesServeForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, fleet := provide(nil)
		node := aNode("node-1", withSystemUUID(uuidA))
		initial := func(age time.Duration, change ...func(*inventory.VM)) bool {
			fleet.become(named(stateOf("east", newVM(uuidA, change...)), age, needed...))
			_, err := p.placer.Join(node)
			return err == nil
		}
		if initial(time.Hour) {
			t.Error("old names serve")
		}
		time.Sleep(2 * time.Minute)
		for range 12 {
			if !initial(time.Minute + 50*time.Second) {
				t.Error("names that were read since it waits do not serve")
			}
			time.Sleep(time.Minute / 12)
		}
		time.Sleep(time.Second)
		if initial(2*time.Minute + 50*time.Second) {
			t.Error("they serve for ever")
		}
		for _, other := range []func() bool{
			func() bool { return !initial(time.Hour, withoutAddress) },
			func() bool { return initial(0) },
		} {
			if !other() {
				t.Error("this shows nothing")
			}
			time.Sleep(time.Minute)
			if initial(50 * time.Second) {
				t.Error("it has waited for something else")
			}
		}
	})
}

// TestNamesOfAFailingVCenter: the Node waits for the vCenter instead.
func TestNamesOfAFailingVCenter(t *testing.T) {
	p, _ := provide(states{named(failing(stateOf("east", newVM(uuidA))), time.Minute, needed...)})
	if _, err := p.placer.Join(aNode("node-1", withSystemUUID(uuidA))); report.OutcomeOfError(err).Name != "vcenter_unreachable" {
		t.Errorf("it waits for %v", err)
	}
}

// TestAbsentWhileAVCenterIsSilent: a vCenter that has not answered since the Node joined may have its VM.
func TestAbsentWhileAVCenterIsSilent(t *testing.T) {
	silent := stateOf("west")
	silent.LastContact = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) // before the fake clock starts
	fleet := &fakeFleet{quiet: true, states: states{silent}}
	alone(t, fleet, func(c *cluster) {
		c.pass(time.Minute)
		c.create(aNode("node-1", withSystemUUID(uuidA)))
		c.pass(15 * time.Second)
		c.wantEvents("node-1 VCenterDataUnavailable")
		fleet.mu.Lock()
		fleet.answers = true
		fleet.mu.Unlock()
		fleet.Probe("west")
		c.pass(15 * time.Second)
		c.wantEvents("node-1 VCenterDataUnavailable", "node-1 VMNotFound")
	})
}
