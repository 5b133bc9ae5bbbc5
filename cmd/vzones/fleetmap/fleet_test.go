package fleetmap

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

// readAt is the time of the read in all fleets.
var readAt = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// addHosts adds the hosts of a cluster. Their IDs begin with the name of the cluster.
func (f *fleet) addHosts(vcenter, dc, cluster string, n int, region, zone string) {
	for i := range n {
		h := &host{VCenter: vcenter, ID: fmt.Sprintf("%s-%d", cluster, i+1), Name: fmt.Sprintf("esx-%s-%02d", cluster, i+1), Cluster: dc + "/host/" + cluster}
		h.place = place{region, zone, "", ""}
		if region != "" {
			h.RegionBy = fmt.Sprintf("category %q on datacenter %s of vCenter %q", "k8s-region", dc, vcenter)
		}
		if zone != "" {
			h.ZoneBy = fmt.Sprintf("category %q on cluster %s of vCenter %q", "k8s-zone", h.Cluster, vcenter)
		} else {
			h.Marks = append(h.Marks, newMark(untagged, "no zone"))
		}
		f.hosts = append(f.hosts, h)
	}
}

func (f *fleet) hostOf(id string) *host {
	for _, h := range f.hosts {
		if h.ID == id {
			return h
		}
	}
	panic("no host " + id)
}

func (f *fleet) addNode(name, id string, marks ...mark) *node {
	h := f.hostOf(id)
	n := &node{Name: name, VM: fmt.Sprintf("VM /dc-1/vm/%s of vCenter %q", name, h.VCenter), host: h, place: h.place, Marks: marks}
	f.nodes = append(f.nodes, n)
	return n
}

// exampleFleet is a small fleet with every kind of mark.
func exampleFleet() *fleet {
	f := &fleet{Read: readAt, HasNodes: true, Foreign: 1, VCenters: []*vcenter{
		{Name: "paris"}, {Name: "milan", Marks: []mark{newMark(incomplete, "the tags of datacenter /dc-2 cannot be read: the account lacks the privilege System.Read")}},
		{Name: "porto", Marks: []mark{newMark(unread, "logging in to https://vc-porto.example.com is rejected: correct the password in Secret kube-system/vcenters")}},
	}}
	f.addHosts("paris", "/dc-1", "p1", 4, "paris", "paris-1")
	f.addHosts("paris", "/dc-1", "p2", 4, "paris", "paris-2")
	f.addHosts("paris", "/dc-1", "p3", 2, "paris", "")
	f.addHosts("milan", "/dc-1", "m1", 4, "milan", "milan-1")
	f.addHosts("milan", "/dc-1", "m2", 4, "milan", "milan-2")
	f.hosts = append(f.hosts, &host{
		VCenter: "milan", ID: "edge", Name: "esx-edge", Cluster: "/dc-2/host/esx-edge", Standalone: true,
		Marks: []mark{newMark(undecided, "the tags of datacenter /dc-2 cannot be read")},
	})
	for id, m := range map[string]mark{"p1-4": newMark(off, "it is off"), "p2-4": newMark(undecided, "it is not known")} {
		f.hostOf(id).Marks = []mark{m}
	}
	for i, id := range []string{"p1-1", "p2-1", "m1-1"} {
		f.addNode(fmt.Sprintf("control-%d", i+1), id).ControlPlane = true
	}
	for i, id := range []string{
		"p1-1", "p1-2", "p1-2", "p1-3", "p1-3", "p2-1", "p2-2", "p2-2", "p2-3", "p2-3", "m1-1", "m1-2", "m1-2", "m1-3", "m1-3", "m1-4", "m2-1", "m2-1", "m2-2", "m2-3", "m2-3", "m2-4",
	} {
		f.addNode(fmt.Sprintf("worker-%02d", i+1), id)
	}
	f.addNode("worker-23", "m2-1", newMark(drift, "the zone differs"))
	f.addNode("worker-24", "m2-2", newMark(uninitialized, "it is not initialized: VMware Tools report no address yet"))
	f.addNode("worker-25", "p2-3", newMark(off, "its VM is off or suspended"))
	f.addNode("worker-26", "p1-2", newMark(problem, "two Nodes have the UUID of its VM: give one of them another UUID"))
	f.nodes = append(f.nodes, &node{Name: "worker-27", Marks: []mark{newMark(unplaced, `vCenter "porto" may have the VM, and cannot be read`)}})
	return f
}

