package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/survey"
)

// A group is Nodes with something in common, by name.
type group []*node

func (g group) names() string {
	all := make([]string, len(g))
	for i, n := range g {
		all[i] = n.name()
	}
	return quote.Some(all, quote.Most)
}

// moids returns the managed object IDs of the Nodes' machines.
func (g group) moids() []string {
	ids := make([]string, len(g))
	for i, n := range g {
		ids[i] = n.Place.Machine.Ref.ID
	}
	return ids
}

// located returns the Nodes whose machines are on a known host and that are wanted.
func (f *facts) located(wanted func(*node) bool) (all group) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.above(typeHost) != nil && wanted(n) {
			all = append(all, n)
		}
	}
	return all
}

// by groups Nodes, and returns the groups in the order of their keys.
func by[K cmp.Ordered](nodes group, key func(*node) K) (groups []group) {
	of := map[K]group{}
	for _, n := range nodes {
		of[key(n)] = append(of[key(n)], n)
	}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		groups = append(groups, of[k])
	}
	return groups
}

func hostOf(n *node) string { return n.above(typeHost).Ref.String() }

// affinity finds the Nodes that one host or one rule holds together.
func (f *facts) affinity() (found []finding.Finding) {
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
				found = append(found, f.sharing(finding.ZoneOnOneHost, zone, fmt.Sprintf("all %d Nodes of zone %s are", len(zone), quote.Value(zoneOf(zone[0])))))
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

// sharing is the finding that Nodes share a host.
func (f *facts) sharing(kind *finding.Kind, g group, who string) finding.Finding {
	host := g[0].above(typeHost)
	found := finding.Finding{Kind: kind, VCenter: g[0].vcenterName(), Object: named(host), Text: who + " on this host"}
	drs := f.drs(g[0])
	switch {
	case drs == nil:
	case f.areApart(drs, g):
		found.Text += ", though a DRS rule keeps them apart"
	default:
		found.Text += ", and no DRS rule keeps them apart"
		found.Command = f.separate(g)
	}
	return found
}

// drs returns the DRS configuration of a Node's cluster, nil if that is not known.
func (f *facts) drs(n *node) *survey.Cluster {
	cluster := n.above(typeCluster)
	if cluster == nil {
		return nil
	}
	s := f.survey(cluster.Ref.VCenter)
	if s == nil {
		return nil
	}
	if c := s.Clusters[cluster.Ref.ID]; c != nil && c.Err == nil {
		return c
	}
	return nil
}

// areApart reports whether a rule keeps all machines of these Nodes apart.
func (f *facts) areApart(c *survey.Cluster, g group) bool {
	return slices.ContainsFunc(c.Rules, func(r survey.Rule) bool {
		return r.Enabled && r.Kind == survey.Separate &&
			!slices.ContainsFunc(g.moids(), func(id string) bool { return !slices.Contains(r.Machines, id) })
	})
}

// separate returns the command that makes a rule for Nodes of one cluster.
func (f *facts) separate(g group) string {
	words := []string{"govc", "cluster.rule.create", "-name", "vzones-" + cmp.Or(zoneOf(g[0]), "nodes"), "-enable", "-anti-affinity", "-cluster", g[0].above(typeCluster).Path}
	for _, n := range g {
		words = append(words, n.Place.Machine.InventoryPath)
	}
	return line(words...)
}

// free finds the control plane Nodes of one cluster that nothing keeps apart, though they are on
// different hosts.
func (f *facts) free(control group) (found []finding.Finding) {
	inClusters := slices.DeleteFunc(slices.Clone(control), func(n *node) bool { return n.above(typeCluster) == nil })
	for _, g := range by(inClusters, func(n *node) string { return n.above(typeCluster).Ref.String() }) {
		drs := f.drs(g[0])
		if len(g) < 2 || len(by(g, hostOf)) < len(g) || drs == nil || f.areApart(drs, g) {
			continue
		}
		found = append(found, finding.Finding{
			Kind: finding.ControlPlaneFree, VCenter: g[0].vcenterName(), Object: named(g[0].above(typeCluster)),
			Text: "no enabled rule keeps the machines of the control plane Nodes " + g.names() + " apart", Command: f.separate(g),
		})
	}
	return found
}

// rules finds the rules that keep Nodes together, and those that nothing keeps.
func (f *facts) rules() (found []finding.Finding) {
	inClusters := f.located(func(n *node) bool { return n.above(typeCluster) != nil })
	for _, g := range by(inClusters, func(n *node) string { return n.above(typeCluster).Ref.String() }) {
		drs := f.drs(g[0])
		if drs == nil {
			continue
		}
		cluster := g[0].above(typeCluster)
		about := finding.Finding{VCenter: g[0].vcenterName(), Object: named(cluster)}
		var concern []string
		for _, r := range drs.Rules {
			of := slices.DeleteFunc(slices.Clone(g), func(n *node) bool { return !slices.Contains(r.Machines, n.Place.Machine.Ref.ID) })
			if !r.Enabled || len(of) == 0 {
				continue
			}
			concern = append(concern, quote.Value(r.Name))
			if len(of) > 1 && keepsTogether(&r) {
				one := about
				one.Kind, one.Text = finding.RuleTogether, fmt.Sprintf("rule %s keeps the machines of the Nodes %s on one host", quote.Value(r.Name), of.names())
				one.Command = line("govc", "cluster.rule.remove", "-cluster", cluster.Path, "-name", r.Name)
				found = append(found, one)
			}
		}
		if len(concern) > 0 && !drs.DRS {
			one := about
			one.Kind, one.Text = finding.DRSOff, fmt.Sprintf("DRS is off, so that nothing keeps %s: %s", count(len(concern), "rule"), strings.Join(concern[:min(len(concern), quote.Most)], ", "))
			one.Command = line("govc", "cluster.change", "-drs-enabled", cluster.Path)
			found = append(found, one)
		}
	}
	return found
}

// keepsTogether reports whether a rule leaves its machines one host.
func keepsTogether(r *survey.Rule) bool {
	switch r.Kind {
	case survey.Together:
		return true
	case survey.Hosts:
		return !r.Away && len(r.Hosts) == 1
	}
	return false
}
