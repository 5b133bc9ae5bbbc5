package operator

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"

	"vzones/provider/plan"
)

// aPlan is what is needed of the output of vzones plan.
type aPlan struct {
	Changes []struct {
		Node    string `json:"node"`
		Changes []struct {
			Kind   string `json:"kind"`
			Label  string `json:"label"`
			Result string `json:"result"`
			Action string `json:"action"`
		} `json:"changes"`
	} `json:"changes"`
}

// stayTime is how long labels that are as planned have to stay so: more than a settle time of a
// second and a few rounds.
const stayTime = 3 * time.Second

// planned runs the daemon and compares what it does with a plan.
func planned(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: planned FILE")
	}
	var p aPlan
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	s := needStack(ts)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	want := map[string]map[string]string{}
	tainted := map[string]bool{}
	ts.Check(s.Watch(ctx, "the Nodes", func(nodes []*v1.Node) bool {
		for _, n := range nodes {
			want[n.Name], tainted[n.Name] = p.labelsOf(n), p.taints(n)
		}
		return len(nodes) > 0
	}))
	d, err := s.StartDaemon(of(ts).daemon, ts.MkAbs("vsphere.yaml"))
	ts.Check(err)
	var last []*v1.Node
	asPlanned := func(nodes []*v1.Node) bool {
		last = nodes
		for _, n := range nodes {
			if !maps.Equal(want[n.Name], n.Labels) || plan.IsTainted(n) != tainted[n.Name] {
				return false
			}
		}
		return len(nodes) == len(want)
	}
	if err = untilReady(ctx, d); err == nil {
		err = s.Watch(ctx, "each Node has the labels and the taint that are planned", asPlanned)
	}
	if err == nil {
		stay, end := context.WithTimeout(ctx, stayTime)
		defer end()
		if left := s.Watch(stay, "a Node has other labels", func(nodes []*v1.Node) bool { return !asPlanned(nodes) }); left == nil {
			_, _ = d.Stop()
			ts.Fatalf("a Node got labels or a taint that are not planned: %v, not %v, tainted: %v", labelsOf(last), want, tainted)
		}
	}
	if _, end := d.Stop(); err == nil {
		err = end
	}
	if err != nil {
		ts.Fatalf("%v\ngot  %v\nwant %v, tainted: %v\n%s", err, labelsOf(last), want, tainted, d.Log())
	}
}

// labelsOf returns the labels that a Node has after a plan.
func (p *aPlan) labelsOf(n *v1.Node) map[string]string {
	all := maps.Clone(n.Labels)
	for _, of := range p.Changes {
		for _, c := range of.Changes {
			if of.Node != n.Name || c.Kind != "label" && c.Kind != "instanceType" {
				continue
			}
			for _, key := range plan.StableAndBeta(c.Label) {
				if delete(all, key); c.Result != "" {
					all[key] = c.Result
				}
			}
		}
	}
	return all
}

// taints reports whether a Node has the taint of drift after a plan.
func (p *aPlan) taints(n *v1.Node) bool {
	has := plan.IsTainted(n)
	for _, of := range p.Changes {
		for _, c := range of.Changes {
			if of.Node == n.Name && c.Kind == "taint" && c.Action != "" {
				has = c.Result != ""
			}
		}
	}
	return has
}

func labelsOf(nodes []*v1.Node) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, n := range nodes {
		all[n.Name] = n.Labels
	}
	return all
}
