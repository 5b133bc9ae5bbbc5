package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
)

// TestCases: case names are unique, and each fleet has the expected size.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cases() {
		if names[c.name] {
			t.Errorf("the name %q is taken", c.name)
		}
		names[c.name] = true
		spec, err := fleet.Parse([]byte(c.fleet.description()))
		if err != nil {
			t.Errorf("case %s: parsing its fleet: %v", c.name, err)
			continue
		}
		is := layout{vcenters: len(spec.VCenters)}
		for _, v := range spec.VCenters {
			is.fillers += v.Fillers
			for _, dc := range v.Datacenters {
				for _, vm := range dc.VMs {
					is.nodes += vm.Count
				}
			}
		}
		if is != c.fleet {
			t.Errorf("%s: %+v, not %+v", c.name, is, c.fleet)
		}
	}
}

// TestArrivals: a Node with the zone of another VM, or of a hanging vCenter, ends the wait with an
// error. The floor's values are not checked.
func TestArrivals(t *testing.T) {
	f := fleettest.Start(t, layout{vcenters: 2, nodes: 8}.description())
	vms := f.VMs()
	node := func(m fleet.VM, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{v1.LabelTopologyZone: zone}}, Spec: v1.NodeSpec{ProviderID: m.ProviderID()}}
	}
	for want, c := range map[string]struct {
		isFloor bool
		nodes   []*v1.Node
	}{
		"":                  {false, []*v1.Node{node(vms[0], "vc01-dc1-c1"), node(vms[0], "other"), node(vms[1], "vc01-dc1-c2")}},
		`the zone "floor"`:  {false, []*v1.Node{node(vms[0], "floor")}},
		"does not respond":  {true, []*v1.Node{node(vms[7], "floor")}},
		"1 Nodes are not i": {true, []*v1.Node{node(vms[0], "floor")}},
	} {
		a := &arrivals{done: make(chan struct{}), initialized: map[string]bool{}, isFloor: c.isFloor,
			waiting: map[string]fleet.VM{vms[0].Name: vms[0], vms[1].Name: vms[1]}}
		for _, n := range c.nodes {
			a.see(n)
		}
		got := a.missing()
		select {
		case <-a.done:
			if got = ""; a.wrongValue != nil {
				got = a.wrongValue.Error()
			}
		default:
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	r := median([]reading{{seconds: 9, cpu: 1}, {seconds: 1, cpu: 2}, {seconds: 3, first: 0.5, cpu: 4, memory: 90 << 20, requests: 45, maxPerVCenter: 17, vcenters: 5, metrics: 6 * time.Millisecond}})
	got := row(benchCase{name: "a", fleet: layout{3, 300, 20}}, r, reading{seconds: 2, first: 0.25, cpu: 1, vcenters: 3, memory: 75 << 20})
	if want := "| a, 20 further VMs | 300 | 3 | 3.00 | 2.00 | 1.50 | 0.50 | 0.25 | 45 | 17 | 4.00 | 1.00 | 2.00 | 90 | 75 | 6 |\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	lines := strings.Split(heading(time.Millisecond), "\n")
	if strings.Count(lines[2], "|") != strings.Count(got, "|") || strings.Count(lines[3], "|") != strings.Count(got, "|") {
		t.Errorf("the heading is %q", lines)
	}
	got = comparison(benchCase{name: "b"}, r, reading{cpu: 2, memory: 80 << 20, requests: 50, maxPerVCenter: 17})
	if want := "| b, against none | | | | | | | | 0.90 × | 1.00 × | 2.00 × | | | +10.0 | | |\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestDifferences: the floor gets the daemon's defaults for flags that both programs have.
func TestDifferences(t *testing.T) {
	const daemon = `Generic flags:
      --kube-api-qps float32   QPS to use (for the API server). (default 1000)
  -v, --v Level                number for the log level
      --name string            a name (default "a b")
      --only-of-the-daemon     a flag (default 2)`
	floor := strings.NewReplacer("only-of-the-daemon", "only-of-the-floor", "1000", "20", "a b", "").Replace(daemon)
	if got := differences(defaults(daemon), defaults(floor)); !slices.Equal(got, []string{"--kube-api-qps=1000", "--name=a b"}) {
		t.Errorf("differences: %q", got)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{args: "-cases hung,nothing", status: 2, stderr: `no case "nothing"`},
		{args: "-nonsense", status: 2, stderr: "not defined"},
		{args: "argument", status: 2, stderr: "-help"},
		{args: "-daemon /nonexistent", status: 1, stderr: "make bench"},
		{args: "-list -cases nodes-300,hung", stdout: "nodes-300 "},
	} {
		var out, errs strings.Builder
		if status := run(strings.Fields(c.args), &out, &errs); status != c.status || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) {
			t.Errorf("run(%q) = %d, printed %q and the error %q, want %d, %q and %q", c.args, status, out.String(), errs.String(), c.status, c.stdout, c.stderr)
		}
	}
}
