package model

import (
	"fmt"
	"slices"
	"strings"

	"vzones/topology"
	"vzones/topology/quote"
)

// marks returns what there is to say of a Node alone.
func (n *NodeFacts) marks() []Mark {
	var marks []Mark
	for _, d := range n.Drifts {
		marks = append(marks, mark(Drift, d.text()))
	}
	if n.Problem != "" {
		marks = append(marks, mark(OtherProblem, n.Problem))
	}
	if n.Waits != "" {
		marks = append(marks, mark(Waits, n.Waits))
	}
	return marks
}

func (d Difference) text() string {
	label := d.Label
	switch label {
	case topology.LabelRegion:
		label = "region"
	case topology.LabelZone:
		label = "zone"
	}
	switch {
	case d.Have == "":
		return fmt.Sprintf("label %s is missing and should be %s", label, quote.Value(d.Want))
	case d.Want == "":
		return fmt.Sprintf("label %s is %s and should not be there", label, quote.Value(d.Have))
	}
	return fmt.Sprintf("label %s is %s and should be %s", label, quote.Value(d.Have), quote.Value(d.Want))
}

// untagged begins what is said of a host without tags.
const untagged = "it has "

// marks returns what there is to say of a host with these Nodes, in one of the zones that they are in.
func (h *HostFacts) marks(nodes, inZone []*NodeFacts) []Mark {
	var marks []Mark
	if h.Disconnected {
		marks = append(marks, mark(Disconnected, "it is not connected"))
	}
	if h.InMaintenance {
		marks = append(marks, mark(Maintenance, "it is in maintenance mode"))
	}
	if h.ID == "" {
		return marks // the machines need not be on one host
	}
	// A host whose Nodes get their zone elsewhere needs no tags.
	if len(nodes) == 0 || h.Region != "" || h.Zone != "" {
		if len(h.Missing) > 0 {
			marks = append(marks, mark(Untagged, untagged+"no "+strings.Join(h.Missing, " and no ")))
		}
		if h.Undecided != "" {
			marks = append(marks, mark(Undecided, h.Undecided))
		}
	}
	return append(marks, sharing(nodes, inZone)...)
}

// sharing says which Nodes share a host: those of the control plane, and those of one zone unless they
// are all of the control plane.
func sharing(nodes, inZone []*NodeFacts) []Mark {
	var marks []Mark
	var masters []string
	for _, n := range nodes {
		if n.ControlPlane {
			masters = append(masters, n.Name)
		}
	}
	if len(masters) > 1 {
		marks = append(marks, mark(SharedControlPlane, fmt.Sprintf("%d Nodes of the control plane share it: %s", len(masters), names(masters))))
	}
	if len(inZone) > 1 && slices.ContainsFunc(inZone, func(n *NodeFacts) bool { return !n.ControlPlane }) {
		marks = append(marks, mark(SharedHost, fmt.Sprintf("%d Nodes of %s share it", len(inZone), zoneOf(inZone[0].Zone))))
	}
	return marks
}

func names(all []string) string {
	q := make([]string, len(all))
	for i, n := range all {
		q[i] = quote.Plain(n)
	}
	return quote.Some(q, quote.Most)
}

// where names a zone.
func where(region, zone string) string {
	switch {
	case zone == "" && region == "":
		return "no zone"
	case zone == "":
		return "region " + quote.Plain(region)
	case region == "":
		return "zone " + quote.Plain(zone)
	}
	return fmt.Sprintf("zone %s of region %s", quote.Plain(zone), quote.Plain(region))
}

func zoneOf(zone string) string {
	if zone == "" {
		return "no zone"
	}
	return "zone " + quote.Plain(zone)
}

