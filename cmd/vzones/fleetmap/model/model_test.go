package model_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vzones/cmd/vzones/fleetmap/fleetmaptest"
	"vzones/cmd/vzones/fleetmap/model"
)

func text(t *testing.T, m *model.Map) string {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOrder: the order of hosts and Nodes in the facts means nothing.
func TestOrder(t *testing.T) {
	want := text(t, model.Build(fleetmaptest.Example()))
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := fleetmaptest.Example()
		r.Shuffle(len(f.Hosts), func(i, j int) { f.Hosts[i], f.Hosts[j] = f.Hosts[j], f.Hosts[i] })
		r.Shuffle(len(f.Nodes), func(i, j int) { f.Nodes[i], f.Nodes[j] = f.Nodes[j], f.Nodes[i] })
		if got := text(t, model.Build(f)); got != want {
			t.Fatalf("seed %d:\n%s\nis not\n%s", seed, got, want)
		}
	}
}

// TestComplete: each Node is once on the map, each host at least once, and the counts are right.
func TestComplete(t *testing.T) {
	for name, f := range map[string]*model.Facts{"example": fleetmaptest.Example(), "large": fleetmaptest.Large(4, 800), "hostile": fleetmaptest.Hostile()} {
		m := model.Build(f)
		nodes, hosts := map[string]int{}, map[[2]string]bool{}
		problems := map[string]bool{} // an object that is in several places has a problem once
		note := func(object string, marks []model.Mark) {
			for _, mark := range marks {
				if mark.IsProblem() {
					problems[object+string(mark.Kind)+mark.Text] = true
				}
			}
		}
		for _, r := range m.Regions {
			note("region "+r.Name, r.Marks)
			below := 0
			for _, z := range r.Zones {
				note("zone "+r.Name+" "+z.Name, z.Marks)
				below += z.Counts.Nodes
				for _, c := range z.Clusters {
					note("cluster "+c.VCenter+c.Path, c.Marks)
					for _, h := range c.Hosts {
						note("host "+c.VCenter+h.ID, h.Marks)
						hosts[[2]string{c.VCenter, h.ID}] = true
						for _, n := range h.Nodes {
							note("node "+n.Name, n.Marks)
							nodes[n.Name]++
						}
					}
				}
			}
			if below != r.Counts.Nodes {
				t.Errorf("%s: region %q counts %d Nodes, its zones %d", name, r.Name, r.Counts.Nodes, below)
			}
		}
		for _, n := range m.Unplaced {
			note("node "+n.Name, n.Marks)
			nodes[n.Name]++
		}
		for _, v := range m.VCenters {
			note("vcenter "+v.Name, v.Marks)
		}
		for _, n := range f.Nodes {
			if nodes[n.Name] != 1 {
				t.Errorf("%s: Node %q is %d times on the map", name, n.Name, nodes[n.Name])
			}
		}
		if len(nodes) != len(f.Nodes) || m.Counts.Nodes != len(f.Nodes) || len(hosts) != len(f.Hosts) || m.Counts.Hosts != len(f.Hosts) || m.Counts.Problems != len(problems) {
			t.Errorf("%s: %d Nodes of %d, %d hosts of %d, %d problems: %+v", name, len(nodes), len(f.Nodes), len(hosts), len(f.Hosts), len(problems), m.Counts)
		}
	}
}

// zones are so many worker Nodes in each zone of a region.
func zones(workers ...int) *model.Facts {
	f := &model.Facts{Cluster: true}
	for i, n := range workers {
		zone := string(rune('a' + i))
		h := model.HostFacts{HostKey: model.HostKey{VCenter: "v", ID: zone}, Name: zone, Cluster: "/c", Region: "r", Zone: zone}
		f.Hosts = append(f.Hosts, h)
		for j := range n {
			f.Nodes = append(f.Nodes, model.NodeFacts{Name: zone + string(rune('a'+j)), Host: h.HostKey, Region: "r", Zone: zone})
		}
	}
	return f
}

// TestImbalance: a zone with less than two thirds of the Nodes of the largest one, and two fewer, is marked.
func TestImbalance(t *testing.T) {
	for _, c := range []struct {
		workers []int
		marked  string
	}{
		{[]int{3, 3, 3}, ""},
		{[]int{3, 2}, ""},
		{[]int{2, 1}, ""},
		{[]int{3, 1}, "b"},
		{[]int{12, 8, 7}, "c"},
		{[]int{4, 0, 4}, ""}, // the cluster may not use it
		{[]int{1, 1, 6}, "ab"},
	} {
		var marked []string
		for _, z := range model.Build(zones(c.workers...)).Regions[0].Zones {
			if slices.ContainsFunc(z.Marks, func(m model.Mark) bool { return m.Kind == model.Imbalance }) {
				marked = append(marked, z.Name)
			}
		}
		if got := strings.Join(marked, ""); got != c.marked {
			t.Errorf("%v: marked are %q", c.workers, got)
		}
	}
}

