package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestHealthOfZones: a zone is partitioned if two thirds of its Nodes, and at least two, have stopped reporting while their
// VMs run on connected hosts of a vCenter that answers.
func TestHealthOfZones(t *testing.T) {
	const (
		reports = "reports"
		cut     = "cut off"
		broken  = "not ready"
		off     = "off"
		asleep  = "suspended"
		lost    = "host disconnected"
		hung    = "vCenter hangs"
		fails   = "vCenter fails"
		unknown = "vCenter down"
		gone    = "VM absent"
		foreign = "foreign"
		exempt  = "excluded"
	)
	now := time.Now()
	for _, c := range []struct {
		nodes              []string
		partitioned, maybe bool
	}{
		{nodes: []string{reports, reports, reports}},
		{nodes: []string{cut}},
		{nodes: []string{cut, cut}, partitioned: true, maybe: true},
		{nodes: []string{cut, reports}},
		{nodes: []string{cut, cut, reports}, partitioned: true, maybe: true},
		{nodes: []string{cut, cut, reports, reports}},
		{nodes: []string{cut, cut, cut, cut, reports, reports}, partitioned: true, maybe: true},
		{nodes: []string{cut, cut, cut, reports, reports}},
		{nodes: []string{broken, broken, broken}},
		{nodes: []string{cut, off, off}},
		{nodes: []string{off, off, off}},
		{nodes: []string{asleep, asleep}},
		{nodes: []string{gone, gone, gone}},
		{nodes: []string{cut, lost, reports}, maybe: true},
		{nodes: []string{lost, lost}, maybe: true},
		{nodes: []string{hung, hung, hung}, maybe: true},
		{nodes: []string{fails, fails}, maybe: true},
		{nodes: []string{unknown, unknown}, maybe: true},
		{nodes: []string{cut, cut, foreign}, partitioned: true, maybe: true},
		{nodes: []string{cut, cut, foreign, foreign}},
		{nodes: []string{cut, cut, exempt, exempt}, partitioned: true, maybe: true},
		{nodes: []string{cut, exempt}},
	} {
		var nodes []decidedNode
		for i, state := range c.nodes {
			n := named(fmt.Sprint("n", i), zoned("r", "a")...)
			d := &placement.Decision{VM: &inventory.VM{Ref: topology.Ref{VCenter: "east"}, Power: inventory.PowerOn}}
			n.Status.Conditions[0].Status = v1.ConditionUnknown
			switch state {
			case reports:
				n.Status.Conditions[0].Status = v1.ConditionTrue
			case broken:
				n.Status.Conditions[0].Status = v1.ConditionFalse
			case off:
				d.VM.Power = inventory.PowerOff
			case asleep:
				d.VM.Power = inventory.PowerSuspended
			case lost:
				d.VM.Power = inventory.PowerUnknown
			case hung:
				d.VM.Ref.VCenter = "west"
			case fails:
				d.VM.Ref.VCenter = "south"
			case unknown:
				d = &placement.Decision{VMErr: topology.Errorf(topology.ErrUnknown, "vCenter is down")}
			case gone:
				d = &placement.Decision{VMErr: topology.Errorf(topology.ErrAbsent, "no vCenter has it")}
			case foreign:
				d = nil
			case exempt:
				n.Labels["node.kubernetes.io/exclude-disruption"] = ""
			}
			nodes = append(nodes, decidedNode{n, d})
		}
		states := []inventory.State{
			{VCenter: "east", LastContact: now.Add(-26 * time.Second)},
			{VCenter: "west", LastContact: now.Add(-partitionDelay)},
			{VCenter: "south", LastContact: now, Err: errors.New("connection refused")},
		}
		z := healthOfZones(nodes, states, now)[nodeinfo.Zone{Region: "r", Zone: "a"}]
		if z == nil || z.isPartitioned() != c.partitioned || z.mayBePartitioned() != c.maybe {
			t.Errorf("a zone with %q: got %+v, want partitioned %t, perhaps partitioned %t", c.nodes, z, c.partitioned, c.maybe)
		}
	}
}

