package check

import (
	"cmp"
	"slices"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// conflictKinds are the kinds of findings that conflicts are, but for those of tag categories,
// which are found by vCenter.
var conflictKinds = map[topology.ConflictKind]*finding.Kind{
	topology.ConflictPrecedence:      finding.PrecedenceConflict,
	topology.ConflictTagOrder:        finding.TagOrder,
	topology.ConflictTwoTags:         finding.TwoTags,
	topology.ConflictTwoGroups:       finding.TwoGroups,
	topology.ConflictInvalidValue:    finding.InvalidValue,
	topology.ConflictOffPath:         finding.OffComputePath,
	topology.ConflictSpans:           finding.ZoneSpansVCenters,
	topology.ConflictNames:           finding.NamesSpanVCenters,
	topology.ConflictRegionAndZone:   finding.NameOfBoth,
	topology.ConflictNoHosts:         finding.TagWithoutHosts,
	topology.ConflictMissingCategory: nil,
	topology.ConflictNoCategory:      nil,
	topology.ConflictUnread:          finding.TagsUnreadable,
	topology.ConflictTwoRegions:      finding.ZoneInTwoRegions,
	topology.ConflictNotNested:       finding.NotNested,
	topology.ConflictNotCSI:          finding.NotSeenByCSI,
}

// conflicts finds those of all placements, of Nodes and of hosts, each once. What only follows from
// another one is left out. Names in the inventory matter where Nodes are: those who name other clusters
// may know nothing of Kubernetes.
func (f *facts) conflicts(places []hostPlace) (found []finding.Finding) {
	policy := &f.config.Topology.Policy
	var placements []topology.Placement
	for i := range f.nodes {
		placements = append(placements, f.nodes[i].Place.Placement)
	}
	if f.byTags() {
		for i := range places {
			placements = append(placements, places[i].placement)
		}
	}
	fleet := policy.FleetConflicts(placements, f.tagged)
	all := policy.NotCSI()
	off := map[topology.Ref]bool{} // what decided off the compute path
	for _, p := range placements {
		for _, c := range fleet.Of(p) {
			if !followsFromRegions(&c, p, &fleet) {
				all = append(all, c)
			}
			if c.Kind == topology.ConflictOffPath {
				for _, o := range c.Objects {
					off[o.Ref] = true
				}
			}
		}
	}
	all = slices.DeleteFunc(all, func(c topology.Conflict) bool {
		return c.Kind == topology.ConflictNoHosts && !slices.ContainsFunc(c.Objects, func(o *topology.Object) bool { return !off[o.Ref] })
	})
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		kind := conflictKinds[c.Kind]
		text := c.Text()
		if kind == nil || seen[string(c.Kind)+text] || f.isKnown(c) {
			continue
		}
		seen[string(c.Kind)+text] = true
		found = append(found, f.conflict(kind, c, text))
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
	return c.Kind == topology.ConflictUnread && !slices.ContainsFunc(c.Objects, func(o *topology.Object) bool { return !f.isDenied(o) && !f.isSurveyed(o) })
}

// isSurveyed reports whether a survey has an object.
func (f *facts) isSurveyed(o *topology.Object) bool {
	s := f.survey(o.Ref.VCenter)
	return s != nil && slices.ContainsFunc(s.Objects, func(other *survey.Object) bool { return other.Ref.ID == o.Ref.ID && f.isUnread(other) })
}

func (f *facts) conflict(kind *finding.Kind, c *topology.Conflict, text string) finding.Finding {
	found := finding.Finding{Kind: kind, Text: text, Object: "label " + strings.Join(c.Labels, ", ")}
	if len(c.Objects) == 0 {
		return found
	}
	objects := slices.SortedFunc(slices.Values(c.Objects), topology.CompareObjects)
	found.Object = objects[0].String()
	if first, last := objects[0].Ref.VCenter, objects[len(objects)-1].Ref.VCenter; first == last {
		found.VCenter, found.Object = first, topology.Named(c.Objects)
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
			return line("govc", "tags.detach", "-c", t.Category, t.Name, cmp.Or(o.Ref.Type+":"+o.Ref.ID, o.Path))
		}
	}
	return ""
}