// assess marks what shows only beside others. hosts is how many hosts a cluster has.
func (m *Map) assess(hosts map[clusterKey]int) {
	var masters []*Zone
	inhabited := 0
	for i := range m.Regions {
		zones := m.Regions[i].Zones
		compareSizes(zones)
		for j := range zones {
			z := &zones[j]
			for k := range z.Clusters {
				c := &z.Clusters[k]
				c.gather(hosts[clusterKey{c.VCenter, c.Path}])
			}
			n, master := z.nodes()
			if n > 0 {
				inhabited++
			}
			if master > 0 {
				masters = append(masters, z)
			}
		}
	}
	if len(masters) == 1 && inhabited > 1 {
		if _, n := masters[0].nodes(); n > 1 {
			masters[0].Marks = append(masters[0].Marks, mark(OneZoneControlPlane, fmt.Sprintf("all %d Nodes of the control plane are in it", n)))
		}
	}
}

// nodes returns how many Nodes a zone has, and how many of them are of the control plane.
func (z *Zone) nodes() (all, master int) {
	for _, c := range z.Clusters {
		for _, h := range c.Hosts {
			all += len(h.Nodes)
			for _, n := range h.Nodes {
				if n.ControlPlane {
					master++
				}
			}
		}
	}
	return all, master
}

// compareSizes marks the zones of a region that have less than two thirds of the Nodes of the largest
// one, and at least two fewer. Nodes of the control plane do not count where there are others. A zone
// without Nodes is not marked: the cluster may not use it.
func compareSizes(zones []Zone) {
	workers := slices.ContainsFunc(zones, func(z Zone) bool { all, master := z.nodes(); return all > master })
	size := func(z *Zone) int {
		all, master := z.nodes()
		if workers {
			return all - master
		}
		return all
	}
	most, largest := 0, ""
	for i := range zones {
		if n := size(&zones[i]); zones[i].Name != "" && n > most {
			most, largest = n, zones[i].Name
		}
	}
	for i := range zones {
		z := &zones[i]
		n := size(z)
		if all, _ := z.nodes(); z.Name == "" || all == 0 || n*3 >= most*2 || most-n < 2 {
			continue
		}
		what := "Node"
		if workers {
			what = "worker Node"
		}
		if n != 1 {
			what += "s"
		}
		z.Marks = append(z.Marks, mark(Imbalance, fmt.Sprintf("it has %d %s, and zone %s of its region has %d", n, what, quote.Plain(largest), most)))
	}
}

type clusterKey struct{ vcenter, path string }

func hostsOf(all []HostFacts) map[clusterKey]int {
	hosts := map[clusterKey]int{}
	for _, h := range all {
		hosts[clusterKey{h.VCenter, h.Cluster}]++
	}
	return hosts
}

// gather puts a mark that all hosts of a part of a cluster have because of tags onto the part, once.
func (c *Cluster) gather(hosts int) {
	if c.Standalone || len(c.Hosts) < 2 {
		return
	}
	for _, kind := range []Kind{Untagged, Undecided} {
		texts := map[string]bool{}
		for _, h := range c.Hosts {
			i := slices.IndexFunc(h.Marks, func(m Mark) bool { return m.Kind == kind })
			if i < 0 {
				texts[""] = true
				continue
			}
			texts[h.Marks[i].Text] = true
		}
		if len(texts) != 1 || texts[""] {
			continue
		}
		for i := range c.Hosts {
			c.Hosts[i].Marks = slices.DeleteFunc(c.Hosts[i].Marks, func(m Mark) bool { return m.Kind == kind })
		}
		for text := range texts {
			c.Marks = append(c.Marks, mark(kind, ofHosts(len(c.Hosts), hosts, text)))
		}
	}
}

// ofHosts says of several hosts of a cluster what was said of one.
func ofHosts(n, all int, text string) string {
	which := fmt.Sprintf("its %d hosts", n)
	if n < all {
		which = fmt.Sprintf("%d of its %d hosts", n, all)
	}
	if what, ok := strings.CutPrefix(text, untagged); ok {
		return which + " have " + what
	}
	return which + ": " + text
}
