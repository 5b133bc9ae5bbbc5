package operator

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
)

type planOutput struct {
	Changes []struct {
		Node    string          `json:"node"`
		Changes []plannedChange `json:"changes"`
	} `json:"changes"`
}

type plannedChange struct {
	Kind   string `json:"kind"`
	Label  string `json:"label"`
	Result string `json:"result"`
	Action string `json:"action"`
}

// planState is the state of a Node that a plan can change.
type planState struct {
	labels    map[string]string
	taints    map[string]bool // taints for drift and for a powered-off VM
	addresses string          // empty if not checked
}

// stayTime is the time for which Nodes must stay as planned. It exceeds the settle time of a second and a few
// rounds of the daemon.
const stayTime = 3 * time.Second

// planned runs the daemon and compares its changes with a plan.
func planned(ts *testscript.TestScript, _ bool, args []string) {
	addresses := len(args) == 2 && args[1] == "addresses"
	if len(args) != 1 && !addresses {
		ts.Fatalf("usage: planned FILE [addresses]")
	}
	var p planOutput
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	s := needStack(ts)
	ctx := bounded(ts)
	wantStates := map[string]planState{}
	ts.Check(s.Watch(ctx, "the Nodes", func(nodes []*v1.Node) bool {
		for _, n := range nodes {
			wantStates[n.Name] = planStateOf(n, addresses)
		}
		return len(nodes) > 0
	}))
	p.apply(wantStates, addresses)
	// This daemon has never seen the deleted VMs.
	d, err := s.StartDaemon(worldOf(ts).daemon, ts.MkAbs("vsphere.yaml"), "--deletion-hold=1s")
	ts.Check(err)
	var last map[string]planState
	asPlanned := func(nodes []*v1.Node) bool {
		last = map[string]planState{}
		for _, n := range nodes {
			last[n.Name] = planStateOf(n, addresses)
		}
		return reflect.DeepEqual(last, wantStates)
	}
	if err = untilReady(ctx, d); err == nil {
		err = s.Watch(ctx, "each Node is as planned", asPlanned)
	}
	if err == nil {
		stay, end := context.WithTimeout(ctx, stayTime)
		defer end()
		if left := s.Watch(stay, "a Node is not as planned", func(nodes []*v1.Node) bool { return !asPlanned(nodes) }); left == nil {
			_, _ = d.Stop()
			ts.Fatalf("a Node differs from the plan: got %v, want %v", last, wantStates)
		}
	}
	if _, end := d.Stop(); err == nil {
		err = end
	}
	if err != nil {
		ts.Fatalf("%v\ngot  %v\nwant %v\n%s", err, last, wantStates, d.Log())
	}
}

func planStateOf(n *v1.Node, addresses bool) planState {
	s := planState{labels: maps.Clone(n.Labels), taints: map[string]bool{}}
	// Every Node gets this label; it is not part of a plan.
	delete(s.labels, nodeinfo.KeyInitialized)
	for _, t := range n.Spec.Taints {
		if t.Key == nodeinfo.DriftTaint || t.Key == cloudproviderapi.TaintNodeShutdown {
			s.taints[t.Key] = true
		}
	}
	if addresses {
		var list []string
		for _, a := range n.Status.Addresses {
			list = append(list, string(a.Type)+" "+a.Address)
		}
		s.addresses = strings.Join(list, ", ")
	}
	return s
}

func (p *planOutput) apply(nodes map[string]planState, addresses bool) {
	for _, nodeChanges := range p.Changes {
		s := nodes[nodeChanges.Node]
		for _, c := range nodeChanges.Changes {
			if c.Kind != "addresses" || addresses {
				c.apply(&s)
			}
		}
		nodes[nodeChanges.Node] = s
		if slices.ContainsFunc(nodeChanges.Changes, func(c plannedChange) bool { return c.Action == "delete" }) {
			delete(nodes, nodeChanges.Node)
		}
	}
}

func (c *plannedChange) apply(s *planState) {
	switch {
	case c.Kind == "label" || c.Kind == "instanceType":
		for _, key := range plan.LabelKeys(c.Label) {
			if delete(s.labels, key); c.Result != "" {
				s.labels[key] = c.Result
			}
		}
	case c.Kind == "taint" && c.Action != "":
		if delete(s.taints, c.Label); c.Result != "" {
			s.taints[c.Label] = true
		}
	case c.Kind == "addresses":
		s.addresses = c.Result
	}
}
