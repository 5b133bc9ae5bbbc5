package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/world"
	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// explain puts together what the daemon's packages say of a Node.
func explain(ctx context.Context, w *world.World, s *subject) *Explanation {
	n, l := s.node, w.Look(s.node)
	e := &Explanation{
		Node: Node{
			Name: n.Name, InCluster: !s.standIn, Managed: !l.Foreign, Initialized: !nodeinfo.IsUninitialized(n), Ready: nodeinfo.IsReady(n),
			SystemUUID: n.Status.NodeInfo.SystemUUID, ProviderID: n.Spec.ProviderID,
		},
		Identified: identified(w, l, s.standIn),
	}
	for _, st := range w.States {
		if st.Err != nil || st.Snapshot == nil {
			e.Unread = append(e.Unread, Unread{st.VCenter, whyDown(&st)})
		}
	}
	if m := l.Place.Machine; m != nil {
		e.Machine = &Machine{m.Ref.VCenter, m.Ref.ID, m.InventoryPath, m.Name, m.UUID.String(), m.HostName, string(m.Power)}
		e.Paths = paths(w, m)
		e.Addresses = addressesOf(n, l)
	}
	if !l.Foreign {
		e.Labels = labels(w, l)
		e.Taint = l.Plan != nil && l.Plan.Taint
		for _, c := range l.Place.Placement.Conflicts {
			e.Conflicts = append(e.Conflicts, Conflict{string(c.Kind), c.Labels, c.Text()})
		}
	}
	if !s.standIn {
		within, cancel := w.Within(ctx)
		e.Deletion = deletion(w.Checker.Conditions(within, w.StatesFor(n), n))
		cancel()
	}
	e.Problems = problems(l, e)
	return e
}

// identified says how the machine was looked for.
func identified(w *world.World, l *world.Look, standIn bool) Identified {
	id := l.Identity
	out := Identified{}
	if w.Placer.IsForeign(l.Node) {
		return out
	}
	if id.Recorded.VCenter != "" {
		out.Recorded = id.Recorded.VCenter + "/" + id.Recorded.ID
	}
	m := l.Place.Machine
	switch {
	case standIn:
		out.By, out.Value = "uuid", id.UUIDs[0].String()
	case l.Node.Spec.ProviderID != "" && len(id.UUIDs) > 0:
		out.By, out.Value = "providerID", l.Node.Spec.ProviderID
	case len(id.UUIDs) > 0:
		out.By, out.Value = "systemUUID", id.UUIDs[0].String()
		if m != nil && m.UUID != id.UUIDs[0] {
			out.By, out.Value = "systemUUIDSwapped", m.UUID.String()
		}
	case id.Name != "":
		out.By, out.Value = "name", id.Name
	}
	if m == nil && l.Err != nil {
		out.Error = quote.Line(l.Err.Error())
	}
	if _, err := w.Placer.Statement(l.Node); err != nil {
		out.By, out.Value = "", ""
		return out
	}
	out.Candidates = candidates(w.StatesFor(l.Node), id)
	return out
}

// paths returns those of a machine that are walked, in that order, and then the others.
func paths(w *world.World, m *inventory.Machine) []Path {
	policy := &w.Placer.Topology().Policy
	walked := policy.TagPaths()
	contenders := w.Placer.Contenders(m)
	var all []Path
	for i, kind := range append(slices.Clone(walked), topology.DefaultPaths()...) {
		if i >= len(walked) && slices.Contains(walked, kind) {
			continue
		}
		for j := range m.Paths {
			if p := &m.Paths[j]; p.Kind == kind {
				all = append(all, pathOf(p, i < len(walked), policy, contenders))
			}
		}
	}
	return all
}

func pathOf(p *topology.Path, walked bool, policy *topology.Policy, contenders []topology.Contender) Path {
	out := Path{Kind: string(p.Kind), Walked: walked, Objects: []Object{}}
	if p.Broken != nil {
		out.Broken = quote.Line(p.Broken.Error())
	}
	for _, o := range p.Objects {
		one := Object{Type: o.Ref.Type, ID: o.Ref.ID, Path: o.Path, name: topology.Named([]*topology.Object{o})}
		if o.TagsErr != nil && walked {
			one.Unread = quote.Line(o.TagsErr.Error())
		}
		if o.HostGroups != nil && policy.HostGroups() {
			one.HostGroups = o.HostGroups.Names
		}
		if o.FaultDomain != nil && policy.FaultDomains() && len(o.FaultDomain.Names) > 0 {
			one.FaultDomain = o.FaultDomain.Names[0]
		}
		for _, t := range o.Tags {
			tag := Tag{Category: t.Category, Name: t.Name}
			for _, c := range contenders {
				if c.Tag == t && c.By.Ref.ID == o.Ref.ID && c.By.Ref.Type == o.Ref.Type {
					tag.For = append(tag.For, Fate{c.Label, string(c.Fate), c.Fate.Text()})
				}
			}
			one.Tags = append(one.Tags, tag)
		}
		out.Objects = append(out.Objects, one)
	}
	return out
}

