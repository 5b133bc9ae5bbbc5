package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/topology"
	"vzones/topology/quote"
)

// A group is Nodes with something in common, by name.
type group []*node

func (g group) names() []string {
	all := make([]string, len(g))
	for i, n := range g {
		all[i] = n.name()
	}
	return all
}

func (g group) text() string { return quote.Some(g.names(), quote.Most) }

// on returns a finding about an object that the Nodes have in common.
func (g group) on(id string, o *topology.Object, text string) finding.Finding {
	return finding.Finding{ID: id, VCenter: o.Ref.VCenter, Object: named(o), Text: text, Nodes: g.names()}
}

// located returns the Nodes whose machines are on a known host and of which a condition holds.
func (f *facts) located(is func(*node) bool) (all group) {
	for _, n := range f.nodes {
		if n.above(typeHost) != nil && is(n) {
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

// together finds the Nodes that one host, one rule or one zone holds together.
func (f *facts) together(places []hostPlace) (found []finding.Finding) {
	control := f.located((*node).isControlPlane)
	for _, g := range by(control, hostOf) {
		if len(g) > 1 {
			found = append(found, f.sharing("VZ170", g, "control plane Nodes "+g.text()+" are on this host"))
		}
	}
	hosts := map[string]int{} // by zone
	for i := range places {
		hosts[places[i].placement.Value(topology.LabelZone)]++
	}
	zoned := f.located(func(n *node) bool { return n.zone() != "" })
	zones := by(zoned, (*node).zone)
	for _, g := range zones {
		isControl := !slices.ContainsFunc(g, func(n *node) bool { return !n.isControlPlane() })
		if len(g) > 1 && len(by(g, hostOf)) == 1 && !isControl && hosts[g[0].zone()] != 1 { // 0 is that it is not known
			found = append(found, f.sharing("VZ172", g, fmt.Sprintf("all %d Nodes of zone %s are on this host", len(g), quote.Value(g[0].zone()))))
		}
	}
	var members group
	for _, n := range zoned {
		if n.isControlPlane() {
			members = append(members, n)
		}
	}
	if in := by(members, (*node).zone); len(members) > 1 && len(members) == len(control) && len(in) == 1 && len(zones) > 1 {
		found = append(found, finding.Finding{
			ID: "VZ176", Object: "zone " + quote.Value(members[0].zone()), Nodes: members.names(),
			Text: fmt.Sprintf("all %d Nodes of the control plane are in it, and Nodes are in %d zones", len(members), len(zones)),
		})
	}
	return append(found, f.rules()...)
}

// sharing is the finding that Nodes share a host, with the command that makes a DRS rule for them: if DRS is
// on, no rule separates them, and the cluster has hosts for all.
func (f *facts) sharing(id string, g group, text string) finding.Finding {
	found := g.on(id, g[0].above(typeHost), text)
	drs, s := f.drs(g[0])
	if drs == nil {
		return found
	}
	cluster, hosts := g[0].above(typeCluster), 0
	for _, o := range s.Objects {
		if o.Ref.Type == typeHost && o.Parent != nil && o.Parent.Ref.ID == cluster.Ref.ID {
			hosts++
		}
	}
	isApart := slices.ContainsFunc(drs.Rules, func(r survey.Rule) bool {
		return r.Enabled && r.Kind == survey.Separate && !slices.ContainsFunc(g, func(n *node) bool { return !slices.Contains(r.Machines, n.Place.Machine.Ref.ID) })
	})
	switch {
	case !drs.DRS:
		found.Text += ", and DRS is off"
	case isApart:
		found.Text += ", though a DRS rule keeps them apart"
	case hosts >= len(g):
		words := []string{"govc", "cluster.rule.create", "-name", "vzones-" + g[0].name(), "-enable", "-anti-affinity", "-cluster", cluster.Path}
		for _, n := range g {
			words = append(words, n.Place.Machine.InventoryPath)
		}
		found.Command = cli.Shell(words...)
	}
	return found
}

// drs returns the DRS configuration of a Node's cluster, nil if that is not known.
func (f *facts) drs(n *node) (*survey.Cluster, *survey.Survey) {
	cluster := n.above(typeCluster)
	if cluster == nil {
		return nil, nil
	}
	s := f.survey(cluster.Ref.VCenter)
	if s == nil {
		return nil, nil
	}
	c := s.Clusters[cluster.Ref.ID]
	if c == nil || c.Err != nil {
		return nil, s
	}
	return c, s
}

// rules finds the rules that leave Nodes one host.
func (f *facts) rules() (found []finding.Finding) {
	inClusters := f.located(func(n *node) bool { return n.above(typeCluster) != nil })
	for _, g := range by(inClusters, func(n *node) string { return n.above(typeCluster).Ref.String() }) {
		drs, _ := f.drs(g[0])
		if drs == nil {
			continue
		}
		cluster := g[0].above(typeCluster)
		for _, r := range drs.Rules {
			isOneHost := r.Kind == survey.Together || r.Kind == survey.Hosts && !r.Away && len(r.Hosts) == 1
			of := slices.DeleteFunc(slices.Clone(g), func(n *node) bool { return !slices.Contains(r.Machines, n.Place.Machine.Ref.ID) })
			if !r.Enabled || !isOneHost || len(of) < 2 {
				continue
			}
			one := of.on("VZ173", cluster, fmt.Sprintf("rule %s keeps the machines of the Nodes %s on one host", quote.Value(r.Name), of.text()))
			one.Command = cli.Shell("govc", "cluster.rule.remove", "-cluster", cluster.Path, "-name", r.Name)
			found = append(found, one)
		}
	}
	return found
}
