package fleetmap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

// fleet contains the hosts, Nodes and vCenters. arrange computes the boxes.
type fleet struct {
	// Cluster is the name of the Kubernetes cluster, or "".
	Cluster  string
	Read     time.Time
	VCenters []*vcenter // VCenters are in the order of the configuration.
	hosts    []*host
	nodes    []*node
	// Foreign is the number of Nodes that vzones does not manage. HasNodes is false without a Kubernetes
	// cluster.
	Foreign  int
	HasNodes bool

	Regions []*box
	Counts  counts
	// Notes group all marks by kind, the worst first.
	Notes []*note
}

type vcenter struct {
	Name  string
	Marks []mark
}

// place is a region and a zone with the sources of their values. Unknown fields are empty.
type place struct{ Region, Zone, RegionBy, ZoneBy string }

// host is an ESXi host. A host without an ID stands for unknown hosts of a vCenter.
type host struct {
	VCenter, ID string
	Name        string
	// Cluster is the inventory path of the cluster, or of the host if it is standalone.
	Cluster    string
	Standalone bool
	place
	Marks []mark
	// cause is set for the unknown hosts of Nodes without a placement, and of an unread vCenter.
	cause *cause
}

type node struct {
	Name         string
	ControlPlane bool
	// VM is the name of the VM, or "" if unknown.
	VM   string
	host *host
	place
	Marks []mark
	// cause is nil if the Node has a placement. Otherwise its place is its host's place, or the place in its labels.
	cause *cause
	// where contains the titles of the boxes around the Node.
	where []string
}

// cause is the reason that Nodes have no placement. Nodes with the same Key need the same action.
type cause struct {
	Key string
	// Reason is the reason of the Event about such a Node.
	Reason string
	// title is the title of the box if the hosts of the Nodes are unknown.
	title string
	// text is the error of an unread vCenter, or "".
	text string
}

// mark is a remark about an object. Text is one line without control characters.
type mark struct {
	Kind kind
	Text string
}

func newMark(k kind, text string) mark { return mark{k, quote.Text(text)} }

// kind is the kind of a mark, the worst first.
type kind int

const (
	unread kind = iota
	unplaced
	incomplete
	drift
	problem
	untagged
	undecided
	off
	uninitialized
)

var kinds = [...]struct {
	severity check.Severity
	// class and sign are for the HTML page. title describes the objects with such marks.
	class, sign, title string
}{
	unread:        {check.Error, "bad", "✕", "vCenters that could not be read"},
	unplaced:      {check.Error, "bad", "✕", "Nodes without a placement"},
	incomplete:    {check.Warning, "warn", "!", "vCenters that were only partially read"},
	drift:         {check.Warning, "drift", "≠", "Nodes whose labels differ"},
	problem:       {check.Warning, "warn", "!", "Nodes with other problems"},
	untagged:      {check.Warning, "warn", "!", "hosts and clusters without region or zone"},
	undecided:     {check.Warning, "warn", "!", "hosts and clusters whose region or zone is unknown"},
	off:           {check.Info, "off", "○", "Nodes whose VM is off"},
	uninitialized: {check.Info, "waits", "…", "Nodes that are not initialized"},
}

func (k kind) Class() string { return kinds[k].class }
func (k kind) Sign() string  { return kinds[k].sign }
func (k kind) Title() string { return kinds[k].title }

// worst returns the worst kind of marks, which must not be empty.
func worst(marks []mark) kind {
	return slices.MinFunc(marks, func(a, b mark) int { return cmp.Compare(a.Kind, b.Kind) }).Kind
}

func isProblem(marks []mark) bool {
	return len(marks) > 0 && kinds[worst(marks)].severity != check.Info
}

// The levels of boxes, from the outermost.
const (
	levelRegion = iota
	levelZone
	levelCluster
	levelHost
)

// box is a region, a zone, or the part of a cluster or host that is in a zone.
type box struct {
	level int
	// key identifies the object in all zones.
	key string
	// Title is the kind and the name. A box without a name groups objects with an unknown value.
	Title, Kind, Name string
	// where contains the titles of the region and the zone around the box.
	where    []string
	VCenters []string
	// IsUnknown reports whether all hosts of the box are unknown, and its Nodes have no placement.
	IsUnknown bool
	// Why is the reason that a cluster box stands for an unread vCenter, or "".
	Why string
	// By are the sources of a region's or zone's value.
	By     []string
	Marks  []mark
	Boxes  []*box
	Nodes  []*node
	Counts counts
}

// walk calls f for all boxes, outer boxes first.
func walk(boxes []*box, f func(*box)) {
	for _, b := range boxes {
		f(b)
		walk(b.Boxes, f)
	}
}

