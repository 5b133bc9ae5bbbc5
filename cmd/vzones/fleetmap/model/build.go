package model

import (
	"cmp"
	"slices"
	"strings"
)

// Build makes the map. The same facts give the same map, in whichever order they are.
func Build(f *Facts) *Map {
	entries := place(f)
	m := &Map{Cluster: f.Cluster, Regions: []Region{}, Unplaced: []Node{}, Counts: Counts{Foreign: f.Foreign}}
	for i := range entries {
		m.add(&entries[i])
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Unplaced != "" {
			m.Unplaced = append(m.Unplaced, n.node(mark(Unplaced, n.Unplaced)))
		}
	}
	slices.SortFunc(m.Unplaced, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range f.VCenters {
		m.VCenters = append(m.VCenters, v.vcenter())
	}
	m.assess(hostsOf(f.Hosts))
	m.count(f, entries)
	return m
}

// An entry is a host, or machines whose host is not known, in one zone.
type entry struct {
	region, zone string
	host         *HostFacts
	nodes        []*NodeFacts
	// all are the Nodes of the host, in whatever zone, without those that have no place.
	all []*NodeFacts
}

// place puts each host where its Nodes are, and where the tags above it say. A host that has no tags,
// but Nodes which get theirs elsewhere, is only where those are.
func place(f *Facts) []entry {
	hosts := map[HostKey]*HostFacts{}
	for i := range f.Hosts {
		hosts[f.Hosts[i].HostKey] = &f.Hosts[i]
	}
	on := map[HostKey][]*NodeFacts{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		key := n.Host
		if hosts[key] == nil {
			key.ID = ""
		}
		if n.Unplaced == "" {
			on[key] = append(on[key], n)
		}
	}
	for key := range on {
		if hosts[key] == nil {
			hosts[key] = &HostFacts{HostKey: key}
		}
	}
	var all []entry
	for key, h := range hosts {
		all = append(all, h.entries(on[key])...)
	}
	rank := map[string]int{}
	for i, v := range f.VCenters {
		rank[v.Name] = i
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(nameless(a.region, b.region), nameless(a.zone, b.zone), rank[a.host.VCenter]-rank[b.host.VCenter],
			strings.Compare(a.host.VCenter, b.host.VCenter), nameless(a.host.Cluster, b.host.Cluster),
			strings.Compare(a.host.Name, b.host.Name), strings.Compare(a.host.ID, b.host.ID))
	})
	return all
}

// entries returns those of a host with its Nodes.
func (h *HostFacts) entries(nodes []*NodeFacts) []entry {
	slices.SortFunc(nodes, func(a, b *NodeFacts) int { return strings.Compare(a.Name, b.Name) })
	var all []entry
	if h.ID != "" && (len(nodes) == 0 || h.Region != "" || h.Zone != "") {
		all = append(all, entry{region: h.Region, zone: h.Zone, host: h, all: nodes})
	}
	for _, n := range nodes {
		i := slices.IndexFunc(all, func(e entry) bool { return e.region == n.Region && e.zone == n.Zone })
		if i < 0 {
			i, all = len(all), append(all, entry{region: n.Region, zone: n.Zone, host: h, all: nodes})
		}
		all[i].nodes = append(all[i].nodes, n)
	}
	return all
}

// nameless compares names. Without one is last.
func nameless(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(len(b), len(a))
	}
	return strings.Compare(a, b)
}

// add adds an entry to the map. Entries come in order.
func (m *Map) add(e *entry) {
	if i := len(m.Regions); i == 0 || m.Regions[i-1].Name != e.region {
		m.Regions = append(m.Regions, Region{Name: e.region, Zones: []Zone{}})
	}
	r := &m.Regions[len(m.Regions)-1]
	if i := len(r.Zones); i == 0 || r.Zones[i-1].Name != e.zone {
		r.Zones = append(r.Zones, Zone{Name: e.zone, VCenters: []string{}, Clusters: []Cluster{}})
	}
	z := &r.Zones[len(r.Zones)-1]
	h := e.host
	if !slices.Contains(z.VCenters, h.VCenter) {
		z.VCenters = append(z.VCenters, h.VCenter)
	}
	if i := len(z.Clusters); i == 0 || z.Clusters[i-1].VCenter != h.VCenter || z.Clusters[i-1].Path != h.Cluster {
		z.Clusters = append(z.Clusters, Cluster{
			VCenter: h.VCenter, Path: h.Cluster, Standalone: h.Standalone, Datacenter: h.Datacenter, Hosts: []Host{},
		})
	}
	c := &z.Clusters[len(z.Clusters)-1]
	c.Hosts = append(c.Hosts, e.hosted())
}

// hosted returns the host of an entry with its Nodes.
func (e *entry) hosted() Host {
	h := Host{ID: e.host.ID, Name: e.host.Name, Nodes: []Node{}, Marks: e.host.marks(e.all, e.nodes)}
	for _, n := range e.nodes {
		var marks []Mark
		if own := e.host; own.Zone != "" && own.Zone != n.Zone || own.Region != "" && own.Region != n.Region {
			marks = append(marks, mark(OtherZone, "its host is in "+where(own.Region, own.Zone)))
		}
		h.Nodes = append(h.Nodes, n.node(marks...))
	}
	return h
}

// node returns a Node with its marks and further ones.
func (n *NodeFacts) node(marks ...Mark) Node {
	return Node{
		Name: n.Name, ControlPlane: n.ControlPlane, Machine: n.Machine, Differences: n.Drifts, Marks: append(n.marks(), marks...),
	}
}

// vcenter returns a vCenter with its marks.
func (v *VCenterFacts) vcenter() VCenter {
	out := VCenter{Name: v.Name, Read: v.Unread == ""}
	if v.Unread != "" {
		out.Marks = append(out.Marks, mark(Unread, v.Unread))
	}
	for _, text := range v.Incomplete {
		out.Marks = append(out.Marks, mark(Incomplete, text))
	}
	return out
}
