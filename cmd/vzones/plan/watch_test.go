package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// fakeView gives every joining Node zone a, unless err is set. drift is the placement of an initialized Node with another
// zone, whose label stays. With hasAddresses, each Node gets vmAddresses.
type fakeView struct {
	err, kept    error
	drift        string
	hasAddresses bool
}

// vmAddresses are in another order than the API server's.
var vmAddresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeExternalIP, Address: "10.0.0.1"}}

func (v *fakeView) Look(n *v1.Node) *world.Look {
	l := &world.Look{Node: n, Uninitialized: len(n.Spec.Taints) > 0, Err: v.err}
	l.Place.Topology = &config.Topology{}
	if errors.Is(v.err, topology.ErrAbsent) {
		l.Identity = inventory.Identity{Recorded: topology.Ref{VCenter: "east", ID: "vm-1"}}
	}
	if zone := n.Labels[v1.LabelTopologyZone]; v.drift != "" && zone != "" && zone != v.drift {
		l.Differences = []plan.Difference{{Label: topology.LabelZone, Have: zone, Want: v.drift, Source: "a tag"}}
		l.Place.Placement.Decisions = []topology.Decision{{Label: topology.LabelZone, Value: v.drift, Category: "zone", By: &topology.Object{Path: "/dc"}}}
		l.Plan = &plan.Plan{}
	}
	if v.err == nil && l.Uninitialized {
		l.Place.Placement.Decisions = []topology.Decision{{Label: topology.LabelZone, Value: "a", Category: "zone", By: &topology.Object{Path: "/dc"}}}
		l.Place.Metadata = &cloudprovider.InstanceMetadata{ProviderID: "vsphere://1"}
	}
	if v.hasAddresses && len(n.Status.Addresses) == 0 {
		l.Place.Addresses.Addresses = vmAddresses
		l.Place.AddressesChange = true
	}
	return l
}

func (v *fakeView) WhyKept(context.Context, *v1.Node) error { return v.kept }

func (v *fakeView) ConfirmAbsent(context.Context, *world.Look) error { return v.kept }

func (v *fakeView) IsSelected(*v1.Node) bool { return true }

func joiningNode() *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{}}}
	n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	return n
}

// initializedNode is the Node after another program has initialized it.
func initializedNode(zone string) *v1.Node {
	n := joiningNode()
	n.Spec.Taints = nil
	n.Spec.ProviderID = "vsphere://1"
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone} {
		n.Labels[key] = zone
	}
	return n
}

func zoneConfig() *config.Config {
	return &config.Config{Topology: config.Topology{Policy: topology.Policy{Rules: topology.Rules{{Label: topology.LabelZone, Category: "zone"}}}}}
}