// counts are numbers of objects. An object in several boxes is counted once. Unlocated Nodes are on unknown
// hosts.
type counts struct{ Regions, Zones, Clusters, Hosts, UsedHosts, Nodes, Unlocated, ControlPlane, Problems int }

// arrange puts hosts and Nodes into boxes, independent of their order. A host appears at the place of
// its own path and at the places of its Nodes, which differ if a resource pool or folder decides.
func (f *fleet) arrange() {
	rank := map[string]int{}
	for i, v := range f.VCenters {
		rank[v.Name] = i
		v.Name = quote.Name(v.Name)
	}
	slices.SortFunc(f.hosts, func(a, b *host) int {
		return cmp.Or(rank[a.VCenter]-rank[b.VCenter], strings.Compare(a.VCenter, b.VCenter), compareNames(a.Cluster, b.Cluster),
			strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID), strings.Compare(a.cause.key(), b.cause.key()))
	})
	slices.SortFunc(f.nodes, func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
	nodesOn := map[*host][]*node{}
	for _, n := range f.nodes {
		n.Name = quote.Name(n.Name)
		nodesOn[n.host] = append(nodesOn[n.host], n)
	}
	for _, h := range f.hosts {
		hasUnplaced := slices.ContainsFunc(nodesOn[h], func(n *node) bool { return n.cause != nil })
		switch {
		case h.cause != nil && hasUnplaced: // It has the places of its Nodes.
		case h.Region != "" || h.Zone != "" || hasUnplaced || len(nodesOn[h]) == 0:
			f.put(h, h.place)
		default: // The zone of its Nodes comes from another path, so the host needs no tags.
			h.Marks = slices.DeleteFunc(h.Marks, func(m mark) bool { return m.Kind == untagged || m.Kind == undecided })
		}
		for _, n := range nodesOn[h] {
			b := f.put(h, n.place)
			b.Nodes = append(b.Nodes, n)
			n.where = append(slices.Clone(b.where), b.Title)
		}
	}
	byName := func(a, b *box) int { return compareNames(a.Name, b.Name) }
	slices.SortFunc(f.Regions, byName)
	for _, r := range f.Regions {
		slices.SortFunc(r.Boxes, byName)
	}
	walk(f.Regions, (*box).gather)
	walk(f.Regions, func(b *box) {
		b.Counts = count([]*box{b})
		b.IsUnknown = b.isUnknown()
		if len(b.By) > 1 {
			b.By = slices.DeleteFunc(b.By, func(source string) bool { return source == byLabels })
		}
	})
	f.Counts = count(f.Regions)
	f.setNotes()
}

// byLabels is the source of the places of Nodes without a placement on unknown hosts.
const byLabels = "the labels of the Nodes"

func (c *cause) key() string {
	if c == nil {
		return ""
	}
	return c.Key
}

func (b *box) isUnknown() bool {
	if len(b.Boxes) == 0 {
		return b.IsUnknown
	}
	return !slices.ContainsFunc(b.Boxes, func(below *box) bool { return !below.isUnknown() })
}

// compareNames compares names. Empty names sort last.
func compareNames(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(len(b), len(a))
	}
	return strings.Compare(a, b)
}

// put returns the box of a host in a place, and creates missing boxes.
func (f *fleet) put(h *host, p place) *box {
	cluster := "cluster"
	if h.Standalone {
		cluster = "standalone host"
	}
	var b *box
	boxes := &f.Regions
	vcenter := quote.Name(h.VCenter)
	unknown := "VMs on unknown hosts"
	if h.cause != nil {
		unknown = quote.Text(h.cause.title)
	}
	var where []string
	for level, wanted := range [...]struct{ kind, name, none, key, by string }{
		levelRegion:  {"region", p.Region, "no region", p.Region, p.RegionBy},
		levelZone:    {"zone", p.Zone, "no zone", fmt.Sprintf("%q %q", p.Region, p.Zone), p.ZoneBy},
		levelCluster: {cluster, h.Cluster, unknown, fmt.Sprintf("%q %q %q", h.VCenter, h.Cluster, h.cause.key()), ""},
		levelHost:    {"host", cmp.Or(h.Name, h.ID), "unknown host", fmt.Sprintf("%q %q %q", h.VCenter, h.ID, h.cause.key()), ""},
	} {
		i := slices.IndexFunc(*boxes, func(b *box) bool { return b.key == wanted.key })
		if i < 0 {
			name := quote.Name(wanted.name)
			b = &box{level: level, key: wanted.key, Kind: wanted.kind, Name: name, Title: wanted.kind + " " + name, where: where}
			if name == "" {
				b.Title = wanted.none
			}
			i = len(*boxes)
			*boxes = append(*boxes, b)
		}
		b = (*boxes)[i]
		if vcenter != "" && !slices.Contains(b.VCenters, vcenter) {
			b.VCenters = append(b.VCenters, vcenter)
		}
		if source := quote.Text(wanted.by); source != "" && !slices.Contains(b.By, source) {
			b.By = append(b.By, source)
		}
		if level == levelCluster && h.cause != nil {
			b.Why = h.cause.text
		}
		if boxes = &b.Boxes; level < levelCluster {
			where = append(slices.Clone(where), b.Title)
		}
	}
	b.Marks = slices.Clone(h.Marks)
	b.IsUnknown = h.cause != nil
	return b
}