// largeFleet has eight vCenters with three zones and twelve clusters each, and three Nodes on most hosts.
func largeFleet(nodes int) *fleet {
	const vcenters, clusters = 8, 12
	f := &fleet{Read: readAt, HasNodes: true}
	each := nodes / vcenters
	for v := range vcenters {
		name := fmt.Sprintf("vc-%02d", v+1)
		f.VCenters = append(f.VCenters, &vcenter{Name: name})
		first := len(f.hosts)
		for c := range clusters {
			f.addHosts(name, "/dc-1", fmt.Sprintf("%s-c%02d", name, c+1), max(each/clusters/3, 1), fmt.Sprintf("region-%d", v+1), fmt.Sprintf("zone-%d%c", v+1, 'a'+c%3))
		}
		here := f.hosts[first:]
		for i := range each {
			h := here[(i*7)%len(here)]
			n := &node{Name: fmt.Sprintf("node-%d-%04d", v+1, i), ControlPlane: v < 3 && i == 0, VM: "VM /dc-1/vm/node", host: h, place: h.place}
			switch i % 97 {
			case 7:
				n.Marks = []mark{newMark(drift, "the zone differs")}
			case 31:
				n.Marks = []mark{newMark(uninitialized, "it is not initialized")}
			case 53:
				n.Marks = []mark{newMark(off, "its VM is off or suspended")}
			}
			f.nodes = append(f.nodes, n)
		}
	}
	return f
}

// evil is a name that tries to break out of the page and to control the terminal.
const evil = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=\"alert(1)\x1b[31m\x1b]0;title\a\r\n\u202e]]>&lt;{{.}}\x00\xff"

// hostileFleet is a fleet in which every name is evil.
func hostileFleet() *fleet {
	h := &host{VCenter: evil, ID: evil, Name: evil, Cluster: evil, place: place{evil, evil, evil, evil}, Marks: []mark{newMark(undecided, evil)}}
	alone := &host{VCenter: evil, ID: "2", Name: evil, Cluster: evil + "2", Standalone: true, Marks: []mark{newMark(untagged, evil)}}
	return &fleet{
		HasNodes: true, hosts: []*host{h, alone}, VCenters: []*vcenter{{evil, []mark{newMark(unread, evil), newMark(incomplete, evil)}}},
		nodes: []*node{
			{Name: evil, ControlPlane: true, host: h, VM: quote.Name(evil), place: h.place, Marks: []mark{newMark(drift, evil)}},
			{Name: evil + "2", host: h, place: place{evil, evil + "3", evil, evil}},
			{Name: evil + "3", Marks: []mark{newMark(unplaced, evil)}},
		},
	}
}

// fleets returns all test fleets, arranged.
func fleets() map[string]*fleet {
	all := map[string]*fleet{"example": exampleFleet(), "large": largeFleet(3000), "hostile": hostileFleet()}
	for _, f := range all {
		f.arrange()
	}
	return all
}