// labels returns those of the configuration, and the instance type.
func labels(w *world.World, l *world.Look) []Label {
	policy := &w.Placer.Topology().Policy
	var all []Label
	for _, key := range append(policy.Labels(), plan.LabelType) {
		is := l.Label(key)
		one := Label{
			Label: key, Node: world.ValueOn(l.Node, key), Place: is.Place, Source: is.Source, Undecided: is.Undecided,
			Differs: is.Difference != nil, Action: is.Action, Text: is.Text,
		}
		if is.Difference != nil && is.Difference.Have != "" {
			one.Node = is.Difference.Have // the wrong one of two twins
		}
		for _, d := range l.Place.Placement.Decisions {
			if d.Label == key {
				one.decidedBy(policy, &l.Place.Placement, &d)
			}
		}
		if key != plan.LabelType && one.Undecided == "" && l.Err != nil && len(l.Place.Placement.Decisions) == 0 {
			one.Undecided = "the Node has no place: see the problems"
		}
		all = append(all, one)
	}
	return all
}

// decidedBy notes the object and the rule that decided a label.
func (l *Label) decidedBy(policy *topology.Policy, placed *topology.Placement, d *topology.Decision) {
	if d.By != nil {
		l.By = d.By.String()
	}
	if err := d.Uncertainty(); err != nil {
		l.Uncertain = quote.Line(err.Error())
	}
	var order []string
	for _, kind := range policy.TagPaths() {
		order = append(order, string(kind))
	}
	paths := strings.Join(order, ", ")
	switch {
	case d.Category == "":
	case policy.IsLevel(d.Label):
		l.Why = "the nearest tag on the first path that has one (" + paths + ")"
	default:
		l.Why = fmt.Sprintf("the %s path comes first of those with every required category (%s); precedence %s",
			placed.Path, paths, cmp.Or(policy.Precedence, topology.PrecedenceCSI))
	}
}

// addressesOf returns what became of each address of the machine.
func addressesOf(n *v1.Node, l *world.Look) *Addresses {
	out := &Addresses{Node: n.Status.Addresses, Chosen: l.Place.Addresses.Addresses, Changed: l.Place.AddressesChange}
	if l.Place.AddressErr != nil {
		out.Error = quote.Line(l.Place.AddressErr.Error())
	}
	for _, r := range l.Place.Addresses.Results {
		out.Results = append(out.Results, Result{
			Address: r.Address.String(), Network: r.Network, Reported: !r.Assumed, Static: r.Static,
			Internal: r.Internal.String(), External: r.External.String(), Chosen: r.Internal.Chosen() || r.External.Chosen(),
		})
	}
	return out
}

func deletion(conditions []absence.Condition) Deletion {
	d := Deletion{Deleted: true}
	for _, c := range conditions {
		one := Condition{Condition: string(c.Name), Text: meaning[c.Name]}
		if c.Asked {
			holds := c.Holds()
			one.Holds = &holds
		}
		if c.Err != nil {
			one.Text = meaning[c.Name] + " (" + quote.Line(c.Err.Error()) + ")"
		}
		d.Deleted = d.Deleted && c.Holds()
		d.Conditions = append(d.Conditions, one)
	}
	return d
}

// meaning says what a condition is.
var meaning = map[absence.ConditionName]string{
	absence.Managed:     "the Node is managed by vzones",
	absence.NotReady:    "the Node is not ready",
	absence.Named:       "the Node says which machine it runs on",
	absence.Absent:      "every vCenter was read completely, and none has the machine",
	absence.FoundBefore: "the machine was found before",
	absence.Enabled:     "nodes.skipDeletion is not set",
	absence.Searched:    "a direct search of every vCenter does not find the machine",
}

// problems is what is wrong with a Node.
func problems(l *world.Look, e *Explanation) []Problem {
	var all []Problem
	if l.Err != nil && !l.Foreign {
		all = append(all, Problem{l.Reason(), l.Text()})
	}
	for i := range l.Differences {
		d := &l.Differences[i]
		all = append(all, Problem{world.DifferenceReason(d), world.DifferenceText(d)})
	}
	if e.Deletion.Deleted {
		all = append(all, Problem{"NodeDeleted", "every condition for the deletion of the Node holds: the daemon has it deleted"})
	}
	return all
}
