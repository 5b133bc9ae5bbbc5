package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/test/fleet"
)

// TestCases: each has a fleet that can be built, a name of its own and bounds
// on its time.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range append(cases(), warmUp()) {
		if names[c.name] || c.name == "" {
			t.Errorf("the name %q is taken", c.name)
		}
		names[c.name] = true
		if c.name != "warm-up" && (c.deadline <= 0 || c.deadline >= whole) {
			t.Errorf("%s: a deadline of %s", c.name, c.deadline)
		}
		spec, err := fleet.Parse([]byte(c.fleet.description()))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		nodes, fillers := 0, 0
		for _, v := range spec.VCenters {
			fillers += v.Fillers
			for _, dc := range v.Datacenters {
				for _, vm := range dc.VMs {
					nodes += vm.Count
				}
			}
		}
		if len(spec.VCenters) != c.fleet.vcenters || nodes != c.fleet.total() || fillers != c.fleet.others {
			t.Errorf("%s: %d vCenters with %d Nodes and %d further VMs for %+v", c.name, len(spec.VCenters), nodes, fillers, c.fleet)
		}
	}
}

// TestMachines: the zone that is expected of a machine is the tag that its
// cluster has.
func TestMachines(t *testing.T) {
	f, err := fleet.Start(t.Context(), must(t, layout{vcenters: 2, nodes: 20, bare: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, w := len(withZone(f.Machines())), len(withoutZone(f.Machines())); s != 20 || w != 2 {
		t.Errorf("%d machines with a zone and %d without", s, w)
	}
	for _, m := range withoutZone(f.Machines()) {
		if err := migrate(f.VCenter(m.VCenter), m); err != nil {
			t.Error(err)
		}
		if err := tag(f.VCenter(m.VCenter), m); err != nil {
			t.Error(err)
		}
	}
	for _, m := range f.Machines() {
		if !strings.HasPrefix(zone(m.VCenter, m.Cluster), m.VCenter+"-dc") {
			t.Errorf("machine %s is in cluster %q of %s", m.Name, m.Cluster, m.VCenter)
		}
	}
}

func must(t *testing.T, l layout) *fleet.Spec {
	t.Helper()
	spec, err := fleet.Parse([]byte(l.description()))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestHostiles: there are as many hostile Nodes and machines as said, none of them under
// an honest name, and the daemon is measured as it is installed.
func TestHostiles(t *testing.T) {
	f, err := fleet.Start(t.Context(), must(t, layout{vcenters: 3, nodes: 300}))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	honest := f.Machines()
	for i, v := range f.VCenters() {
		if err := v.Create(bareDatacenter, victimSpec(i)); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, m := range f.Machines() {
		names[m.Name] = true
	}
	machines, err := newHostileMachines(f, honest)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Machines()) - len(honest) - 3; n != 20 {
		t.Errorf("%d hostile machines", n)
	}
	nodes := hostileNodes(f, honest, false)
	if len(nodes) != 100 {
		t.Errorf("%d hostile Nodes", len(nodes))
	}
	for _, n := range nodes {
		if names[n.Name] {
			t.Errorf("the name %s is taken", n.Name)
		}
		names[n.Name] = true
	}
	if err := machines.remove(); err != nil || len(f.Machines()) != len(honest)+3 {
		t.Errorf("%d machines are left, %v", len(f.Machines()), err)
	}
	if limit, verbosity, err := installed(); err != nil || limit < 64 || verbosity != "2" { // as stack starts it
		t.Errorf("a limit of %g MiB, -v=%s, %v", limit, verbosity, err)
	}
}

func TestShare(t *testing.T) {
	for _, total := range []int{0, 1, 60, 1000} {
		for _, n := range []int{1, 3, 12} {
			sum, least, most := 0, total, 0
			for i := range n {
				s := share(total, n, i)
				sum, least, most = sum+s, min(least, s), max(most, s)
			}
			if sum != total || most-least > 1 {
				t.Errorf("%d in %d shares: %d in all, %d to %d", total, n, sum, least, most)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	all := len(cases())
	for _, test := range []struct {
		list  string
		short bool
		want  int
		bad   bool
	}{
		{"", false, all, false},
		{"", true, all - 1, false}, // without retag
		{"retag", true, 1, false},
		{"hung,nodes-60", false, 2, false},
		{"nodes-*", false, 6, false},
		{"nodes", false, 0, true},
		{"hung,nothing", false, 0, true},
	} {
		got, err := choose(cases(), test.list, test.short)
		if len(got) != test.want || (err != nil) != test.bad {
			t.Errorf("%q, short %t: %d cases, error %v", test.list, test.short, len(got), err)
		}
		if !slices.IsSortedFunc(got, func(a, b benchCase) int { return position(a) - position(b) }) {
			t.Errorf("%q: not in the order of the table", test.list)
		}
	}
}

func position(c benchCase) int {
	return slices.IndexFunc(cases(), func(o benchCase) bool { return o.name == c.name })
}

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		o    options
		want int
	}{
		{options{cases: "hung"}, repeats},
		{options{cases: "hung", short: true}, 1},
		{options{cases: "hung", short: true, runs: 5}, 5},
		{options{cases: "nodes-5000", runs: 5}, 1}, // minutes each
	} {
		todo, err := plan(test.o)
		if err != nil {
			t.Fatal(err)
		}
		if todo[0].runs != test.want {
			t.Errorf("%+v: %d runs", test.o, todo[0].runs)
		}
	}
}

func TestDifferences(t *testing.T) {
	const daemon = `Generic flags:
      --kube-api-qps float32   QPS to use (for the API server). (default 1000)
  -v, --v Level                number for the log level
      --only-of-the-daemon     a flag`
	floor := strings.ReplaceAll(daemon, "only-of-the-daemon", "only-of-the-floor")
	want := map[string]string{"kube-api-qps": "1000", "v": "", "only-of-the-daemon": ""}
	if diff := cmp.Diff(want, defaults(daemon)); diff != "" {
		t.Error(diff)
	}
	if got := differences(defaults(daemon), defaults(floor)); got != "" {
		t.Errorf("equal flags differ: %s", got)
	}
	other := strings.ReplaceAll(floor, "1000", "20")
	if got := differences(defaults(daemon), defaults(other)); got != "--kube-api-qps=1000 and 20" {
		t.Errorf("differences: %q", got)
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{{"-cases", "nothing"}, {"-nonsense"}, {"argument"}, {"-runs", "-1"}} {
		var out, errs strings.Builder
		if status := run(args, &out, &errs); status != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: status %d, %q, %q", args, status, out.String(), errs.String())
		}
	}
	var out, errs strings.Builder
	if status := run([]string{"-daemon", "/nonexistent"}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "make bench") {
		t.Errorf("status %d, %q", status, errs.String())
	}
	if status := run([]string{"-list"}, &out, &errs); status != 0 || !strings.Contains(out.String(), "steady") {
		t.Errorf("status %d, %q", status, out.String())
	}
}