// TestZones: a zone is a pair of region and zone labels, of which the beta labels take precedence. Nodes without
// either are in none.
func TestZones(t *testing.T) {
	var nodes []decidedNode
	for i, labels := range [][]string{
		zoned("r", "a"), zoned("s", "a"), {topology.LabelZone + "=a"}, {topology.LabelRegion + "=r"}, nil,
		{topology.LabelRegion + "=x", topology.LabelZone + "=x", v1.LabelFailureDomainBetaRegion + "=r", v1.LabelFailureDomainBetaZone + "=a"},
	} {
		nodes = append(nodes, decidedNode{node: named(fmt.Sprint("n", i), labels...)})
	}
	got := map[string]int{}
	for zone, z := range healthOfZones(nodes, nil, time.Now()) {
		got[zone.String()] = z.total
	}
	want := map[string]int{`zone "a" of region "r"`: 2, `zone "a" of region "s"`: 1, `zone "a" of region ""`: 1, `zone "" of region "r"`: 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Nodes by zone: got %v, want %v", got, want)
	}
}

func setReady(status v1.ConditionStatus) func(*v1.Node) {
	return func(n *v1.Node) {
		for i := range n.Status.Conditions {
			if c := &n.Status.Conditions[i]; c.Type == v1.NodeReady {
				c.Status = status
			}
		}
	}
}

