package check

import (
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/survey"
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

// hostPlaces places each host of the configured datacenters, as far as tags decide. There are none
// if DRS groups or vSAN decide about region or zone.
func (f *facts) hostPlaces() (places []hostPlace) {
	for i := range f.surveys {
		s := &f.surveys[i]
		if s.Err != nil || len(f.config.Topology.Policy.Categories()) == 0 {
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

// hostPolicy returns the policy as far as it concerns hosts and what is above them: the tags of the
// compute path. It reports whether region and zone follow from that.
func (f *facts) hostPolicy(s *inventory.Snapshot) (topology.Policy, bool) {
	p := f.config.Topology.Policy
	if s != nil {
		p.Invisible = s.InvisibleCategories
	}
	if len(p.Paths) > 0 && !slices.Contains(p.Paths, topology.ComputePath) {
		return p, false
	}
	p.Paths = []topology.PathKind{topology.ComputePath}
	if slices.ContainsFunc(p.Rules, func(r topology.Rule) bool { return !followsFromHost(&r) }) {
		return p, false
	}
	p.Levels = slices.DeleteFunc(slices.Clone(p.Levels), func(r topology.Rule) bool { return !followsFromHost(&r) })
	return p, true
}

// followsFromHost reports whether a label follows from what a survey has read of a host.
func followsFromHost(r *topology.Rule) bool {
	known := func(i topology.Inventory) bool {
		switch i {
		case topology.InventoryPool, topology.InventoryFolder, topology.InventoryFaultDomain:
			return false
		}
		return true
	}
	return r.HostGroup == "" && known(r.Inventory) &&
		!slices.ContainsFunc(r.Value, func(p topology.Part) bool { return !known(p.Inventory) })
}

// lacking returns the required labels that nothing on a path gives a value.
func lacking(policy topology.Policy, up []topology.Path) (labels []string) {
	optional := func(rules topology.Rules) topology.Rules {
		rules = slices.Clone(rules)
		for i := range rules {
			rules[i].Required = false
		}
		return rules
	}
	required := policy
	policy.Rules, policy.Levels = optional(policy.Rules), optional(policy.Levels)
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
			Command: f.attach(p.missing[0], of.Object),
		})
	}
	return found
}

// attach returns the command that attaches a tag for a label to an object. Which one is the
// operator's to say.
func (f *facts) attach(label string, o *topology.Object) string {
	policy := f.config.Topology.Policy
	for _, rules := range []topology.Rules{policy.Rules, policy.Levels} {
		for _, r := range rules {
			if r.Label == label && r.Category != "" {
				return line("govc", "tags.attach", "-c", r.Category, "TAG", o.Path)
			}
		}
	}
	return ""
}
