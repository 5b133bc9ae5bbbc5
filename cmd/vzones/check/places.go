package check

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
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
	for _, n := range f.nodes {
		if by := n.Place.Placement.Path; errors.Is(n.Err, topology.ErrMissing) || by != "" && by != topology.ComputePath {
			for _, kind := range []string{typeHost, typeCluster} {
				if o := n.Above(kind); o != nil {
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
		id, of := "VZ130", p.host
		if whole[ref] {
			id, of, withNodes[ref] = "VZ131", p.under, true // once
		}
		found = append(found, finding.Finding{
			ID: id, VCenter: of.Ref.VCenter, Object: named(of.Object),
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
		return cli.Shell("govc", "tags.attach", "-c", r.Category, "TAG", o.Path)
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

// conflictKinds are the kinds of findings that conflicts are, but for those of tag categories,
// which are found by vCenter.
var conflictKinds = map[topology.ConflictKind]string{
	topology.ConflictPrecedence:      "VZ134",
	topology.ConflictTagOrder:        "VZ135",
	topology.ConflictTwoTags:         "VZ132",
	topology.ConflictTwoGroups:       "VZ144",
	topology.ConflictInvalidValue:    "VZ133",
	topology.ConflictOffPath:         "VZ136",
	topology.ConflictSpans:           "VZ137",
	topology.ConflictNames:           "VZ138",
	topology.ConflictRegionAndZone:   "VZ139",
	topology.ConflictNoHosts:         "VZ140",
	topology.ConflictMissingCategory: "",
	topology.ConflictNoCategory:      "",
	topology.ConflictUnread:          "VZ119",
	topology.ConflictTwoRegions:      "VZ141",
	topology.ConflictNotNested:       "VZ142",
	topology.ConflictNotCSI:          "VZ143",
}

// conflicts finds those of all placements, of Nodes and of hosts, each once. What only follows from
// another one is left out. Names in the inventory matter where Nodes are: those who name other clusters
// may know nothing of Kubernetes.
func (f *facts) conflicts(places []hostPlace) (found []finding.Finding) {
	policy := &f.config.Topology.Policy
	var placements []topology.Placement
	for _, n := range f.nodes {
		placements = append(placements, n.Place.Placement)
	}
	if f.byTags() {
		for i := range places {
			placements = append(placements, places[i].placement)
		}
	}
	fleet := policy.FleetConflicts(placements, f.tagged)
	type ofNode struct {
		topology.Conflict
		node []string // empty for a host's
	}
	var all []ofNode
	for _, c := range policy.NotCSI() {
		all = append(all, ofNode{c, nil})
	}
	off := map[topology.Ref]bool{} // what decided off the compute path
	for i, p := range placements {
		var name []string
		if i < len(f.nodes) {
			name = []string{f.nodes[i].name()}
		}
		for _, c := range fleet.Of(p) {
			if !followsFromRegions(&c, p, &fleet) {
				all = append(all, ofNode{c, name})
			}
			if c.Kind == topology.ConflictOffPath {
				for _, o := range c.Objects {
					off[o.Ref] = true
				}
			}
		}
	}
	all = slices.DeleteFunc(all, func(c ofNode) bool {
		return c.Kind == topology.ConflictNoHosts && !slices.ContainsFunc(c.Objects, func(o *topology.Object) bool { return !off[o.Ref] })
	})
	at := map[string]int{}
	for i := range all {
		c := &all[i].Conflict
		id, text := conflictKinds[c.Kind], c.Text()
		if id == "" || f.isKnown(c) {
			continue
		}
		if _, again := at[id+text]; !again {
			at[id+text] = len(found)
			found = append(found, f.conflict(id, c, text))
		}
		one := &found[at[id+text]]
		one.Nodes = append(one.Nodes, all[i].node...)
	}
	return found
}

// tagged returns the tags of regions and zones that are attached to anything, by the name of each vCenter's first
// entry. Of a tag that several entries of one vCenter show, that of the one which shows most objects counts.
func tagged(states []inventory.State, surveys []survey.Survey) []topology.Tagged {
	type tag struct{ vcenter, category, name string }
	var all []topology.Tagged
	at := map[tag]int{}
	for i := range surveys {
		first := inventory.FirstEntry(states, surveys[i].VCenter)
		for _, t := range surveys[i].Tagged {
			t.VCenter = first
			i, again := at[tag{first, t.Category, t.Name}]
			switch {
			case !again:
				at[tag{first, t.Category, t.Name}] = len(all)
				all = append(all, t)
			case len(t.NoHosts)+t.Further > len(all[i].NoHosts)+all[i].Further:
				all[i] = t
			}
		}
	}
	return all
}

// byTags reports whether region and zone come from tags.
func (f *facts) byTags() bool {
	return !slices.ContainsFunc(f.config.Topology.Policy.Rules, func(r topology.Rule) bool { return r.Category == "" })
}

// followsFromRegions reports whether the names of a pair are in several vCenters since its zone is in
// several regions, which is found.
func followsFromRegions(c *topology.Conflict, placed topology.Placement, fleet *topology.FleetConflicts) bool {
	_, twoRegions := fleet.Unnested[topology.Value{Label: topology.LabelZone, Value: placed.Value(topology.LabelZone)}]
	return twoRegions && c.Kind == topology.ConflictNames
}

// isKnown reports whether a conflict is that tags may not be read, which is found for each object.
func (f *facts) isKnown(c *topology.Conflict) bool {
	return c.Kind == topology.ConflictUnread && !slices.ContainsFunc(c.Objects, func(o *topology.Object) bool { return !f.isUnreadFound(o) })
}

// isUnreadFound reports whether it is found for an object that the account may not read its tags.
func (f *facts) isUnreadFound(o *topology.Object) bool {
	s := f.survey(o.Ref.VCenter)
	return s != nil && slices.ContainsFunc(s.Objects, func(other *survey.Object) bool { return other.Ref.ID == o.Ref.ID && isUnread(other.Object) })
}

func (f *facts) conflict(id string, c *topology.Conflict, text string) finding.Finding {
	found := finding.Finding{ID: id, Text: text, Object: "label " + strings.Join(c.Labels, ", "), HasAdvice: true}
	if len(c.Objects) == 0 {
		return found
	}
	objects := slices.SortedFunc(slices.Values(c.Objects), topology.CompareObjects)
	found.Object = objects[0].String()
	if first, last := objects[0].Ref.VCenter, objects[len(objects)-1].Ref.VCenter; first == last {
		found.VCenter, found.Object = first, topology.Named(slices.CompactFunc(slices.Clone(c.Objects), func(a, b *topology.Object) bool { return a.Ref == b.Ref }))
	}
	if c.Kind == topology.ConflictNoHosts {
		found.Command = f.detach(c.Objects[0])
	}
	return found
}

// detach returns the command that takes the tag of a conflict off an object.
func (f *facts) detach(o *topology.Object) string {
	for _, t := range f.tagged {
		if slices.ContainsFunc(t.NoHosts, func(other *topology.Object) bool { return other.Ref == o.Ref }) {
			return cli.Shell("govc", "tags.detach", "-c", t.Category, t.Name, cmp.Or(o.Ref.Type+":"+o.Ref.ID, o.Path))
		}
	}
	return ""
}

// driverKinds are the kinds that matter to the vSphere CSI driver alone, zonedKinds those of them that
// matter only where it reports zones.
var (
	driverKinds = append([]string{"VZ165"}, zonedKinds...)
	zonedKinds  = []string{"VZ135", "VZ136", "VZ138", "VZ139", "VZ140", "VZ143"}
)

// withoutDriver leaves out what matters to the CSI driver alone, if the cluster does not have it or it does
// not report zones. A zone in several vCenters stays: to the scheduler it is one, which may be intended.
func (f *facts) withoutDriver(found []finding.Finding) []finding.Finding {
	var out []string
	switch f.csi {
	case world.CSINone:
		out = driverKinds
	case world.CSIAnywhere:
		out = zonedKinds
	default:
		return found
	}
	found = slices.DeleteFunc(found, func(one finding.Finding) bool { return slices.Contains(out, one.ID) })
	for i := range found {
		if found[i].ID == "VZ137" {
			found[i].ID = "VZ145"
		}
	}
	return found
}
