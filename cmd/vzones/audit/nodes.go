package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/finding"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// auditNodes compares the labels of each Node with its place.
func (f *findings) auditNodes(ps *places) {
	f.unreadVCenters(ps)
	for _, p := range ps.all {
		if p.look.Foreign || p.look.Waits {
			continue
		}
		if !p.known {
			f.unknownNode(p)
			continue
		}
		byKind := map[*finding.Kind][]plan.Difference{}
		for _, d := range p.look.Differences {
			switch {
			case d.Label == plan.LabelType:
			case !d.IsCertain() && !d.Missing:
				f.add(finding.NodeNotKnown, p.stale(d.Text()+": "+quote.Line(d.Uncertain.Error())))
			default:
				kind := p.kindOf(d)
				byKind[kind] = append(byKind[kind], d)
			}
		}
		for kind, differences := range byKind {
			f.add(kind, p.differ(kind, differences))
		}
	}
}

// stale returns a finding about the Node itself.
func (p *place) stale(text string) Stale {
	s := Stale{Ref: Ref{Kind: "Node", Name: p.node.Name}, Node: p.node.Name}
	s.VCenter, s.Text = p.vcenter(), text
	return s
}

// kindOf says what is wrong with a label.
func (p *place) kindOf(d plan.Difference) *finding.Kind {
	have, there := p.node.Labels[d.Label]
	switch {
	case d.Want == "":
		return finding.NodeLabelUnfounded
	case plan.IsLevel(d.Label):
		return finding.NodeLevelStale
	case !there && d.Missing:
		return finding.NodeZoneMissing
	case have == d.Want:
		return finding.NodeBetaStale
	}
	return finding.NodeZoneStale
}

// differ returns the finding of one kind about the labels of a Node.
func (p *place) differ(kind *finding.Kind, differences []plan.Difference) Stale {
	s := p.stale("")
	s.Has, s.VSphere = map[string]string{}, map[string]string{}
	var texts, set []string
	for _, d := range differences {
		label := d.Label
		if kind == finding.NodeBetaStale {
			label = plan.StableAndBeta(d.Label)[0]
		}
		have, there := p.node.Labels[label]
		if there {
			s.Has[label] = have
		}
		switch {
		case d.Want == "":
			texts = append(texts, fmt.Sprintf("%s is %s, and nothing gives it that value", label, quote.Value(have)))
			if plan.IsRemovable(label) {
				set = append(set, label+"-")
			}
			s.noteWriter(p.node, "metadata", "labels", label)
			continue
		case !there:
			texts = append(texts, fmt.Sprintf("%s is missing, vSphere says %s (%s)", label, quote.Value(d.Want), d.Source))
		default:
			texts = append(texts, fmt.Sprintf("%s is %s, vSphere says %s (%s)", label, quote.Value(have), quote.Value(d.Want), d.Source))
			s.noteWriter(p.node, "metadata", "labels", label)
		}
		s.VSphere[label] = d.Want
		for _, key := range plan.StableAndBeta(d.Label) {
			if p.node.Labels[key] != d.Want {
				set = append(set, key+"="+d.Want)
			}
		}
	}
	s.Text = strings.Join(texts, "; ")
	if len(set) > 0 {
		s.Command = fmt.Sprintf("kubectl label node %s --overwrite %s", p.node.Name, strings.Join(set, " "))
	}
	if kind != finding.NodeBetaStale {
		s.Since = driftSince(p.node)
	}
	return s
}

// driftSince returns since when the Node's condition says that its labels are not those of its
// place, zero if it does not.
func driftSince(n *v1.Node) time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == nodeinfo.TopologyReady && c.Status == v1.ConditionFalse {
			return c.LastTransitionTime.UTC()
		}
	}
	return time.Time{}
}

// unreadVCenters finds the vCenters that cannot be read, with the Nodes of which nothing is known for
// that. One for which no Node waits is noted, and is no finding: no copy was left out for it.
func (f *findings) unreadVCenters(ps *places) {
	for _, state := range ps.states {
		if state.Err == nil && state.Snapshot != nil {
			continue
		}
		var nodes []string
		for _, p := range ps.all {
			if !p.look.Foreign && !p.look.Waits && !p.known && p.waitsFor(state.VCenter) {
				nodes = append(nodes, p.node.Name)
			}
		}
		s := Stale{Ref: Ref{Kind: "vCenter", Name: state.VCenter}}
		s.VCenter = state.VCenter
		err := state.Err
		if err == nil {
			err = fmt.Errorf("vCenter %q has not answered in time", state.VCenter)
		}
		switch len(nodes) {
		case 0:
			f.unread = append(f.unread, Unread{state.VCenter, quote.Text(err.Error())})
			continue
		case 1:
			s.Text = fmt.Sprintf("nothing is known of Node %s: %s", nodes[0], quote.Text(err.Error()))
		default:
			s.Text = fmt.Sprintf("nothing is known of %d Nodes (%s): %s", len(nodes), quote.Some(nodes, quote.Most), quote.Text(err.Error()))
		}
		f.add(finding.NodeNotKnown, s)
	}
}

// waitsFor reports whether nothing is known of a Node because a vCenter cannot be read.
func (p *place) waitsFor(vcenter string) bool {
	return slices.Contains(inventory.UnreachableIn(p.look.Err), vcenter)
}

// unknownNode says why nothing is known of a Node, unless that is because a vCenter cannot be read.
func (f *findings) unknownNode(p *place) {
	switch {
	case len(inventory.UnreachableIn(p.look.Err)) > 0:
	case p.look.Place.Machine != nil && errors.Is(p.look.Err, topology.ErrMissing) && p.hasZone():
		s := p.stale(p.look.Text())
		s.Has = map[string]string{}
		for _, label := range [...]string{topology.LabelRegion, topology.LabelZone} {
			if have, there := p.node.Labels[label]; there {
				s.Has[label] = have
				s.noteWriter(p.node, "metadata", "labels", label)
			}
		}
		f.add(finding.NodeLabelUnfounded, s)
	default:
		f.add(finding.NodeNotKnown, p.stale(p.look.Text()))
	}
}

func (p *place) hasZone() bool {
	return p.node.Labels[topology.LabelRegion] != "" || p.node.Labels[topology.LabelZone] != ""
}
