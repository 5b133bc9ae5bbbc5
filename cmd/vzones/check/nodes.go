package check

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// nodeKinds are the kinds of findings by the reason of the Event that the daemon records. What is
// wrong with a vCenter is found there, and of a Node that waits for it nothing is said.
var nodeKinds = map[string]*finding.Kind{
	"provider_id_mismatch":  finding.NodeContradicts,
	"machine_of_two_nodes":  finding.NodesShareMachine,
	"system_uuid_missing":   finding.NodeWithoutUUID,
	"topology_missing":      finding.NodeUnplaced,
	"topology_invalid":      finding.NodeUnplaced,
	"ambiguous":             finding.NodeAmbiguous,
	"machine_not_found":     finding.NodeNotFound,
	"machine_powered_off":   finding.NodeNotFound,
	"address_conflict":      finding.AddressTaken,
	"address_missing":       finding.NodeWithoutAddress,
	"outside_datacenters":   finding.NodeOutside,
	"vcenter_login_failed":  nil,
	"certificate_untrusted": nil,
	"vcenter_unreachable":   nil,
	"machine_unreadable":    finding.NodeUnreadable,
	"unknown":               finding.NodeUnknown,
}

// unplaced finds the Nodes without a machine, a place or an address.
func (f *facts) unplaced() (found []finding.Finding) {
	shared := map[string]bool{}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.Err == nil {
			continue
		}
		kind := nodeKinds[report.Of(n.Err).Name]
		if kind == nil || f.isExplained(n) {
			continue
		}
		if errors.Is(n.Err, placement.ErrShared) {
			if shared[n.key()] {
				continue
			}
			shared[n.key()] = true
		}
		one := finding.Finding{Kind: kind, VCenter: n.vcenterName(), Object: "Node " + n.name(), Text: quote.Line(n.Err.Error()), Short: kind.Title}
		if advice := report.Of(n.Err).Advice; advice != "" {
			one.Text += "; " + advice
		}
		if kind == finding.NodeContradicts || kind == finding.NodeNotFound && !nodeinfo.IsReady(n.Node) { // a ready one has a machine
			one.Command = line("kubectl", "delete", "node", n.name())
		}
		if kind == finding.NodeUnplaced {
			one.Command = f.attachAbove(n)
		}
		found = append(found, one)
	}
	return found
}

// attachAbove returns the command that attaches a tag to the cluster or host of a Node.
func (f *facts) attachAbove(n *node) string {
	o := n.above(typeCluster)
	if o == nil {
		o = n.above(typeHost)
	}
	if o == nil {
		return ""
	}
	policy := &f.config.Topology.Policy
	for _, label := range policy.Labels() {
		if r := f.rule(label); policy.IsRequired(label) && r.Category != "" && strings.Contains(n.Err.Error(), quote.Value(r.Category)) {
			return f.attach(label, o)
		}
	}
	return ""
}

// isExplained reports whether what is wrong with a Node is found with something else: a vCenter that
// cannot be read, tags that conflict or cannot be read, or VMware Tools that do not run.
func (f *facts) isExplained(n *node) bool {
	placed := n.Place.Machine != nil
	name := report.Of(n.Err).Name
	switch {
	case inventory.FirstUnreachable(n.Err) != nil:
		return true
	case name == "ambiguous" && placed, name == "topology_invalid":
		return slices.ContainsFunc(n.Place.Placement.Conflicts, func(c topology.Conflict) bool {
			return slices.Contains([]topology.ConflictKind{topology.ConflictTwoTags, topology.ConflictTwoGroups, topology.ConflictInvalidValue}, c.Kind)
		})
	case name == "unknown":
		return f.isUnknownElsewhere(n)
	case name == "address_missing":
		m := f.settings(n)
		return m != nil && toolsAreOff(m)
	}
	return false
}

// isUnknownElsewhere reports whether something that is found for a vCenter makes a Node's place
// unknown.
func (f *facts) isUnknownElsewhere(n *node) bool {
	if errors.Is(n.Err, topology.ErrNoCategory) {
		return true
	}
	in := n.vcenterName()
	for i := range f.states {
		s := &f.states[i]
		switch {
		case s.Err != nil || s.Snapshot == nil:
			if in == "" || in == s.VCenter {
				return true
			}
		case n.Place.Machine == nil && s.Snapshot.Incomplete != nil:
			return true // which is that of a datacenter
		case in == s.VCenter && len(f.tagging(i)) > 0:
			return true
		}
	}
	if n.Place.Machine == nil {
		return false
	}
	// Objects whose tags may not be read.
	for _, p := range n.Place.Machine.Paths {
		if slices.ContainsFunc(p.Objects, f.isDenied) && strings.Contains(n.Err.Error(), "System.Read") {
			return true
		}
	}
	return false
}

// byName finds the Nodes without a system UUID, if there are machines beside those of Nodes.
func (f *facts) byName() (found []finding.Finding) {
	if !f.config.MatchByName {
		return nil
	}
	own, others := map[topology.Ref]bool{}, 0
	for i := range f.nodes {
		if m := f.nodes[i].Place.Machine; m != nil {
			own[m.Ref] = true
		}
	}
	for i := range f.states {
		if s := f.states[i].Snapshot; s != nil {
			for _, e := range slices.Concat(slices.Collect(maps.Values(s.Index))...) {
				if !e.Template && !own[s.Ref(e.ID)] {
					others++
				}
			}
		}
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		if _, err := inventory.ParseUUID(n.Node.Status.NodeInfo.SystemUUID); err != nil && others > 0 {
			found = append(found, finding.Finding{Kind: finding.NodeByName, VCenter: n.vcenterName(), Object: "Node " + n.name(),
				Text: "the kubelet reports no system UUID, so that a Node of this name is looked for by it, among " + count(others, "machine") + " that no Node has"})
		}
	}
	return found
}

// unreadable finds the machines of a vCenter that cannot be read, unless a Node's finding names them.
func (f *facts) unreadable(i int, nodes []finding.Finding) []finding.Finding {
	snapshot := f.states[i].Snapshot
	var names []string
	for id := range snapshot.Unreadable {
		where := ""
		if m := snapshot.Machines[id]; m != nil {
			where = m.InventoryPath
		}
		name := snapshot.Ref(id).Located(where)
		if !slices.ContainsFunc(nodes, func(n finding.Finding) bool { return strings.Contains(n.Text, name) }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []finding.Finding{{
		Kind: finding.MachineUnreadable, VCenter: snapshot.VCenter, Object: count(len(names), "machine"),
		Text: "the configuration of " + quote.Some(names, quote.Most) + " cannot be read",
	}}
}