// gather moves the marks that all hosts of a cluster share to the cluster.
func (b *box) gather() {
	if b.level != levelCluster || len(b.Boxes) < 2 {
		return
	}
	for _, m := range slices.Clone(b.Boxes[0].Marks) {
		if slices.ContainsFunc(b.Boxes, func(h *box) bool { return !slices.Contains(h.Marks, m) }) {
			continue
		}
		for _, h := range b.Boxes {
			h.Marks = slices.DeleteFunc(h.Marks, func(other mark) bool { return other == m })
		}
		b.Marks = append(b.Marks, mark{m.Kind, fmt.Sprintf("all %d hosts: %s", len(b.Boxes), m.Text)})
	}
}

func count(boxes []*box) counts {
	var c counts
	seen := map[string]bool{}
	add := func(to *int, what string, b *box) {
		if key := what + string(rune('0'+b.level)) + b.key; !seen[key] {
			seen[key] = true
			*to++
		}
	}
	walk(boxes, func(b *box) {
		if b.Name != "" {
			add([]*int{&c.Regions, &c.Zones, &c.Clusters, &c.Hosts}[b.level], "is", b)
			if len(b.Nodes) > 0 {
				add(&c.UsedHosts, "used", b)
			}
		}
		if isProblem(b.Marks) {
			add(&c.Problems, "problem", b)
		}
		for _, n := range b.Nodes {
			c.addNode(n)
			if b.Name == "" {
				c.Unlocated++
			}
		}
	})
	return c
}

func (c *counts) addNode(n *node) {
	c.Nodes++
	if n.ControlPlane {
		c.ControlPlane++
	}
	if isProblem(n.Marks) {
		c.Problems++
	}
}

func (f *fleet) summary() string {
	c := &f.Counts
	text := []string{
		cli.Count(len(f.VCenters), "vCenter"), cli.Count(c.Regions, "region"), cli.Count(c.Zones, "zone"), cli.Count(c.Clusters, "cluster"), cli.Count(c.Hosts, "host"),
	}
	if f.HasNodes {
		text = append(text, c.nodes())
	}
	summary := strings.Join(text, ", ")
	if f.Cluster != "" {
		summary += " of Kubernetes cluster " + f.Cluster
	}
	return summary
}

// foreign returns a line about the Nodes that are not on the map, or "".
func (f *fleet) foreign() string {
	if f.Foreign == 0 {
		return ""
	}
	return cli.Count(f.Foreign, "further Node") + " of another provider or excluded by nodes.selector"
}

func (c *counts) nodes() string {
	if c.ControlPlane == 0 {
		return cli.Count(c.Nodes, "Node")
	}
	return fmt.Sprintf("%s (%s control plane)", cli.Count(c.Nodes, "Node"), cli.Number(c.ControlPlane))
}

// occupancyOf is occupancy for a box, whose title may contain that its hosts are unknown.
func (f *fleet) occupancyOf(b *box) string {
	switch {
	case b.level != levelCluster || !b.IsUnknown:
		return f.occupancy(b.Counts)
	case b.Counts.Nodes == 0:
		return ""
	}
	return b.Counts.nodes()
}

func (f *fleet) occupancy(c counts) string {
	hosts := cli.Count(c.Hosts, "host")
	located := c.Nodes - c.Unlocated
	switch {
	case c.Hosts == 0 && c.Nodes > 0:
		return c.nodes() + " on unknown hosts"
	case c.Hosts == 0:
		return "unknown hosts"
	case !f.HasNodes:
		return hosts
	case c.Nodes == 0:
		return "no Nodes on " + hosts
	}
	if c.UsedHosts < c.Hosts && located > 0 {
		hosts = cli.Number(c.UsedHosts) + " of " + hosts
	}
	if c.Unlocated == 0 {
		return c.nodes() + " on " + hosts
	}
	if located == 0 {
		return c.nodes() + " on unknown hosts, none on " + hosts
	}
	return fmt.Sprintf("%s: %s on %s, %s on unknown hosts", c.nodes(), cli.Number(located), hosts, cli.Number(c.Unlocated))
}