// TestNoFalseMarks: nothing is marked in a fleet that is as it should be.
func TestNoFalseMarks(t *testing.T) {
	m := model.Build(zones(1, 1, 1))
	if len(m.Kinds) > 0 {
		t.Errorf("marked are %+v", m.Kinds)
	}
}

// TestTagsElsewhere: a host whose Nodes get their zone from a folder or pool needs no tag, and is where
// its Nodes are.
func TestTagsElsewhere(t *testing.T) {
	f := zones(2)
	f.Hosts[0].Region, f.Hosts[0].Zone, f.Hosts[0].Missing = "", "", []string{"region", "zone"}
	f.Nodes[1].Zone = "b"
	m := model.Build(f)
	if len(m.Kinds) > 0 || len(m.Regions) != 1 || len(m.Regions[0].Zones) != 2 || m.Counts.Hosts != 1 {
		t.Errorf("%s", text(t, m))
	}
}

// TestSharedHosts: Nodes of one zone that share a host are marked, whoever else is on the host. Those of the
// control plane alone have a mark of their own.
func TestSharedHosts(t *testing.T) {
	for name, c := range map[string]struct {
		// zones are those of Nodes on one host; those of the control plane begin with a star.
		zones  []string
		marked string
	}{
		"one each":                         {[]string{"a", "b"}, ""},
		"two workers":                      {[]string{"a", "a"}, "sharedHost"},
		"a control plane":                  {[]string{"*a", "*a"}, "sharedControlPlane"},
		"one of each":                      {[]string{"*a", "a"}, "sharedHost"},
		"workers beside a control plane":   {[]string{"*b", "*b", "a", "a"}, "sharedControlPlane sharedHost"},
		"one worker beside two of another": {[]string{"*b", "*b", "a"}, "sharedControlPlane"},
	} {
		f := zones(0)
		for i, zone := range c.zones {
			name, master := strings.CutPrefix(zone, "*")
			f.Nodes = append(f.Nodes, model.NodeFacts{Name: string(rune('0' + i)), Host: f.Hosts[0].HostKey, Region: "r", Zone: name, ControlPlane: master})
		}
		var marked []string
		for _, k := range model.Build(f).Kinds {
			if k.Kind == model.SharedHost || k.Kind == model.SharedControlPlane {
				marked = append(marked, string(k.Kind))
			}
		}
		if got := strings.Join(marked, " "); got != c.marked {
			t.Errorf("%s: marked are %q", name, got)
		}
	}
}

// TestInSeveralZones: a host whose Nodes are in several zones is in each with what concerns its Nodes there, and
// what is wrong with it counts once.
func TestInSeveralZones(t *testing.T) {
	f := zones(2)
	f.Hosts[0].Disconnected = true
	f.Nodes = append(f.Nodes, model.NodeFacts{Name: "other", Host: f.Hosts[0].HostKey, Region: "r", Zone: "b"})
	m := model.Build(f)
	counts := map[model.Kind]int{}
	for _, k := range m.Kinds {
		counts[k.Kind] = k.Count
	}
	if counts[model.SharedHost] != 1 || counts[model.Disconnected] != 1 || m.Counts.Problems != 1 {
		t.Errorf("%+v, %+v", m.Kinds, m.Counts)
	}
	for _, z := range m.Regions[0].Zones {
		marks := z.Clusters[0].Hosts[0].Marks
		shared := slices.ContainsFunc(marks, func(m model.Mark) bool { return m.Kind == model.SharedHost })
		if z.Counts.Problems != 1 || shared != (z.Name == "a") {
			t.Errorf("zone %s: %+v", z.Name, marks)
		}
	}
}

// TestKinds: each kind is listed once, with the worst first, and has a title.
func TestKinds(t *testing.T) {
	kinds := model.Kinds()
	for i, k := range kinds {
		if k.Title() == string(k) || slices.Contains(kinds[:i], k) {
			t.Errorf("kind %s has no title, or is listed twice", k)
		}
		if i > 0 && k.Severity() != kinds[i-1].Severity() && k.Severity().AtLeast(kinds[i-1].Severity()) {
			t.Errorf("%s is worse than %s", k, kinds[i-1])
		}
	}
}