func pageOf(t *testing.T, f *fleet) []byte {
	t.Helper()
	page, err := f.page()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func treeOf(t *testing.T, f *fleet, all bool) string {
	t.Helper()
	var out strings.Builder
	if err := (&cli.Tool{Stdout: &out}).PrintTrees(f.tree(all)...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The page is well-formed, contains each Node and host, and neither runs nor loads anything.
// VZONES_PAGES is a directory for the pages.
func TestPage(t *testing.T) {
	for name, f := range fleets() {
		page := pageOf(t, f)
		if dir := os.Getenv("VZONES_PAGES"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".html"), page, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		classes, level := map[string]int{}, 0
		var text strings.Builder
		d := xml.NewDecoder(strings.NewReader(string(page)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: the page is not well-formed: %v", name, err)
			}
			switch e := token.(type) {
			case xml.CharData:
				text.Write(e)
			case xml.StartElement:
				if strings.Contains(" script img iframe object embed link base form input button ", " "+e.Name.Local+" ") {
					t.Errorf("%s: the page has an element %s", name, e.Name.Local)
				}
				if n := e.Name.Local; len(n) == 2 && n[0] == 'h' && n[1] != 'r' {
					if next := int(n[1] - '0'); next > level+1 {
						t.Errorf("%s: a heading %s follows one of level %d", name, n, level)
					} else {
						level = next
					}
				}
				for _, a := range e.Attr {
					switch a.Name.Local {
					case "class":
						classes[strings.Fields(a.Value)[0]]++
					case "id", "href", "title", "content", "name", "charset", "http-equiv", "lang", "open", "aria-label", "aria-labelledby", "aria-hidden", "tabindex", "datetime":
					default:
						t.Errorf("%s: element %s has an attribute %s", name, e.Name.Local, a.Name.Local)
					}
				}
			}
		}
		if placed := count(f.Regions).Nodes; classes["node"] != placed || classes["host"] < len(f.hosts) {
			t.Errorf("%s: the page has %d of %d Nodes, and %d of %d hosts", name, classes["node"], placed, classes["host"], len(f.hosts))
		}
		for _, n := range f.nodes {
			if !strings.Contains(text.String(), n.Name) {
				t.Errorf("%s: the page does not name the Node %s", name, n.Name)
			}
		}
		if strings.ContainsFunc(text.String(), isOdd) {
			t.Errorf("%s: the page has characters that cannot be printed", name)
		}
	}
}

func isOdd(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }

func TestHostileNames(t *testing.T) {
	f := hostileFleet()
	f.arrange()
	page := string(pageOf(t, f))
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Errorf("the page does not escape names:\n%s", page)
	}
	if text := treeOf(t, f, true); strings.ContainsFunc(text, isOdd) || !strings.Contains(text, "alert(1)") {
		t.Errorf("got the tree %q, want the hostile name without characters that a terminal interprets", text)
	}
}

// The tree omits hosts without problems first.
func TestFew(t *testing.T) {
	f := largeFleet(3000)
	f.arrange()
	text := treeOf(t, f, false)
	for _, n := range f.nodes {
		if isProblem(n.Marks) && !strings.Contains(text, n.Name) {
			t.Errorf("Node %s is not in the tree", n.Name)
		}
	}
	if !strings.Contains(text, "and 5 more hosts with 15 Nodes (--all)") {
		t.Error(text[:2000])
	}
}

func TestOrder(t *testing.T) {
	want := ""
	for seed := range uint64(20) {
		f, r := exampleFleet(), rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(f.hosts), func(i, j int) { f.hosts[i], f.hosts[j] = f.hosts[j], f.hosts[i] })
		r.Shuffle(len(f.nodes), func(i, j int) { f.nodes[i], f.nodes[j] = f.nodes[j], f.nodes[i] })
		f.arrange()
		got := string(pageOf(t, f)) + treeOf(t, f, true)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("seed %d:\n%s\nis not\n%s", seed, got, want)
		}
	}
}

// Regions count their own objects, and the fleet counts each object once.
func TestCounts(t *testing.T) {
	for name, f := range fleets() {
		nodes, problems := 0, 0
		for _, n := range f.nodes {
			if n.host == nil {
				nodes, problems = nodes+1, problems+1
			}
		}
		for _, r := range f.Regions {
			nodes += r.Counts.Nodes
			problems += r.Counts.Problems
		}
		if c := f.Counts; nodes != len(f.nodes) || c.Nodes != nodes || c.Hosts != len(f.hosts) || c.Problems != problems {
			t.Errorf("%s: the regions have %d of %d Nodes and %d problems: %+v", name, nodes, len(f.nodes), problems, c)
		}
	}
}

// A host whose Nodes are in several zones appears in each of them, but is counted once. A host whose
// Nodes take their zone from another path needs no tags. A mark of all hosts moves to their cluster.
func TestSeveralPlaces(t *testing.T) {
	f := &fleet{HasNodes: true, VCenters: []*vcenter{{Name: "v"}}}
	f.addHosts("v", "/dc", "c", 2, "r", "a")
	f.addHosts("v", "/dc", "untagged", 2, "", "")
	f.hosts[0].Marks = []mark{newMark(undecided, "it is not known")}
	f.addNode("n-1", "c-1")
	f.addNode("n-2", "c-1").place = place{Region: "r", Zone: "b"}
	f.addNode("n-3", "untagged-1").place = place{Region: "r", Zone: "b"}
	f.addNode("n-4", "untagged-2").place = place{Region: "r", Zone: "c"}
	f.addHosts("v", "/dc", "spare", 2, "", "")
	f.arrange()
	var notes []string
	for _, n := range f.Notes {
		for _, one := range n.Items {
			notes = append(notes, one.Name+": "+one.Text)
		}
	}
	want := "cluster /dc/host/spare: all 2 hosts: no zone; host esx-c-01: it is not known"
	if got := strings.Join(notes, "; "); got != want || f.Counts.Hosts != 6 || f.Counts.Zones != 3 || f.Counts.Problems != 2 {
		t.Errorf("got the marks %q and the counts %+v, want %q, 6 hosts, 3 zones and 2 problems", got, f.Counts, want)
	}
	for i, hosts := range []int{2, 2, 1} {
		if c := f.Regions[0].Boxes[i].Counts; c.Hosts != hosts {
			t.Errorf("zone %d: got the counts %+v, want %d hosts", i, c, hosts)
		}
	}
}
