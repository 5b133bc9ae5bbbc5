package fleetmap

import (
	"errors"
	"strings"
	"testing"

	"vzones/cmd/vzones/world"
	"vzones/topology"
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
