package fleetmap

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/world"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// object returns an object with tags in the form category:name.
func object(kind, path string, tags ...string) *topology.Object {
	o := &topology.Object{Ref: topology.Ref{VCenter: "east", Type: kind, ID: path}, Name: path[strings.LastIndex(path, "/")+1:], Path: path}
	for _, t := range tags {
		category, name, _ := strings.Cut(t, ":")
		o.Tags = append(o.Tags, topology.Tag{Category: category, Name: name})
	}
	return o
}

func byTags() topology.Policy {
	return topology.Policy{Rules: topology.Rules{
		{Label: topology.LabelRegion, Category: "region", Required: true}, {Label: topology.LabelZone, Category: "zone", Required: true},
	}}
}

func TestResolve(t *testing.T) {
	unread := object("ClusterComputeResource", "/dc/host/c")
	unread.TagsErr = errors.New("the tagging service is down")
	elsewhere := byTags()
	elsewhere.Paths = []topology.PathKind{topology.FolderPath}
	names := topology.Policy{Rules: topology.Rules{
		{Label: topology.LabelRegion, Inventory: topology.InventoryVCenter, Required: true}, {Label: topology.LabelZone, Inventory: topology.InventoryPool, Required: true},
	}}
	invisible := byTags()
	invisible.Invisible = []string{"zone"}
	root := object("Folder", "/")
	for _, c := range []struct {
		name                       string
		policy                     topology.Policy
		cluster, dc                *topology.Object
		region, zone, missing, why string
	}{
		{name: "both", policy: byTags(), cluster: object("ClusterComputeResource", "/dc/host/c", "zone:a"), dc: object("Datacenter", "/dc", "region:r"), region: "r", zone: "a"},
		{name: "no zone", policy: byTags(), cluster: object("ClusterComputeResource", "/dc/host/c"), dc: object("Datacenter", "/dc", "region:r"), region: "r", missing: "no zone"},
		{name: "nothing", policy: byTags(), cluster: object("ClusterComputeResource", "/dc/host/c"), dc: object("Datacenter", "/dc"), missing: "no region and no zone"},
		{name: "two zones", policy: byTags(), cluster: object("ClusterComputeResource", "/dc/host/c", "zone:a", "zone:b"), dc: object("Datacenter", "/dc", "region:r"), region: "r", why: "2 tags of category"},
		{name: "unread", policy: byTags(), cluster: unread, dc: object("Datacenter", "/dc", "region:r"), why: "the tagging service is down"},
		{name: "on folders only", policy: elsewhere, cluster: object("ClusterComputeResource", "/dc/host/c"), dc: object("Datacenter", "/dc")},
		{name: "by the VM's pool", policy: names, cluster: object("ClusterComputeResource", "/dc/host/c"), dc: object("Datacenter", "/dc"), region: "east"},
		{name: "no category", policy: invisible, cluster: object("ClusterComputeResource", "/dc/host/c"), dc: object("Datacenter", "/dc", "region:r"), region: "r"},
	} {
		var h host
		p := topology.Path{Kind: topology.ComputePath, Objects: []*topology.Object{object("HostSystem", "/dc/host/c/h"), c.cluster, c.dc, root}}
		policy, _ := world.HostPolicy(c.policy)
		policy.Invisible = c.policy.Invisible
		h.resolve(policy, world.PlaceHost(nil, policy, p))
		marks := map[kind]string{}
		for _, m := range h.Marks {
			marks[m.Kind] = m.Text
		}
		if h.Region != c.region || h.Zone != c.zone || marks[untagged] != c.missing {
			t.Errorf("%s: region %q, zone %q, marks %v", c.name, h.Region, h.Zone, marks)
		}
		if c.why == "" && marks[undecided] != "" || !strings.Contains(marks[undecided], c.why) {
			t.Errorf("%s: undecided %q", c.name, marks[undecided])
		}
	}
}

