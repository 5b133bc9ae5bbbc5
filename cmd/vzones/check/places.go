package check

import (
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology"
)

// hostPlaces places each host of the configured datacenters of the vCenters that were read. There are
// none if more than the host decides about region or zone.
func (f *facts) hostPlaces() (places []world.HostPlace) {
	policy, ok := world.HostPolicy(f.config.Topology.Policy)
	if !ok {
		return nil
	}
	for i := range f.surveys {
		s := &f.surveys[i]
		if s.Err != nil || f.states[i].Err != nil {
			continue
		}
		policy.Invisible = f.states[i].Snapshot.InvisibleCategories
		within := f.within(i)
		for _, o := range s.Objects {
			if o.Ref.Type == world.TypeHost && within(o) {
				places = append(places, world.PlaceHost(f.states, policy, o.Up()))
			}
		}
	}
	return places
}

// within returns a function that reports whether an object is in a configured datacenter.
func (f *facts) within(i int) func(*world.Object) bool {
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
func (f *facts) untagged(places []world.HostPlace) (found []Finding) {
	withNodes := map[topology.Ref]bool{}
	for _, n := range f.nodes {
		if by := n.Place.Placement.Path; errors.Is(n.Err, topology.ErrMissing) || by != "" && by != topology.ComputePath {
			for _, kind := range []string{world.TypeHost, world.TypeCluster} {
				if o := n.Above(kind); o != nil {
					withNodes[o.Ref] = true
				}
			}
		}
	}
	missing := make([][]string, len(places))
	whole := map[topology.Ref]bool{}
	for i, p := range places {
		missing[i] = slices.DeleteFunc(p.Missing, func(label string) bool { return !f.config.Topology.Policy.IsRequired(label) })
		all, seen := whole[p.Under.Ref]
		whole[p.Under.Ref] = len(missing[i]) > 0 && (all || !seen)
	}
	for i, p := range places {
		ref := p.Under.Ref
		if len(missing[i]) == 0 || withNodes[ref] || withNodes[p.Host.Ref] {
			continue
		}
		id, of := "VZ130", p.Host
		if whole[ref] {
			id, of, withNodes[ref] = "VZ131", p.Under, true // once
		}
		found = append(found, Finding{
			ID: id, VCenter: of.Ref.VCenter, Object: named(of),
			Text:    "nothing on it or above it gives a value to " + strings.Join(missing[i], " and "),
			Command: f.attach(missing[i], of),
		})
	}
	return found
}

// attach returns the command that attaches a tag for the first of some labels that comes from tags, empty if none
// does. Which tag is the operator's to say.
func (f *facts) attach(labels []string, o *topology.Object) string {
	policy := &f.config.Topology.Policy
	for _, r := range slices.Concat(policy.Rules, policy.Levels) {
		if slices.Contains(labels, r.Label) && r.Category != "" {
			return cli.Shell("govc", "tags.attach", "-c", r.Category, "TAG", o.Path)
		}
	}
	return ""
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
	topology.ConflictNames:           "", // the zone is in two regions then
	topology.ConflictRegionAndZone:   "VZ139",
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
func (f *facts) conflicts(places []world.HostPlace) (found []Finding) {
	policy := &f.config.Topology.Policy
	var placements []topology.Placement
	for _, n := range f.nodes {
		placements = append(placements, n.Place.Placement)
	}
	if f.byTags() {
		for i := range places {
			placed := places[i].Placement
			if slices.ContainsFunc(policy.Labels(), func(label string) bool { return policy.IsRequired(label) && placed.Value(label) == "" }) {
				placed.Decisions = nil // no Node is placed there
			}
			placements = append(placements, placed)
		}
	}
	fleet := policy.FleetConflicts(placements)
	at := map[string]int{}
	add := func(c *topology.Conflict, nodes ...string) {
		id, text := conflictKinds[c.Kind], c.Text()
		if id == "" || f.isKnown(c) {
			return
		}
		i, again := at[id+text]
		if !again {
			i = len(found)
			at[id+text], found = i, append(found, f.conflict(id, c, text))
		}
		found[i].Nodes = append(found[i].Nodes, nodes...)
	}
	for _, c := range policy.NotCSI() {
		add(&c)
	}
	for i, p := range placements {
		var nodes []string
		if i < len(f.nodes) {
			nodes = []string{f.nodes[i].name()}
		}
		for _, c := range fleet.Of(p) {
			add(&c, nodes...)
		}
	}
	return found
}

// byTags reports whether region and zone come from tags.
func (f *facts) byTags() bool {
	return !slices.ContainsFunc(f.config.Topology.Policy.Rules, func(r topology.Rule) bool { return r.Category == "" })
}

// isKnown reports whether a conflict is that tags may not be read, which is found for each object.
func (f *facts) isKnown(c *topology.Conflict) bool {
	return c.Kind == topology.ConflictUnread && !slices.ContainsFunc(c.Objects, func(o *topology.Object) bool { return !f.isUnreadFound(o) })
}

// isUnreadFound reports whether it is found for an object that the account may not read its tags.
func (f *facts) isUnreadFound(o *topology.Object) bool {
	s := f.survey(o.Ref.VCenter)
	return s != nil && slices.ContainsFunc(s.Objects, func(other *world.Object) bool { return other.Ref.ID == o.Ref.ID && isUnread(other.Object) })
}

func (f *facts) conflict(id string, c *topology.Conflict, text string) Finding {
	found := Finding{ID: id, Text: text, Object: "label " + strings.Join(c.Labels, ", "), HasAdvice: true}
	if len(c.Objects) == 0 {
		return found
	}
	objects := slices.SortedFunc(slices.Values(c.Objects), topology.CompareObjects)
	found.Object = objects[0].String()
	if first, last := objects[0].Ref.VCenter, objects[len(objects)-1].Ref.VCenter; first == last {
		found.VCenter, found.Object = first, topology.Named(slices.CompactFunc(slices.Clone(c.Objects), func(a, b *topology.Object) bool { return a.Ref == b.Ref }))
	}
	return found
}

// zonedKinds are the kinds that matter to the vSphere CSI driver alone, and where it reports zones.
var zonedKinds = []string{"VZ135", "VZ136", "VZ139", "VZ143"}

// withoutDriver leaves out what matters to the CSI driver alone, if the cluster does not have it or it does
// not report zones. A zone in several vCenters stays: to the scheduler it is one, which may be intended.
func (f *facts) withoutDriver(found []Finding) []Finding {
	found = slices.DeleteFunc(found, func(one Finding) bool {
		return f.copies.noDriver && one.ID == "VZ165" || f.copies.noZones && slices.Contains(zonedKinds, one.ID)
	})
	for i := range found {
		if f.copies.noZones && found[i].ID == "VZ137" {
			found[i].ID = "VZ145"
		}
	}
	return found
}
