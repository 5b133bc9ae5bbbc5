package fleetmap

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

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

// addUnplaced adds a Node without a placement on unknown hosts of a vCenter, or of none.
func (f *fleet) addUnplaced(name, vcenter, reason, text string, labels place) {
	c := &cause{Key: reason + vcenter, Reason: reason, title: "unknown hosts: " + reason}
	if vcenter != "" {
		c.title = "hosts of vCenter " + vcenter + ", which was not read"
	}
	i := slices.IndexFunc(f.hosts, func(h *host) bool { return h.cause.key() == c.Key })
	if i < 0 {
		i = len(f.hosts)
		f.hosts = append(f.hosts, &host{VCenter: vcenter, cause: c})
	}
	f.nodes = append(f.nodes, &node{Name: name, host: f.hosts[i], place: labels, cause: c, Marks: []mark{newMark(unplaced, text)}})
}

func (f *fleet) addNode(name, id string, marks ...mark) *node {
	h := f.hostOf(id)
	n := &node{Name: name, VM: fmt.Sprintf("VM /dc-1/vm/%s of vCenter %q", name, h.VCenter), host: h, place: h.place, Marks: marks}
	f.nodes = append(f.nodes, n)
	return n
}

// exampleFleet is a small fleet with every kind of mark.
func exampleFleet() *fleet {
	f := &fleet{Cluster: "production", Read: readAt, HasNodes: true, Foreign: 1, VCenters: []*vcenter{
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
		"p1-1", "p1-2", "p1-2", "p1-3", "p2-1", "p2-2", "p2-2", "p2-3", "m1-1", "m1-2", "m1-3", "m1-3", "m2-1", "m2-2", "m2-3", "m2-4",
	} {
		f.addNode(fmt.Sprintf("worker-%02d", i+1), id)
	}
	f.addNode("worker-17", "m2-1", newMark(drift, "the zone differs"))
	f.addNode("worker-18", "m2-2", newMark(uninitialized, "it is not initialized: VMware Tools report no address yet"))
	f.addNode("worker-19", "p2-3", newMark(off, "its VM is off or suspended"))
	f.addNode("worker-20", "p1-2", newMark(problem, "two Nodes have the UUID of its VM: give one of them another UUID"))
	for i, id := range []string{"p3-1", "p3-1", "p3-2"} {
		n := f.addNode(fmt.Sprintf("worker-%d", 21+i), id, newMark(unplaced, `no tag of category "k8s-zone": attach one to cluster /dc-1/host/p3`))
		n.cause = &cause{Key: "p3", Reason: "TopologyMissing"}
	}
	const lost = `vCenter "porto" does not answer; the Node's VM may be there`
	f.addUnplaced("worker-24", "porto", "CredentialsRejected", lost, place{"porto", "porto-1", byLabels, byLabels})
	f.addUnplaced("worker-25", "porto", "CredentialsRejected", lost, place{"porto", "porto-1", byLabels, byLabels})
	f.addUnplaced("worker-26", "porto", "CredentialsRejected", lost, place{"porto", "porto-2", byLabels, byLabels})
	f.addUnplaced("worker-27", "", "VCenterUnreachable", `vCenter "porto" may have the VM, and cannot be read`, place{})
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

// outageFleet is a large fleet in which a vCenter was not read, and a cluster has no zone.
func outageFleet() *fleet {
	f := largeFleet(3000)
	isDown := func(vcenter string) bool { return vcenter == "vc-02" }
	f.hosts = slices.DeleteFunc(f.hosts, func(h *host) bool { return isDown(h.VCenter) })
	f.VCenters[1].Marks = []mark{newMark(unread, "no answer within 15s from https://vc-02.example.com")}
	f.VCenters = append(f.VCenters, &vcenter{Name: "vc-09", Marks: []mark{newMark(unread, "the password is rejected")}})
	f.hosts = append(f.hosts, &host{VCenter: "vc-09", cause: &cause{Key: "vc-09", title: "hosts of vCenter vc-09, which was not read", text: "the password is rejected"}})
	nodes := f.nodes
	f.nodes = nil
	for i, n := range nodes {
		switch {
		case isDown(n.host.VCenter):
			n.RegionBy = byLabels
			n.ZoneBy = byLabels
			f.addUnplaced(n.Name, "vc-02", "VCenterUnreachable", `vCenter "vc-02" does not answer; the Node's VM may be there`, n.place)
			continue
		case strings.Contains(n.host.Cluster, "vc-01-c01"):
			n.host.Zone = ""
			n.host.ZoneBy = ""
			n.host.Marks = []mark{newMark(untagged, "no zone")}
			n.place = n.host.place
			n.cause = &cause{Key: "vc-01-c01", Reason: "TopologyMissing"}
			n.Marks = []mark{newMark(unplaced, fmt.Sprintf("VM %d: no tag of category \"zone\" on the VM's compute, resource pool or folder path: attach one to its host, cluster or datacenter", i))}
		case i%300 == 299:
			f.addUnplaced(n.Name, "", "VMNotFound", fmt.Sprintf("no running VM with UUID %d is found", i), place{})
			continue
		}
		f.nodes = append(f.nodes, n)
	}
	return f
}

// denseFleet has about 100 Nodes on each of three hosts in three zones.
func denseFleet() *fleet {
	f := &fleet{Read: readAt, HasNodes: true, VCenters: []*vcenter{{Name: "lab"}}}
	for i := range 3 {
		f.addHosts("lab", "/dc-1", fmt.Sprintf("c%d", i+1), 1, "region-1", fmt.Sprintf("zone-%d", i+1))
	}
	for i := range 296 {
		f.addNode(fmt.Sprintf("node-%03d", i), fmt.Sprintf("c%d-1", i%3+1))
	}
	return f
}

// evil is a name that tries to break out of the page and to control the terminal.
const evil = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=\"alert(1)\x1b[31m\x1b]0;title\a\r\n\u202e]]>&lt;{{.}}\x00\xff"

// hostileFleet is a fleet in which every name is evil.
func hostileFleet() *fleet {
	h := &host{VCenter: evil, ID: evil, Name: evil, Cluster: evil, place: place{evil, evil, evil, evil}, Marks: []mark{newMark(undecided, evil)}}
	alone := &host{VCenter: evil, ID: "2", Name: evil, Cluster: evil + "2", Standalone: true, Marks: []mark{newMark(untagged, evil)}}
	f := &fleet{
		Cluster: quote.Name(evil), HasNodes: true, hosts: []*host{h, alone}, VCenters: []*vcenter{{evil, []mark{newMark(unread, evil), newMark(incomplete, evil)}}},
		nodes: []*node{
			{Name: evil, ControlPlane: true, host: h, VM: quote.Name(evil), place: h.place, Marks: []mark{newMark(drift, evil)}},
			{Name: evil + "2", host: h, place: place{evil, evil + "3", evil, evil}},
			{Name: evil + "3", host: h, place: h.place, cause: &cause{Key: evil, Reason: "Evil"}, Marks: []mark{newMark(unplaced, evil)}},
		},
	}
	f.addUnplaced(evil+"4", evil, "Evil", evil, place{evil, evil, evil, evil})
	f.addUnplaced(evil+"5", "", "Evil", evil, place{})
	return f
}

// fleets returns all test fleets, arranged.
func fleets() map[string]*fleet {
	all := map[string]*fleet{"example": exampleFleet(), "large": largeFleet(3000), "outage": outageFleet(), "dense": denseFleet(), "hostile": hostileFleet()}
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
		if classes["node"] != f.Counts.Nodes || f.Counts.Nodes != len(f.nodes) || classes["host"] < len(f.hosts) {
			t.Errorf("%s: the page has %d Nodes and the headline %d, of %d, and the page has %d of %d hosts", name, classes["node"], f.Counts.Nodes, len(f.nodes), classes["host"], len(f.hosts))
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

// The tree draws each Node, also one without a placement.
func TestTreeHasAllNodes(t *testing.T) {
	for name, f := range fleets() {
		if name == "hostile" { // Its names have spaces, at which lines wrap.
			continue
		}
		drawn, _, _ := strings.Cut(treeOf(t, f, true), "Needs attention")
		for _, n := range f.nodes {
			if !strings.Contains(drawn, n.Name) {
				t.Errorf("%s: Node %s is not in the tree", name, n.Name)
			}
		}
	}
}

// Nodes without a placement are grouped by cause, the most Nodes first.
func TestCauses(t *testing.T) {
	f := outageFleet()
	f.arrange()
	var got []string
	for _, i := range f.Notes[1].Items {
		got = append(got, i.Name()+": "+i.Reason()+", "+i.Where())
	}
	want := []string{
		"375 Nodes: VCenterUnreachable, region region-2",
		"32 Nodes: TopologyMissing, region region-1, no zone",
		"9 Nodes: VMNotFound, no region, no zone, unknown host",
	}
	if diff := cmp.Diff(want, got); diff != "" || f.Notes[1].Count != 416 {
		t.Errorf("%d Nodes have no placement, want 416; the causes differ (-want +got):\n%s", f.Notes[1].Count, diff)
	}
	var zones []string
	for _, z := range f.Regions[1].Boxes {
		zones = append(zones, fmt.Sprintf("%s: %d, %d unlocated, unknown %t", z.Title, z.Counts.Nodes, z.Counts.Unlocated, z.IsUnknown))
	}
	want = []string{"zone zone-2a: 126, 126 unlocated, unknown true", "zone zone-2b: 125, 125 unlocated, unknown true", "zone zone-2c: 124, 124 unlocated, unknown true"}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("the zones of the unread vCenter differ (-want +got):\n%s", diff)
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
		nodes, problems, hosts := 0, 0, 0
		for _, r := range f.Regions {
			nodes += r.Counts.Nodes
			problems += r.Counts.Problems
		}
		for _, h := range f.hosts {
			if h.ID != "" {
				hosts++
			}
		}
		if c := f.Counts; nodes != len(f.nodes) || c.Nodes != nodes || c.Hosts != hosts || c.Problems != problems {
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
			notes = append(notes, one.Name()+": "+one.Text)
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