// TestUnplaced: a Node without a placement is on its VM's host. If the host is unknown, it has the place of
// its labels, on the unknown hosts of the vCenter where its VM was last found. Nodes that need the same action
// have the same cause.
func TestUnplaced(t *testing.T) {
	down := inventory.State{VCenter: "west", Err: errors.New("the connection is refused")}
	r := &reader{policy: byTags(), states: []inventory.State{{VCenter: "east", Snapshot: &inventory.Snapshot{VCenter: "east"}}, down}, hostsByID: map[[2]string]*host{}, fleet: &fleet{HasNodes: true}}
	unreachable := topology.Errorf(topology.ErrUnknown, "no running VM is found: %w", down.CheckReachable())
	missing := topology.Errorf(topology.ErrMissing, "no tag of category zone")
	cluster := object("ClusterComputeResource", "/dc/host/c")
	up := topology.Path{Kind: topology.ComputePath, Objects: []*topology.Object{object("HostSystem", "/dc/host/c/h"), cluster, object("Datacenter", "/dc", "region:r"), object("Folder", "/")}}
	vm := &inventory.VM{Ref: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}, Paths: []topology.Path{up}}
	lost := &inventory.VM{Ref: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-2"}}
	recorded := inventory.Identity{Recorded: topology.Ref{VCenter: "west", Type: "VirtualMachine", ID: "vm-7"}}
	labels := map[string]string{topology.LabelRegion: "lr", topology.LabelZone: "lz"}
	for _, c := range []struct {
		name                       string
		labels                     map[string]string
		vm                         *inventory.VM
		identity                   inventory.Identity
		err                        error
		region, zone, box, vcenter string
	}{
		{name: "tag-gone-1", labels: labels, vm: vm, err: missing, region: "r", box: "cluster /dc/host/c", vcenter: "east"},
		{name: "tag-gone-2", vm: vm, err: fmt.Errorf("VM 2: %w", missing), region: "r", box: "cluster /dc/host/c", vcenter: "east"},
		{name: "host-unknown", labels: labels, vm: lost, err: missing, region: "lr", zone: "lz", box: "unknown hosts: TopologyMissing", vcenter: "east"},
		{name: "recorded", labels: labels, identity: recorded, err: unreachable, region: "lr", zone: "lz", box: "hosts of vCenter west, which was not read", vcenter: "west"},
		{name: "recorded-2", identity: recorded, err: topology.Errorf(topology.ErrUnknown, "no running VM with UUID 2 is found: %w", down.CheckReachable()), box: "hosts of vCenter west, which was not read", vcenter: "west"},
		{name: "joining", err: unreachable, box: "unknown hosts: VCenterUnreachable"},
		{name: "not-found", labels: labels, err: topology.Errorf(topology.ErrAbsent, "no VM is found"), region: "lr", zone: "lz", box: "unknown hosts: VMNotFound"},
		{name: "removed", labels: labels, identity: inventory.Identity{Recorded: topology.Ref{VCenter: "old", ID: "vm-7"}}, err: topology.Errorf(topology.ErrAbsent, "no VM is found"),
			region: "lr", zone: "lz", box: "unknown hosts: VMNotFound"},
	} {
		l := &world.Look{Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: c.labels}}, Identity: c.identity, Err: c.err}
		if c.vm != nil {
			l.Place.VM = c.vm
			l.Place.VCenter = c.vm.Ref.VCenter
		}
		r.node(l)
		n := r.fleet.nodes[len(r.fleet.nodes)-1]
		drawn := &fleet{}
		drawn.put(n.host, n.place)
		box := drawn.Regions[0].Boxes[0].Boxes[0]
		if n.Region != c.region || n.Zone != c.zone || box.Title != c.box || n.host.VCenter != c.vcenter || !isProblem(n.Marks) {
			t.Errorf("%s: got region %q, zone %q, %q of vCenter %q, marks %v; want region %q, zone %q, %q of vCenter %q", c.name,
				n.Region, n.Zone, box.Title, n.host.VCenter, n.Marks, c.region, c.zone, c.box, c.vcenter)
		}
	}
	r.fleet.arrange()
	var got []string
	for _, i := range r.fleet.Notes[0].Items {
		got = append(got, strings.Join(i.Names, " ")+": "+i.Why())
	}
	want := []string{
		"not-found removed: VMNotFound: no VM is found",
		"recorded recorded-2: VCenterUnreachable: the connection is refused",
		"tag-gone-1 tag-gone-2: TopologyMissing: for example, tag-gone-1: no tag of category zone",
		"host-unknown: TopologyMissing: no tag of category zone",
		"joining: VCenterUnreachable: no running VM is found: the connection is refused; check that the vCenter runs and that the cluster can reach it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the groups of Nodes differ (-want +got):\n%s", diff)
	}
	if n := r.fleet.Counts; n.Nodes != 8 || n.Unlocated != 6 || n.Hosts != 1 || n.UsedHosts != 1 {
		t.Errorf("got the counts %+v, want 8 Nodes, 6 of them on unknown hosts, and 1 host", n)
	}
}
