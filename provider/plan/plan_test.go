package plan

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/test/placed"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

var update = flag.Bool("update", false, "write what is decided into the golden file")

const (
	rack     = "example.com/rack"
	betaZone = v1.LabelFailureDomainBetaZone
	settle   = time.Minute
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func aPolicy(drift config.Drift) *Policy {
	return &Policy{&config.Topology{
		Policy: topology.Policy{
			Rules:  topology.Rules{{Label: topology.LabelRegion, Category: "k8s-region"}, {Label: topology.LabelZone, Category: "k8s-zone"}},
			Levels: topology.Rules{{Label: rack, Category: "rack"}},
		},
		Backfill: true, Drift: drift, Settle: settle,
	}}
}

// acts renders a plan in words.
func acts(p *Plan) string {
	var words []string
	for _, c := range p.Changes {
		words = append(words, string(c.Action))
	}
	switch {
	case p.Retaint && p.Taint:
		words = append(words, "taint")
	case p.Retaint:
		words = append(words, "untaint")
	}
	if p.Annotate && len(p.Changes) == 0 {
		words = append(words, "annotate")
	}
	for _, c := range []struct {
		word string
		is   bool
	}{{"wait", !p.Due.IsZero()}, {"hold", len(p.Withheld) > 0}, {"keep", p.TaintKept != nil}} {
		if c.is {
			words = append(words, c.word)
		}
	}
	return cmp.Or(strings.Join(words, " "), "-")
}

// TestMatrix compares the plans for one label, in every state and under every policy, with
// testdata/matrix.txt. A cell contains the actions, and "wait" until a difference settles.
func TestMatrix(t *testing.T) {
	zone := topology.LabelZone
	both := func(v string) []string { return []string{betaZone + "=" + v, zone + "=" + v} }
	states := []struct {
		name   string
		labels []string
		place  string
		owned  bool
	}{
		{"zone missing", nil, zone + "=a", false},
		{"zone missing, beta there", []string{betaZone + "=a"}, zone + "=a", false},
		{"zone missing, stable there", []string{zone + "=a"}, zone + "=a", false},
		{"zone equal", both("a"), zone + "=a", false},
		{"zone empty", both(""), zone + "=a", false},
		{"zone differs", both("b"), zone + "=a", false},
		{"zone differs, beta missing", []string{zone + "=b"}, zone + "=a", false},
		{"zone differs, beta alone", []string{betaZone + "=b", zone + "=a"}, zone + "=a", false},
		{"zone differs, stable alone", []string{betaZone + "=a", zone + "=b"}, zone + "=a", false},
		{"zone undecided", both("b"), zone + "=?", false},
		{"zone undecided, missing", nil, zone + "=?", false},
		{"zone absent", both("b"), zone + "=", false},
		{"zone absent, missing", nil, zone + "=", false},
		{"zone missing, uncertain", nil, zone + "=a!", false},
		{"zone equal, uncertain", both("a"), zone + "=a!", false},
		{"zone differs, uncertain", both("b"), zone + "=a!", false},
		{"level missing", nil, rack + "=r1", false},
		{"level equal", []string{rack + "=r1"}, rack + "=r1", false},
		{"level equal, ours", []string{rack + "=r1"}, rack + "=r1", true},
		{"level empty", []string{rack + "="}, rack + "=r1", false},
		{"level differs", []string{rack + "=r2"}, rack + "=r1", false},
		{"level differs, ours", []string{rack + "=r2"}, rack + "=r1", true},
		{"level missing, uncertain", nil, rack + "=r1!", false},
		{"level differs, ours, uncertain", []string{rack + "=r2"}, rack + "=r1!", true},
		{"level undecided, ours", []string{rack + "=r2"}, rack + "=?", true},
		{"level undecided, missing", nil, rack + "=?", false},
		{"level absent", []string{rack + "=r2"}, rack + "=", false},
		{"level absent, ours", []string{rack + "=r2"}, rack + "=", true},
		{"level gone", []string{"example.com/gone=x"}, rack + "=", false},
		{"level gone, ours", []string{"example.com/gone=x"}, rack + "=", true},
		{"no placement", both("b"), "", false},
		{"no placement, level gone, ours", []string{"example.com/gone=x"}, "", true},
	}
	drifts := []config.Drift{config.DriftReport, config.DriftTaint, config.DriftUpdate}
	var got strings.Builder
	fmt.Fprintf(&got, "%-32s%-9s", "", "tainted")
	for _, d := range drifts {
		fmt.Fprintf(&got, "%-18s%-18s", d, "settled")
	}
	fmt.Fprintln(&got, "no backfill")
	for _, s := range states {
		for _, tainted := range []bool{false, true} {
			n := placed.Node(s.labels...)
			if s.owned {
				n.Annotations[nodeinfo.KeyLabels] = strings.Join(keysOf(n), ",")
			}
			if tainted {
				placed.Taint(n)
			}
			fmt.Fprintf(&got, "%-32s%-9t", s.name, tainted)
			cell := func(p *Policy, age time.Duration) string {
				if s.place == "" {
					return acts(p.For(n, &placement.Decision{PlaceErr: errors.New("unknown")}, nil, nil, noon))
				}
				first := p.For(n, &placement.Decision{Placement: placed.In(s.place)}, nil, nil, noon)
				return acts(p.For(n, &placement.Decision{Placement: placed.In(s.place)}, first.Drifts, nil, noon.Add(age)))
			}
			for _, d := range drifts {
				fmt.Fprintf(&got, "%-18s%-18s", cell(aPolicy(d), settle-1), cell(aPolicy(d), settle))
			}
			off := aPolicy(config.DriftUpdate)
			off.Backfill = false
			fmt.Fprintln(&got, cell(off, settle))
		}
	}
	const file = "testdata/matrix.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestInstanceType: a type from neither vzones nor the CPI is kept, and so is the former name of the
// same type. A missing key gets the value of its twin.
func TestInstanceType(t *testing.T) {
	const beta, stable = v1.LabelInstanceType + "=", LabelInstanceType + "="
	const is, former, other = instanceTypePrefix + "cpu-8.mem-32gb.os-rhel9", instanceTypePrefix + "cpu-8.mem-32gb.os-unknown", instanceTypePrefix + "cpu-4.mem-8gb.os-unknown"
	decision := &placement.Decision{VM: &inventory.VM{}, InstanceType: is, FormerType: former, PlaceErr: errors.New("unknown")}
	for _, c := range []struct{ has, updated, noBackfill []string }{
		{nil, []string{beta + is, stable + is}, nil},
		{[]string{stable + is}, []string{beta + is, stable + is}, []string{stable + is}},
		{[]string{beta + former, stable + former}, []string{beta + former, stable + former}, []string{beta + former, stable + former}},
		{[]string{stable + former}, []string{beta + former, stable + former}, []string{stable + former}},
		{[]string{beta + former}, []string{beta + former, stable + former}, []string{beta + former}},
		{[]string{beta + other, stable + other}, []string{beta + is, stable + is}, []string{beta + is, stable + is}},
		{[]string{beta + former, stable + other}, []string{beta + is, stable + is}, []string{beta + is, stable + is}},
		{[]string{beta + "m5", stable + "m5"}, []string{beta + "m5", stable + "m5"}, []string{beta + "m5", stable + "m5"}},
		{[]string{beta + other, stable + "m5"}, []string{beta + other, stable + "m5"}, []string{beta + other, stable + "m5"}},
		{[]string{beta + "m5", stable + other}, []string{beta + "m5", stable + other}, []string{beta + "m5", stable + other}},
		{[]string{stable + "m5"}, []string{stable + "m5"}, []string{stable + "m5"}},
		{[]string{beta, stable}, []string{beta, stable}, []string{beta, stable}},
	} {
		for _, drift := range []config.Drift{config.DriftReport, config.DriftTaint, config.DriftUpdate} {
			for _, backfill := range []bool{true, false} {
				n := placed.Node(c.has...)
				p := aPolicy(drift)
				p.Backfill = backfill
				begun := p.For(n, decision, nil, nil, noon)
				todo := p.For(n, decision, nil, begun.Resized, noon.Add(settle))
				want := c.updated
				if !backfill {
					want = c.noBackfill
				}
				if drift != config.DriftUpdate && len(begun.Resized) > 0 {
					// The difference is reported and not written.
					want = c.has
				}
				if d := gocmp.Diff(placed.Node(want...).Labels, todo.appliedTo(t, n).Labels, cmpopts.EquateEmpty()); d != "" || todo.Taint || len(begun.Changes) > 0 && len(begun.Resized) > 0 {
					t.Errorf("%q, %s, backfill %t: taint %t, at once %v, (-want +got):\n%s", c.has, drift, backfill, todo.Taint, begun.Changes, d)
				}
			}
		}
	}
}

// TestLabelsOfEachNode: once its VM is known, a Node gets the labels of each Node that it lacks, even without a
// placement. Existing values stay.
func TestLabelsOfEachNode(t *testing.T) {
	const a, b = "example.com/a", "example.com/b"
	each := map[string]string{a: "1", b: ""}
	for name, c := range map[string]struct {
		has, want  []string
		decision   placement.Decision
		noBackfill bool
	}{
		"lacks all":     {nil, []string{a + "=1", b + "="}, placement.Decision{PlaceErr: errors.New("no tag")}, false},
		"has others":    {[]string{a + "=2"}, []string{a + "=2", b + "="}, placement.Decision{}, false},
		"has an empty":  {[]string{a + "=", b + "=x"}, []string{a + "=", b + "=x"}, placement.Decision{}, false},
		"no VM":         {nil, nil, placement.Decision{VMErr: topology.ErrUnknown, PlaceErr: topology.ErrUnknown}, false},
		"no backfill":   {nil, nil, placement.Decision{}, true},
		"and its place": {nil, []string{a + "=1", b + "=", rack + "=r"}, placement.Decision{Placement: placed.In(rack + "=r")}, false},
	} {
		p := aPolicy(config.DriftUpdate)
		n := placed.Node(c.has...)
		p.Backfill = !c.noBackfill
		c.decision.NodeLabels = each
		todo := p.For(n, &c.decision, nil, nil, noon)
		after := todo.appliedTo(t, n)
		if d := gocmp.Diff(placed.Node(c.want...).Labels, after.Labels, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: (-want +got):\n%s", name, d)
		}
		isPlaced := len(c.decision.Placement.Decisions) > 0
		if todo.RestsOnVCenter() != isPlaced {
			t.Errorf("%s: rests on a vCenter: %t, want %t", name, todo.RestsOnVCenter(), isPlaced)
		}
		if second := p.For(after, &c.decision, nil, nil, noon); second.Writes() {
			t.Errorf("%s: afterwards it writes %v and %v", name, second.Set, second.Remove)
		}
	}

	// A level becomes a label of each Node: the value of the level is removed, and the label never is.
	p := aPolicy(config.DriftReport)
	n := placed.Node(rack + "=r1")
	p.Policy.Levels = nil
	n.Annotations[nodeinfo.KeyLabels] = rack
	decision := placement.Decision{NodeLabels: map[string]string{rack: "each"}}
	n = p.For(n, &decision, nil, nil, noon).appliedTo(t, n)
	n = p.For(n, &decision, nil, nil, noon).appliedTo(t, n)
	decision.NodeLabels = nil
	n = p.For(n, &decision, nil, nil, noon).appliedTo(t, n)
	if got := n.Labels[rack]; got != "each" || n.Annotations[nodeinfo.KeyLabels] != "" {
		t.Errorf("%s is %q, and vzones owns %q", rack, got, n.Annotations[nodeinfo.KeyLabels])
	}
}

func keysOf(n *v1.Node) []string {
	var keys []string
	for key := range n.Labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// The patch replaces the whole list of taints, so it must not apply to another Node or to a Node that has changed.
func TestOutOfServicePatch(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	other := v1.Taint{Key: "example.com/a", Effect: v1.TaintEffectNoSchedule}
	since := metav1.NewTime(now)
	ours := v1.Taint{Key: v1.TaintNodeOutOfService, Value: "vm-gone", Effect: v1.TaintEffectNoExecute, TimeAdded: &since}
	anothers := v1.Taint{Key: v1.TaintNodeOutOfService, Value: "vm-gone", Effect: v1.TaintEffectNoSchedule}
	for name, c := range map[string]struct {
		action        Action
		taints, after []v1.Taint
	}{
		"add":                     {ActionOutOfService, []v1.Taint{other}, []v1.Taint{other, ours}},
		"remove":                  {ActionInService, []v1.Taint{ours, other}, []v1.Taint{other}},
		"remove the last":         {ActionInService, []v1.Taint{ours}, []v1.Taint{}},
		"remove beside another's": {ActionInService, []v1.Taint{anothers, ours}, []v1.Taint{anothers}},
	} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: "2"}, Spec: v1.NodeSpec{Taints: c.taints}}
		want := map[string]any{
			"metadata": map[string]any{"uid": types.UID("1"), "resourceVersion": "2"},
			"spec":     map[string]any{"taints": c.after},
		}
		if diff := gocmp.Diff(want, OutOfServicePatch(n, c.action, now)); diff != "" {
			t.Errorf("%s: the patch (-want +got):\n%s", name, diff)
		}
	}
}