func TestShadow(t *testing.T) {
	unknown := topology.Errorf(topology.ErrUnknown, "not read")
	joins := world.NodeEvent{New: joiningNode()}
	initializes := func(zone string) world.NodeEvent {
		return world.NodeEvent{Old: joiningNode(), New: initializedNode(zone)}
	}
	deletes := world.NodeEvent{Old: initializedNode("a")}
	prediction := []string{
		"predicted label topology.kubernetes.io/zone a", "predicted providerID  vsphere://1", "predicted taint node.cloudprovider.kubernetes.io/uninitialized ",
	}
	agreement := []string{
		"agrees taint node.cloudprovider.kubernetes.io/uninitialized ", "agrees providerID  vsphere://1", "agrees label topology.kubernetes.io/zone a",
	}
	const sorted = "ExternalIP 10.0.0.1, InternalIP 10.0.0.1"
	withAddresses := initializedNode("a")
	withAddresses.Status.Addresses = vmAddresses
	type step struct {
		event world.NodeEvent
		view  fakeView
		after time.Duration
		want  []string
	}
	for name, steps := range map[string][]step{
		"agrees": {{event: joins, want: prediction}, {event: initializes("a"), want: agreement}},
		"differs": {{event: joins, want: prediction}, {event: initializes("b"), want: []string{
			agreement[0], agreement[1], "withdrawn label topology.kubernetes.io/zone a",
		}}, {after: lag, want: []string{"differs label topology.kubernetes.io/zone a"}}},
		"the watch sees a VM later": {
			{event: world.NodeEvent{New: initializedNode("a")}},
			{event: world.NodeEvent{Old: initializedNode("a"), New: withAddresses}},
			{after: lag / 2, view: fakeView{hasAddresses: true}, want: []string{"agrees addresses  " + sorted}},
		},
		"a Node that differs is deleted": {
			{event: joins, want: prediction}, {event: initializes("b"), want: []string{
				agreement[0], agreement[1], "withdrawn label topology.kubernetes.io/zone a",
			}},
			{event: deletes, want: []string{"differs label topology.kubernetes.io/zone a"}},
			{after: lag, want: []string{"differs node  present"}},
		},
		"the other one is first": {
			{event: joins, view: fakeView{err: unknown}}, {event: initializes("a"), view: fakeView{err: unknown}},
			{after: time.Second, want: agreement},
		},
		"unknown for long": {
			{event: joins, view: fakeView{err: unknown}}, {event: initializes("a"), view: fakeView{err: unknown}},
			{after: 2 * patience, view: fakeView{err: unknown}, want: []string{
				"undecided taint node.cloudprovider.kubernetes.io/uninitialized NoSchedule", "undecided providerID  ", "undecided label topology.kubernetes.io/zone ",
				"predicted problem  VCenterDataUnavailable",
			}},
		},
		"a problem passes": {
			{event: joins, view: fakeView{err: topology.ErrAbsent}},
			{after: settle / 2, view: fakeView{err: topology.ErrAbsent}},
			{after: settle / 4, want: prediction},
			{view: fakeView{err: topology.ErrAbsent}},
			{after: settle / 4},
		},
		"a problem stays": {
			{event: joins, view: fakeView{err: topology.ErrAbsent}},
			{after: settle, view: fakeView{err: topology.ErrAbsent}, want: []string{"predicted uninitialized  VMNotFound"}},
			{want: append([]string{"withdrawn uninitialized  VMNotFound"}, prediction...)},
		},
		"addresses are written last": {
			{event: joins, view: fakeView{hasAddresses: true}, want: append([]string{"predicted addresses  " + sorted}, prediction...)},
			{event: initializes("a"), view: fakeView{hasAddresses: true}, want: agreement},
			{event: world.NodeEvent{Old: initializedNode("a"), New: withAddresses}, view: fakeView{hasAddresses: true}, want: []string{"agrees addresses  " + sorted}},
		},
		"unknown for a moment": {{event: joins, want: prediction}, {after: time.Second, view: fakeView{err: unknown}}, {after: time.Second}},
		"withdrawn": {
			{event: joins, want: prediction},
			{view: fakeView{err: topology.ErrAbsent}},
			{after: settle, view: fakeView{err: topology.ErrAbsent}, want: []string{
				"withdrawn label topology.kubernetes.io/zone a", "withdrawn providerID  vsphere://1",
				"withdrawn taint node.cloudprovider.kubernetes.io/uninitialized ", "predicted uninitialized  VMNotFound",
			}},
		},
		"a label that stays": {
			{event: world.NodeEvent{New: initializedNode("a")}, view: fakeView{drift: "b"}, want: []string{"predicted label topology.kubernetes.io/zone a"}},
			{want: []string{"withdrawn label topology.kubernetes.io/zone a"}},
		},
		"deletion agrees": {
			{event: world.NodeEvent{New: initializedNode("a")}},
			{view: fakeView{err: topology.ErrAbsent}},
			{after: settle, view: fakeView{err: topology.ErrAbsent}, want: []string{"predicted node  deleted", "predicted problem  VMNotFound"}},
			{event: deletes, want: []string{"agrees node  deleted"}},
		},
		"deletion before a search": {
			{event: world.NodeEvent{New: initializedNode("a")}},
			{event: deletes, view: fakeView{err: topology.ErrAbsent}, want: []string{"agrees node  deleted"}},
		},
		"deletion before the watch sees it": {
			{event: world.NodeEvent{New: initializedNode("a")}},
			{event: deletes},
			{after: lag / 2, view: fakeView{err: topology.ErrAbsent}, want: []string{"agrees node  deleted"}},
			{after: lag},
		},
		"deletion differs": {
			{event: world.NodeEvent{New: initializedNode("a")}},
			{view: fakeView{err: topology.ErrAbsent}},
			{after: settle, view: fakeView{err: topology.ErrAbsent, kept: errors.New("outside")}, want: []string{"predicted node  present", "predicted problem  VMNotFound"}},
			{event: deletes, view: fakeView{err: topology.ErrAbsent, kept: errors.New("outside")}, want: []string{"differs node  present"}},
		},
		"deletion of an existing VM": {
			{event: world.NodeEvent{New: initializedNode("a")}}, {event: deletes}, {after: lag, want: []string{"differs node  present"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				v := &fakeView{}
				s := newShadow(v, zoneConfig(), func(e Entry) {
					if e.Observed != nil {
						got = append(got, fmt.Sprintf("%s %s %s %s", e.Observed.Verdict, e.Observed.Kind, e.Observed.Label, e.Observed.Expected))
						return
					}
					got = append(got, fmt.Sprintf("%s %s %s %s", e.Event, e.Change.Kind, e.Change.Label, e.Change.Result))
				})
				for i, step := range steps {
					got = nil
					*v = step.view
					time.Sleep(step.after)
					var events []world.NodeEvent
					if step.event != (world.NodeEvent{}) {
						events = append(events, step.event)
					}
					s.update(t.Context(), events)
					if diff := cmp.Diff(step.want, got); diff != "" {
						t.Errorf("step %d printed (-want +got):\n%s", i, diff)
					}
				}
			})
		})
	}
}

