package dryrun

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write the golden file")

// TestDifferences: each part of a Node that the daemon writes is a field, and a change of anything else shows too.
func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		now, would func(*v1.Node)
		want       []row
	}{
		"nothing":       {func(*v1.Node) {}, func(n *v1.Node) { n.ManagedFields, n.Generation = []metav1.ManagedFieldsEntry{{}}, 3 }, nil},
		"a label":       {func(n *v1.Node) { n.Labels = map[string]string{"a": "1", "b": ""} }, func(n *v1.Node) { n.Labels = map[string]string{"a": "", "c": "3"} }, []row{{"label a", "1", `""`}, {"label b", `""`, "-"}, {"label c", "-", "3"}}},
		"an annotation": {func(n *v1.Node) { n.Annotations = map[string]string{"a": "two\nlines"} }, func(*v1.Node) {}, []row{{"annotation a", `"two\nlines"`, "-"}}},
		"a provider ID": {func(*v1.Node) {}, func(n *v1.Node) { n.Spec.ProviderID = "vsphere://x" }, []row{{"provider ID", "-", "vsphere://x"}}},
		"a taint": {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}} }, func(n *v1.Node) {
			n.Spec.Taints = []v1.Taint{{Key: "k", Effect: "NoExecute"}, {Key: "k", Effect: "NoSchedule"}}
		}, []row{{"taint k", "v:NoSchedule", "NoExecute,NoSchedule"}}},
		"addresses": {func(n *v1.Node) {
			n.Status.Addresses = []v1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "InternalIP", Address: "10.0.0.2"}}
		}, func(n *v1.Node) {
			n.Status.Addresses = []v1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.2"}, {Type: "ExternalIP", Address: "10.0.0.1"}}
		}, []row{{"address ExternalIP", "-", "10.0.0.1"}, {"address InternalIP", "10.0.0.1,10.0.0.2", "10.0.0.2"}}},
		"a condition": {func(n *v1.Node) {
			n.Status.Conditions = []v1.NodeCondition{{Type: "C", Status: "True", Reason: "R", Message: "m"}}
		}, func(n *v1.Node) { n.Status.Conditions = []v1.NodeCondition{{Type: "C", Status: "False", Reason: "S"}} }, []row{{"condition C", "True,R", "False,S"}}},
		"anything else":  {func(*v1.Node) {}, func(n *v1.Node) { n.Spec.Unschedulable = true }, []row{{"other fields", "-", "different"}}},
		"the same sizes": {func(n *v1.Node) { n.Status.Capacity = v1.ResourceList{"cpu": resource.MustParse("1")} }, func(n *v1.Node) { n.Status.Capacity = v1.ResourceList{"cpu": resource.MustParse("1000m")} }, nil},
	} {
		now, would := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		c.now(now)
		c.would(would)
		of := newChanges()
		of.write(action{}, now, would)
		nodes, _, _ := of.all()
		if got := rowsOf(nodes["n"]); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

func value(s string) *string { return &s }

// example is a report with something of everything.
func example() *report {
	return &report{
		nodes: 5, foreign: 1,
		changed: map[string]changed{
			"node-1":  {uid: "1", fields: map[string]Change{"label topology.kubernetes.io/zone": {"label topology.kubernetes.io/zone", nil, value("za")}, "address InternalIP": {"address InternalIP", value("10.0.0.1"), value("10.0.0.2")}}},
			"node-2":  {uid: "2", deleted: true, fields: map[string]Change{"label a": {"label a", nil, value("b")}}},
			"node-3":  {uid: "3", failed: map[action]string{{}: "the API server refuses a write: a policy says no"}},
			"changed": {uid: "4", fields: map[string]Change{"taint t": {"taint t", value("NoSchedule"), nil}}},
		},
		problems: []problem{{"changed", "4", `two tags of category "zone" (a, b)`}, {"node-3", "3", "the API server refuses a write: a policy says no"}},
		warnings: []warning{{"changed", "Node changed", "TopologyDrift", "label a differs"}, {"", "Pod kube-system/vzones-0", "VCenterUnreadable", `vCenter "east": no route`}},
	}
}

// TestPrint compares what is printed with testdata.
func TestPrint(t *testing.T) {
	var b strings.Builder
	all := example()
	if err := all.print(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n---\n\n")
	all.incomplete, all.refused = `not decided within 5m0s: vCenter "east": no route`, []string{"PUT /api/v1/x"}
	all.changed, all.problems, all.warnings = nil, nil, nil
	if err := all.print(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n---\n\n")
	for _, n := range example().notes() {
		b.WriteString(n.kind + " " + n.name + " " + string(n.uid) + ": " + n.message + "\n")
	}
	file := filepath.Join("testdata", "printed.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != b.String() {
		t.Errorf("%v: it prints\n%s\nnot\n%s", err, b.String(), want)
	}
}

// TestNotesAreShort: an Event has at most 400 bytes on one line, whatever is in it.
func TestNotesAreShort(t *testing.T) {
	long := strings.Repeat("ü\n", 300)
	fields := map[string]Change{}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		fields[key] = Change{"label " + key + strings.Repeat("x", 60), value(strings.Repeat("y", 30)), nil}
	}
	r := &report{
		changed:  map[string]changed{"many": {fields: fields}, "one": {fields: map[string]Change{"a": {"a", value(long), nil}}}},
		problems: []problem{{name: "one", why: long}, {name: "other", why: long}},
	}
	notes := r.notes()
	if len(notes) != 3 {
		t.Fatalf("%d notes", len(notes))
	}
	for _, n := range notes {
		if len(n.message) > longestMessage || len(n.message) < longestMessage/2 || strings.Contains(n.message, "\n") || !utf8.ValidString(n.message) {
			t.Errorf("Node %s: %d bytes: %q", n.name, len(n.message), n.message)
		}
	}
	if !strings.Contains(notes[1].message, "…; Would be written: a: ") {
		t.Errorf("the problem leaves no room for the changes: %q", notes[1].message)
	}
	if !strings.HasSuffix(notes[0].message, "; and 2 more") {
		t.Errorf("what is left out is not counted: %q", notes[0].message)
	}
}

// TestPrintSaysWhatFailed: a result that does not show everything is an error, one of its own
// if only the time was over.
func TestPrintSaysWhatFailed(t *testing.T) {
	failure := errors.New("no Event")
	for name, c := range map[string]struct {
		result *result
		want   []error
	}{
		"ended before":      {nil, []error{ErrInterrupted}},
		"complete":          {&result{&report{}, nil}, nil},
		"not in time":       {&result{&report{incomplete: "x"}, nil}, []error{ErrIncomplete}},
		"no time, and more": {&result{&report{incomplete: "x"}, failure}, []error{failure}},
		"no Events":         {&result{&report{}, failure}, []error{failure}},
		"a refusal":         {&result{example(), nil}, []error{errFailed}},
		"unknown write":     {&result{&report{refused: []string{"PUT x"}}, nil}, []error{errNotSent}},
	} {
		r := New()
		r.result.Store(c.result)
		var b strings.Builder
		err := r.Print(&b)
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !slices.Contains(c.want, ErrIncomplete) && errors.Is(err, ErrIncomplete) {
			t.Errorf("%s: %v, as if only the time was over", name, err)
		}
		if len(c.want) == 0 && err != nil || (c.result != nil) != strings.Contains(b.String(), "nothing was written") {
			t.Errorf("%s: %v, printed %q", name, err, b.String())
		}
	}
}
