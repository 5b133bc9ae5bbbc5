package check

import (
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// The managed object types of what is above a machine.
const (
	typeHost    = "HostSystem"
	typeCluster = "ClusterComputeResource"
)

// A hostPlace is what a machine on a host would get from the tags above it.
type hostPlace struct {
	host *survey.Object
	// under is the cluster, or the host itself where it is in none.
	under     *survey.Object
	placement topology.Placement
	// missing are the required labels that nothing gives a value, and err is why there is no placement.
	missing []string
	err     error
}

// hostPlaces places each host of the configured datacenters of the vCenters that were read. There are
// none if more than the host decides about region or zone.
func (f *facts) hostPlaces() (places []hostPlace) {
	for i := range f.surveys {
		s := &f.surveys[i]
		if state := &f.states[i]; s.Err != nil || state.Err != nil || state.Snapshot == nil {
			continue
		}
		policy, ok := f.hostPolicy(f.states[i].Snapshot)
		if !ok {
			return nil
		}
		within := f.within(i)
		for _, o := range s.Objects {
			if o.Ref.Type != typeHost || !within(o) {
				continue
			}
			p := hostPlace{host: o, under: o}
			if o.Parent != nil && o.Parent.Ref.Type == typeCluster {
				p.under = o.Parent
			}
			up := placement.Paths(f.states, s.VCenter, []topology.Path{o.Up()})
			p.placement, p.err = topology.Resolve(policy, up)
			if errors.Is(p.err, topology.ErrMissing) {
				p.missing = lacking(policy, up)
			}
			places = append(places, p)
		}
	}
	return places
}

// hostPolicy returns the policy as far as it concerns hosts and what is above them. It reports whether
// region and zone follow from that.
func (f *facts) hostPolicy(s *inventory.Snapshot) (topology.Policy, bool) {
	p, ok := f.config.Topology.Policy.ForHosts()
	p.Invisible = s.InvisibleCategories
	isMachines := func(r topology.Rule) bool { return !r.FollowsFromHost() }
	p.Levels = slices.DeleteFunc(slices.Clone(p.Levels), isMachines)
	return p, ok && !slices.ContainsFunc(p.Rules, isMachines)
}

// lacking returns the required labels that nothing on a path gives a value.
func lacking(policy topology.Policy, up []topology.Path) (labels []string) {
	required := policy
	policy.Rules, policy.Levels = policy.Rules.Optional(), policy.Levels.Optional()
	placed, err := topology.Resolve(policy, up)
	if err != nil {
		return nil
	}
	for _, label := range policy.Labels() {
		if required.IsRequired(label) && placed.Value(label) == "" && placed.WhyUndecided(label) == nil {
			labels = append(labels, label)
		}
	}
	return labels
}

// within returns a function that reports whether an object is in a configured datacenter.
func (f *facts) within(i int) func(*survey.Object) bool {
	return f.surveys[i].Within(f.config.VCenters[i].Datacenters)
}

// outside returns the managed object IDs of what no Node depends on: objects that are neither in a
// configured datacenter nor above one.
func (f *facts) outside(i int) map[string]bool {
	outside, within := map[string]bool{}, f.within(i)
	for _, o := range f.surveys[i].Objects {
		up := o.Up()
		outside[o.Ref.ID] = up.Broken == nil // of others it is not known
	}
	for _, o := range f.surveys[i].Objects {
		if within(o) {
			for at := o; at != nil; at = at.Parent {
				delete(outside, at.Ref.ID)
			}
		}
	}
	return outside
}

// untagged finds the hosts and clusters without a region or zone. Those with Nodes are left out:
// of a Node that has none either, and of one that has it from a pool or folder, that is found.
func (f *facts) untagged(places []hostPlace) (found []finding.Finding) {
	withNodes := map[topology.Ref]bool{}
	for i := range f.nodes {
		n := &f.nodes[i]
		if by := n.Place.Placement.Path; errors.Is(n.Err, topology.ErrMissing) || by != "" && by != topology.ComputePath {
			for _, kind := range []string{typeHost, typeCluster} {
				if o := n.above(kind); o != nil {
					withNodes[o.Ref] = true
				}
			}
		}
	}
	whole := map[topology.Ref]bool{}
	for _, p := range places {
		ref := p.under.Ref
		all, seen := whole[ref]
		whole[ref] = len(p.missing) > 0 && (all || !seen)
	}
	for _, p := range places {
		ref := p.under.Ref
		if len(p.missing) == 0 || withNodes[ref] || withNodes[p.host.Ref] {
			continue
		}
		kind, of := finding.HostWithoutZone, p.host
		if whole[ref] {
			kind, of, withNodes[ref] = finding.ClusterWithoutZone, p.under, true // once
		}
		found = append(found, finding.Finding{
			Kind: kind, VCenter: of.Ref.VCenter, Object: named(of.Object),
			Text:    "nothing on it or above it gives a value to " + strings.Join(p.missing, " and "),
			Advice:  f.give(p.missing[0]),
			Command: f.attach(p.missing[0], of.Object),
		})
	}
	return found
}

// give says how a host gets a value for a label that comes from something else than a tag, empty for one
// that does.
func (f *facts) give(label string) string {
	switch r := f.rule(label); {
	case r == nil || r.Category != "":
		return ""
	case r.HostGroup != "":
		return "Put the host into one of the DRS host groups " + quote.Value(r.HostGroup) + "."
	case r.Inventory == topology.InventoryFaultDomain:
		return "Put the host into a vSAN fault domain."
	}
	return "Take the label from a tag, or move the host to where the inventory gives it a value."
}

// attach returns the command that attaches a tag for a label to an object, empty if the label comes from
// something else. Which tag is the operator's to say.
func (f *facts) attach(label string, o *topology.Object) string {
	if r := f.rule(label); r != nil && r.Category != "" {
		return line("govc", "tags.attach", "-c", r.Category, "TAG", o.Path)
	}
	return ""
}

// rule returns that of a label, nil if there is none.
func (f *facts) rule(label string) *topology.Rule {
	policy := &f.config.Topology.Policy
	for _, rules := range []topology.Rules{policy.Rules, policy.Levels} {
		for i := range rules {
			if rules[i].Label == label {
				return &rules[i]
			}
		}
	}
	return nil
}