// The summary and the metrics count what the daemon leaves as it is.
func TestUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShadow(&fakeView{err: topology.ErrMissing, drift: "b"}, zoneConfig(), func(Entry) {})
		joins := joiningNode()
		joins.Name = "node-2"
		s.update(t.Context(), []world.NodeEvent{{New: initializedNode("a")}, {New: joins}})
		time.Sleep(settle)
		s.update(t.Context(), nil)
		now := s.summary()
		want := map[string]int{"label": 1, "problem": 1, "uninitialized": 1}
		if diff := cmp.Diff(want, now.Unwritten); diff != "" || len(now.Pending) > 0 {
			t.Errorf("pending: %v, unwritten (-want +got):\n%s", now.Pending, diff)
		}
		var m shadowMetrics
		m.set(s)
		for kind, count := range want {
			line := fmt.Sprintf("vsphere_ccm_shadow_pending_changes{kind=%q,written=\"false\"} %d\n", kind, count)
			if !strings.Contains(string(m.text), line) {
				t.Errorf("got the metrics\n%s\nwithout %s", m.text, line)
			}
		}
	})
}

func TestShadowMetrics(t *testing.T) {
	s := newShadow(&fakeView{}, &config.Config{}, func(Entry) {})
	s.update(t.Context(), []world.NodeEvent{{New: joiningNode()}})
	s.update(t.Context(), []world.NodeEvent{{Old: joiningNode(), New: initializedNode("")}})
	s.update(t.Context(), []world.NodeEvent{{New: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}, Spec: joiningNode().Spec}}})
	var m shadowMetrics
	m.set(s)
	at, stop, err := serveMetrics(t.Context(), ":0", &m)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if host, _, err := net.SplitHostPort(at); err != nil || host != "127.0.0.1" {
		t.Errorf("an address without a host listens on %s, error %v, want 127.0.0.1", at, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"vsphere_ccm_shadow_nodes 2\n",
		`vsphere_ccm_shadow_pending_changes{kind="providerID",written="true"} 1`,
		`vsphere_ccm_shadow_observed_changes_total{kind="providerID",verdict="agrees"} 1`,
		`vsphere_ccm_shadow_observed_changes_total{kind="taint",verdict="differs"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got the metrics\n%s\nwithout %s", text, want)
		}
	}
}
