package check

import (
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/topology/quote"
)

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

// areApart reports whether rules keep each two of these Nodes' machines apart.
func areApart(c *survey.Cluster, g group) bool {
	ids := g.moids()
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			if !keepApart(c, a, b) {
				return false
			}
		}
	}
	return true
}

// keepApart reports whether rules keep two machines apart: one that separates them, or two that tie
// them to different hosts, as those of a cluster over two sites do.
func keepApart(c *survey.Cluster, a, b string) bool {
	return slices.ContainsFunc(c.Rules, func(r survey.Rule) bool {
		if r.Enabled && r.Kind == survey.Separate && slices.Contains(r.Machines, a) && slices.Contains(r.Machines, b) {
			return true
		}
		return ties(&r, a) && slices.ContainsFunc(c.Rules, func(other survey.Rule) bool {
			return ties(&other, b) && !slices.ContainsFunc(r.Hosts, func(host string) bool { return slices.Contains(other.Hosts, host) })
		})
	})
}

// ties reports whether a rule keeps a machine on some hosts. A group without hosts ties to none.
func ties(r *survey.Rule, machine string) bool {
	return r.Enabled && r.Kind == survey.Hosts && !r.Away && len(r.Hosts) > 0 && slices.Contains(r.Machines, machine)
}

// separate returns the command that makes a rule for Nodes of one cluster, empty if the cluster has
// too few hosts: such a rule keeps machines from starting. A cluster's rules have names of their own.
func separate(s *survey.Survey, kind *finding.Kind, g group) string {
	cluster := g[0].above(typeCluster)
	hosts := 0
	for _, o := range s.Objects {
		if o.Ref.Type == typeHost && o.Parent != nil && o.Parent.Ref.ID == cluster.Ref.ID {
			hosts++
		}
	}
	if hosts < len(g) {
		return ""
	}
	name := "vzones-" + g[0].name()
	if kind != finding.ZoneNodesShare && kind != finding.ZoneOnOneHost {
		name = "vzones-control-plane-" + g[0].name()
	}
	words := []string{"govc", "cluster.rule.create", "-name", name, "-enable", "-anti-affinity", "-cluster", cluster.Path}
	for _, n := range g {
		words = append(words, n.Place.Machine.InventoryPath)
	}
	return line(words...)
}

// rules finds the rules that keep Nodes together, and those that nothing keeps.
func (f *facts) rules() (found []finding.Finding) {
	inClusters := f.located(func(n *node) bool { return n.above(typeCluster) != nil })
	for _, g := range by(inClusters, func(n *node) string { return n.above(typeCluster).Ref.String() }) {
		drs, _ := f.drs(g[0])
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
