package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/test/placed"
	"vzones/topology"
)

// merged applies an RFC 7386 merge patch.
func merged(doc, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if d, ok := doc.(map[string]any); ok {
		maps.Copy(out, d)
	}
	for key, v := range p {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = merged(out[key], v)
		}
	}
	return out
}

func applied(n *v1.Node, patch []byte) (*v1.Node, error) {
	data, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	var doc, change any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(merged(doc, change)); err != nil {
		return nil, err
	}
	out := &v1.Node{}
	return out, json.Unmarshal(data, out)
}

func (p *Plan) appliedTo(t *testing.T, n *v1.Node) *v1.Node {
	t.Helper()
	patch, err := json.Marshal(p.Patch(n))
	if err != nil {
		t.Fatal(err)
	}
	after, err := applied(n, patch)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// situation is a random Node, placement and policy. Few keys and values make every combination common.
type situation struct {
	policy *Policy
	node   *v1.Node
	placed topology.Placement
	// lost means that the decision has no placement.
	lost bool
	age  time.Duration
}

var (
	someLevels = []string{"example.com/rack", "pool", "example.com/row"}
	twinKeys   = append(LabelKeys(topology.LabelRegion), LabelKeys(topology.LabelZone)...)
	strangers  = []string{"kubernetes.io/hostname", "node-restriction.kubernetes.io/pci", "topology.csi.vmware.com/zone", "example.com/team"}
)

func (situation) Generate(r *rand.Rand, _ int) reflect.Value {
	maybe := func(n int) bool { return r.Intn(n) > 0 }
	value := func() string { return []string{"a", "b", "c", ""}[r.Intn(4)] }
	some := func(keys []string) (out []string) {
		for _, k := range keys {
			if maybe(2) {
				out = append(out, k)
			}
		}
		return out
	}
	s := situation{
		policy: aPolicy([]config.Drift{config.DriftReport, config.DriftTaint, config.DriftUpdate}[r.Intn(3)]),
		node:   placed.Node(), lost: !maybe(8),
		age: []time.Duration{0, settle - 1, settle}[r.Intn(3)],
	}
	s.policy.Backfill = maybe(4)
	s.policy.Policy.Levels = nil
	for _, l := range some(someLevels) {
		s.policy.Policy.Levels = append(s.policy.Policy.Levels, topology.Rule{Label: l, Category: "c"})
	}
	s.policy.Policy.Rules = s.policy.Policy.Rules[r.Intn(3):]
	for _, k := range some(slices.Concat(someLevels, twinKeys, strangers)) {
		s.node.Labels[k] = value()
	}
	if maybe(2) {
		s.node.Annotations[nodeinfo.KeyLabels] = strings.Join(some(slices.Concat(someLevels, twinKeys, strangers[:3])), ",")
		s.node.Annotations["example.com/note"] = "kept"
	}
	for _, taint := range []string{"example.com/dedicated", nodeinfo.DriftTaint, "example.com/other"} {
		if maybe(2) {
			s.node.Spec.Taints = append(s.node.Spec.Taints, v1.Taint{Key: taint, Value: "v", Effect: v1.TaintEffectNoExecute})
		}
	}
	var labels []string
	for _, l := range s.policy.Policy.Labels() {
		labels = append(labels, l+"="+[]string{"a", "b", "a!", "b!", "?", ""}[r.Intn(6)])
	}
	s.placed = placed.In(labels...)
	return reflect.ValueOf(s)
}

// plan returns the second plan of the controller, after s.age.
func (s situation) plan(n *v1.Node, before []Timed) *Plan {
	if s.lost {
		return s.policy.For(n, &placement.Decision{PlaceErr: errors.New("unknown")}, nil, nil, noon)
	}
	if before == nil {
		before = s.policy.For(n, &placement.Decision{Placement: s.placed}, nil, nil, noon).Drifts
	}
	return s.policy.For(n, &placement.Decision{Placement: s.placed}, before, nil, noon.Add(s.age))
}

// written returns the keys of labels that differ between two Nodes.
func written(a, b *v1.Node) []string {
	var keys []string
	for key := range merged(asAny(a.Labels), asAny(b.Labels)).(map[string]any) {
		v, had := a.Labels[key]
		if w, has := b.Labels[key]; had != has || v != w {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func asAny(m map[string]string) any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// broken describes an invariant that a plan violates, or returns "".
func (s situation) broken(t *testing.T, p *Plan) string {
	n := s.node
	after := p.appliedTo(t, s.node)
	configured := s.policy.Policy.Labels()
	ours := ownedBy(n)
	for _, key := range written(n, after) {
		base := key
		for _, l := range []string{topology.LabelRegion, topology.LabelZone} {
			if slices.Contains(LabelKeys(l), key) {
				base = l
			}
		}
		_, stays := after.Labels[key]
		gone := !slices.Contains(configured, base)
		switch {
		case slices.Contains(strangers, key):
			return "touches a label of others: " + key
		case gone && (stays || !slices.Contains(ours, key)):
			return "touches a label that is neither configured nor ours: " + key
		case !stays && IsRegionOrZone(base):
			return "removes a region or zone: " + key
		case !stays && !slices.Contains(ours, key):
			return "removes a label of others: " + key
		case s.placed.WhyUndecided(base) != nil && !gone:
			return "touches an undecided label: " + key
		case s.lost && !gone:
			return "writes without a placement: " + key
		case stays && after.Labels[key] != s.placed.Value(base):
			return "writes what is not so: " + key
		case !gone && s.isUncertain(base) && n.Labels[key] != "" && n.Labels[key] != after.Labels[key]:
			return "changes a label that another object may decide: " + key
		case s.policy.Drift != config.DriftUpdate && !gone && (!stays || n.Labels[key] != ""):
			if v, had := n.Labels[key]; had && v != after.Labels[key] {
				return "changes a label under another policy: " + key
			}
		}
		for _, twin := range LabelKeys(base) {
			if after.Labels[twin] != after.Labels[key] {
				return "leaves twins apart: " + base
			}
		}
	}
	if reason := s.mixed(after, written(n, after)); reason != "" {
		return reason
	}
	foreign := func(taint v1.Taint) bool { return taint.Key == nodeinfo.DriftTaint }
	if !slices.Equal(slices.DeleteFunc(slices.Clone(n.Spec.Taints), foreign), slices.DeleteFunc(slices.Clone(after.Spec.Taints), foreign)) {
		return "touches the taints of others"
	}
	if after.Annotations["example.com/note"] != n.Annotations["example.com/note"] {
		return "touches annotations of others"
	}
	if IsTainted(after) && s.policy.Drift != config.DriftTaint {
		return "keeps a taint under another policy"
	}
	if reason := s.mistainted(after); reason != "" {
		return reason
	}
	if after.Annotations[nodeinfo.KeyLabels] != strings.Join(ownedBy(after), ",") {
		return "lists as ours what is not on the Node"
	}
	if p.RestsOnVCenter() && s.lost {
		return "rests on a vCenter that said nothing"
	}
	return ""
}

func (s situation) isUncertain(label string) bool {
	return slices.ContainsFunc(s.placed.Decisions, func(d topology.Decision) bool { return d.Label == label && len(d.Unread) > 0 })
}

// mistainted describes a change of the taint because of an uncertain label, or returns "".
func (s situation) mistainted(after *v1.Node) string {
	if s.policy.Drift != config.DriftTaint || s.lost || IsTainted(s.node) == IsTainted(after) {
		return ""
	}
	certain, uncertain := false, false
	for _, l := range s.policy.Policy.Labels() {
		for _, key := range LabelKeys(l) {
			v, there := s.node.Labels[key]
			switch {
			case !there:
			case s.placed.WhyUndecided(l) != nil || s.isUncertain(l):
				uncertain = true
			case s.placed.Value(l) == "" || v != s.placed.Value(l):
				certain = true
			}
		}
	}
	switch {
	case IsTainted(after) && !certain:
		return "taints for what is uncertain"
	case !IsTainted(after) && uncertain:
		return "takes the taint off while something is uncertain"
	}
	return ""
}

// mixed describes a region or zone that is written beside a wrong value, or returns "".
func (s situation) mixed(after *v1.Node, written []string) string {
	if !slices.ContainsFunc(written, func(key string) bool { return slices.Contains(twinKeys, key) }) {
		return ""
	}
	for _, l := range s.policy.Policy.Labels() {
		if !IsRegionOrZone(l) || s.placed.Value(l) == "" && s.placed.WhyUndecided(l) == nil {
			continue
		}
		for _, key := range LabelKeys(l) {
			if v, there := after.Labels[key]; there && v != s.placed.Value(l) {
				return "writes half of a pair, beside " + key
			}
		}
	}
	return ""
}

func TestInvariants(t *testing.T) {
	writes, repeats := 0, 0
	property := func(s situation) bool {
		untouched := s.node.DeepCopy()
		p := s.plan(s.node, nil)
		if diff := cmp.Diff(untouched, s.node); diff != "" {
			t.Logf("planning changed the Node in place (-before +after):\n%s", diff)
			return false
		}
		if reason := s.broken(t, p); reason != "" {
			t.Log(reason)
			return false
		}
		if !p.Writes() {
			return true
		}
		writes++
		after := p.appliedTo(t, s.node)
		if second := s.plan(after, p.Drifts); second.Writes() {
			repeats++
			t.Logf("not done with one write: then %s, patch %v", acts(second), second.Patch(after))
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 10000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(describe(err))
	}
	if writes < 3000 {
		t.Errorf("only %d situations led to a write", writes)
	}
}

func describe(err error) string {
	failed, ok := err.(*quick.CheckError) //nolint:errorlint // it is what Check returns
	if !ok {
		return err.Error()
	}
	s := failed.In[0].(situation)
	return fmt.Sprintf("labels %v, annotations %v, taints %v, placed %+v, lost %t, drift %s, backfill %t, labels of the policy %v, age %v",
		s.node.Labels, s.node.Annotations, s.node.Spec.Taints, s.placed, s.lost, s.policy.Drift, s.policy.Backfill, s.policy.Policy.Labels(), s.age)
}