// partitionEvents returns the Nodes with Events about the partition or its end, and the number of these Events on the Pod.
func (w *world) partitionEvents() (onNodes []string, onPod int) {
	for _, e := range w.events() {
		if strings.HasSuffix(e, " ZonePartitioned") {
			onNodes = append(onNodes, strings.TrimSuffix(e, " ZonePartitioned"))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.pod {
		if strings.HasPrefix(e, `Warning ZonePartitioned zone "a" of region "r": 2 of 3 Nodes have stopped reporting, but their VMs run on connected hosts: east-1, east-2;`) {
			onPod++
		}
	}
	slices.Sort(onNodes)
	return onNodes, onPod
}

func (w *world) wantPartition(when string, isPartitioned bool, onPod int, onNodes ...string) {
	w.Helper()
	nodes, pod := w.partitionEvents()
	want := map[nodeinfo.Zone]bool{{Region: "r", Zone: "a"}: isPartitioned, {Region: "r", Zone: "b"}: false}
	if got := w.stats().Partitioned; fmt.Sprint(got) != fmt.Sprint(want) || pod != onPod || !slices.Equal(nodes, onNodes) {
		w.Errorf("%s: got the zones %v, %d Events on the Pod and those on Nodes %q, want %v, %d and %q", when, got, pod, nodes, want, onPod, onNodes)
	}
}

// partitionEnds returns the Nodes with an Event about the end of the partition.
func (w *world) partitionEnds() (nodes []string) {
	for _, a := range w.client.Actions() {
		if create, ok := a.(clienttesting.CreateAction); ok {
			if e, ok := create.GetObject().(*v1.Event); ok && strings.HasSuffix(e.Message, "ZonePartitioned is resolved") {
				nodes = append(nodes, e.InvolvedObject.Name)
			}
		}
	}
	return nodes
}

const untilReported = partitionDelay + 3*partitionsEvery

// TestPartition: a partition has one Event on the daemon's Pod and on each Node that is cut off, and one more after an hour
// or a restart. Neither an outage of the vCenter nor a further lost host ends it.
func TestPartition(t *testing.T) {
	cut := []string{"east-1", "east-2"}
	twice := []string{"east-1", "east-1", "east-2", "east-2"}
	cfg := topologyOf(config.DriftReport)
	inWorld(t, cfg, func(w *world) {
		place := func() {
			w.source.place(at("r", "a", ""), nil, "east-1", "east-2", "east-3")
			w.source.place(at("r", "b", ""), nil, "east-4")
			w.source.setPower(inventory.PowerOn, "east-1", "east-2", "east-3", "east-4")
		}
		place()
		w.pass(untilReported)
		w.wantPartition("before", false, 0)
		for _, name := range cut {
			w.edit(name, setReady(v1.ConditionUnknown))
		}
		w.edit("east-4", setReady(v1.ConditionUnknown))
		w.pass(partitionDelay - time.Second)
		w.wantPartition("too early", false, 0)
		w.pass(untilReported)
		w.wantPartition("reported", true, 1, cut...)

		w.source.lose(cut...)
		w.pass(2 * time.Minute)
		w.wantPartition("without the vCenter", true, 1, cut...)
		place()
		w.source.setPower(inventory.PowerUnknown, "east-1")
		w.pass(2 * time.Minute)
		w.wantPartition("with a lost host", true, 1, cut...)
		place()
		w.pass(50 * time.Minute)
		w.wantPartition("after an hour", true, 2, cut...)

		w.stop()
		w.start(cfg)
		w.pass(untilReported)
		w.wantPartition("after a restart", true, 3, twice...)
		w.pass(10 * time.Minute)
		w.wantPartition("long after a restart", true, 3, twice...)

		w.edit("east-1", setReady(v1.ConditionTrue))
		w.pass(2 * partitionsEvery)
		w.wantPartition("at the end", false, 3, twice...)
		if got := w.partitionEnds(); !slices.Equal(got, []string{"east-1"}) {
			t.Errorf("Node east-1 reports again: got the end of the partition on %q, want only on east-1", got)
		}
		w.edit("east-2", setReady(v1.ConditionTrue))
		w.pass(2 * partitionsEvery)
		if got := w.partitionEnds(); !slices.Equal(got, cut) {
			t.Errorf("all Nodes report again: got the end of the partition on %q, want on %q", got, cut)
		}
	}, named("east-1", zoned("r", "a")...), named("east-2", zoned("r", "a")...), named("east-3", zoned("r", "a")...), named("east-4", zoned("r", "b")...))
}

// TestNoPartition: neither a vCenter that hangs since before the Nodes stopped reporting, nor a VM that is off, nor a short
// interruption is a partition.
func TestNoPartition(t *testing.T) {
	for name, prevent := range map[string]func(*world){
		"vCenter hangs": func(w *world) { w.source.hang("east", true) },
		"a VM is off":   func(w *world) { w.source.setPower(inventory.PowerOff, "east-2") },
		"a short interruption": func(w *world) {
			w.edit("east-1", setReady(v1.ConditionUnknown))
			w.edit("east-2", setReady(v1.ConditionUnknown))
			w.pass(partitionDelay - time.Second)
			w.edit("east-1", setReady(v1.ConditionTrue))
			w.pass(2 * partitionsEvery)
		},
	} {
		inWorld(t, topologyOf(config.DriftReport), func(w *world) {
			w.source.place(at("r", "a", ""), nil, "east-1", "east-2", "east-3")
			w.source.setPower(inventory.PowerOn, "east-1", "east-2", "east-3")
			w.pass(10 * time.Second)
			prevent(w)
			w.edit("east-2", setReady(v1.ConditionUnknown))
			if name != "a short interruption" {
				w.edit("east-1", setReady(v1.ConditionUnknown))
			}
			w.pass(10 * time.Minute)
			if nodes, pod := w.partitionEvents(); len(nodes)+pod > 0 || w.stats().Partitioned[nodeinfo.Zone{Region: "r", Zone: "a"}] {
				t.Errorf("%s: got Events on Nodes %q and %d on the Pod, want none", name, nodes, pod)
			}
		}, named("east-1", zoned("r", "a")...), named("east-2", zoned("r", "a")...), named("east-3", zoned("r", "a")...))
	}
}
