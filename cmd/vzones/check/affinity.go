package check

import (
	"fmt"
	"slices"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
)

// affinity finds the Nodes that one host or one rule holds together.
func (f *facts) affinity(places []hostPlace) (found []finding.Finding) {
	control := f.located((*node).isControlPlane)
	for _, g := range by(control, hostOf) {
		if len(g) > 1 {
			found = append(found, f.sharing(finding.ControlPlaneShares, g, "control plane Nodes "+g.names()+" are"))
		}
	}
	found = append(found, f.free(control)...)
	for _, zone := range by(f.located(hasZone), zoneOf) {
		hosts := by(zone, hostOf)
		if len(hosts) == 1 && len(zone) > 1 {
			if !allOf(zone, (*node).isControlPlane) {
				found = append(found, f.onOneHost(zone, places))
			}
			continue
		}
		for _, g := range hosts {
			if len(g) > 1 && !allOf(g, (*node).isControlPlane) {
				one := f.sharing(finding.ZoneNodesShare, g, fmt.Sprintf("Nodes %s of zone %s are", g.names(), quote.Value(zoneOf(g[0]))))
				one.Short = fmt.Sprintf("Nodes of zone %s share them", quote.Value(zoneOf(g[0])))
				found = append(found, one)
			}
		}
	}
	return append(found, f.rules()...)
}

func hasZone(n *node) bool { return zoneOf(n) != "" }

func zoneOf(n *node) string { return n.Place.Placement.Value(topology.LabelZone) }

func allOf(g group, is func(*node) bool) bool {
	return !slices.ContainsFunc(g, func(n *node) bool { return !is(n) })
}

// onOneHost is the finding that all Nodes of a zone are on one host. Where the zone has no other, as
// if each host is a zone, that is as good as it can be.
func (f *facts) onOneHost(zone group, places []hostPlace) finding.Finding {
	value := zoneOf(zone[0])
	who := fmt.Sprintf("all %d Nodes of zone %s are", len(zone), quote.Value(value))
	hosts := 0
	for i := range places {
		if places[i].placement.Value(topology.LabelZone) == value {
			hosts++
		}
	}
	if hosts != 1 { // none is that it is not known
		return f.sharing(finding.ZoneOnOneHost, zone, who)
	}
	host := zone[0].above(typeHost)
	return finding.Finding{
		Kind: finding.ZoneNodesShare, VCenter: zone[0].vcenterName(), Object: named(host), Text: who + " on this host, which is the only one of the zone",
		Short: "each is the only host of its zone", Advice: "Nothing, if the zone is meant to be one host. Otherwise add hosts to the zone.",
	}
}

// sharing is the finding that Nodes share a host.
func (f *facts) sharing(kind *finding.Kind, g group, who string) finding.Finding {
	host := g[0].above(typeHost)
	found := finding.Finding{Kind: kind, VCenter: g[0].vcenterName(), Object: named(host), Text: who + " on this host"}
	drs, s := f.drs(g[0])
	switch {
	case drs == nil:
	case !drs.DRS:
		found.Text += ", and DRS is off"
	case areApart(drs, g):
		found.Text += ", though a DRS rule keeps them apart"
	default:
		found.Text += ", and no DRS rule keeps them apart"
		found.Command = separate(s, kind, g)
	}
	return found
}

// free finds the control plane Nodes of one cluster that nothing keeps apart, though they are on
// different hosts. Without DRS, which not every license has, there is nothing that could.
func (f *facts) free(control group) (found []finding.Finding) {
	inClusters := slices.DeleteFunc(slices.Clone(control), func(n *node) bool { return n.above(typeCluster) == nil })
	for _, g := range by(inClusters, func(n *node) string { return n.above(typeCluster).Ref.String() }) {
		drs, s := f.drs(g[0])
		if len(g) < 2 || len(by(g, hostOf)) < len(g) || drs == nil || !drs.DRS || areApart(drs, g) {
			continue
		}
		found = append(found, finding.Finding{
			Kind: finding.ControlPlaneFree, VCenter: g[0].vcenterName(), Object: named(g[0].above(typeCluster)),
			Text: "no enabled rule keeps the machines of the control plane Nodes " + g.names() + " apart", Command: separate(s, finding.ControlPlaneFree, g),
		})
	}
	return found
}
