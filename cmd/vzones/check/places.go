package check

import (
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology"
)

// hostPlaces returns the place of each host in the configured datacenters. It returns none if region and
// zone do not follow from the host alone.
func (f *facts) hostPlaces() (places []world.HostPlace) {
	policy, ok := world.HostPolicy(f.config.Topology.Policy)
	if !ok {
		return nil
	}
	for _, v := range f.vcenters {
		if v.survey.Err != nil || v.state.Err != nil {
			continue
		}
		policy.Invisible = v.state.Snapshot.InvisibleCategories
		inDatacenter := v.datacenterFilter()
		for _, o := range v.survey.Objects {
			if o.Ref.Type == world.TypeHost && inDatacenter(o) {
				places = append(places, world.PlaceHost(f.states, policy, o.Up()))
			}
		}
	}
	return places
}

// attach returns the command that tags an object for the first of the labels with a tag category, or "".
// The operator replaces TAG.
func (f *facts) attach(labels []string, o *topology.Object) string {
	policy := &f.config.Topology.Policy
	for _, r := range slices.Concat(policy.Rules, policy.Levels) {
		if slices.Contains(labels, r.Label) && r.Category != "" {
			return cli.Shell("govc", "tags.attach", "-c", r.Category, "TAG", o.Path)
		}
	}
	return ""
}

func (f *facts) isUnreadFound(o *topology.Object) bool {
	s := f.vcenter(o.Ref.VCenter).surveyed()
	return s != nil && slices.ContainsFunc(s.Objects, func(other *world.Object) bool { return other.Ref.ID == o.Ref.ID && isUnread(other.Object) })
}

type placeCheck struct {
	*facts
	policy *topology.Policy
	// hosts are the hosts of all vCenters.
	hosts []world.HostPlace
}

// untagged reports hosts and clusters without a region or zone. It skips the hosts of Nodes that have a
// finding of their own or take their zone from another path.
func (c *placeCheck) untagged() (found []Finding) {
	reported := c.foundByNodes()
	missing := make([][]string, len(c.hosts))
	// untaggedClusters are the clusters all of whose hosts lack a label.
	untaggedClusters := map[topology.Ref]bool{}
	for i, p := range c.hosts {
		missing[i] = slices.DeleteFunc(p.Missing, func(label string) bool { return !c.policy.IsRequired(label) })
		isUntagged, seen := untaggedClusters[p.Under.Ref]
		untaggedClusters[p.Under.Ref] = len(missing[i]) > 0 && (isUntagged || !seen)
	}
	for i, p := range c.hosts {
		if len(missing[i]) == 0 || reported[p.Under.Ref] || reported[p.Host.Ref] {
			continue
		}
		id := "VZ130"
		object := p.Host
		if untaggedClusters[p.Under.Ref] {
			id = "VZ131"
			object = p.Under
			reported[p.Under.Ref] = true
		}
		found = append(found, Finding{
			ID: id, VCenter: object.Ref.VCenter, Object: nameOf(object),
			Text:    "nothing on it or above it provides a value for " + strings.Join(missing[i], " and "),
			Command: c.attach(missing[i], object),
		})
	}
	return found
}

// foundByNodes returns the hosts and clusters of Nodes that lack a value, or have it from another path than
// the compute path.
func (c *placeCheck) foundByNodes() map[topology.Ref]bool {
	refs := map[topology.Ref]bool{}
	for _, n := range c.nodes {
		path := n.Place.Placement.Path
		isElsewhere := path != "" && path != topology.ComputePath
		if !isElsewhere && !errors.Is(n.Err, topology.ErrMissing) {
			continue
		}
		for _, kind := range []string{world.TypeHost, world.TypeCluster} {
			if o := n.Above(kind); o != nil {
				refs[o.Ref] = true
			}
		}
	}
	return refs
}

// conflictKinds maps conflicts to kinds of findings. categoryCheck reports the conflicts about categories.
var conflictKinds = map[topology.ConflictKind]string{
	topology.ConflictPrecedence:      "VZ134",
	topology.ConflictTagOrder:        "VZ135",
	topology.ConflictTwoTags:         "VZ132",
	topology.ConflictTwoGroups:       "VZ144",
	topology.ConflictInvalidValue:    "VZ133",
	topology.ConflictOffPath:         "VZ136",
	topology.ConflictSpans:           "VZ137",
	topology.ConflictNames:           "", // ConflictTwoRegions reports the zone.
	topology.ConflictRegionAndZone:   "VZ139",
	topology.ConflictMissingCategory: "",
	topology.ConflictNoCategory:      "",
	topology.ConflictUnread:          "VZ119",
	topology.ConflictTwoRegions:      "VZ141",
	topology.ConflictNotNested:       "VZ142",
	topology.ConflictNotCSI:          "VZ143",
}

func (c *placeCheck) conflicts() (found []Finding) {
	hosts := c.hostPlacements()
	var placements []topology.Placement
	for _, n := range c.nodes {
		placements = append(placements, n.Place.Placement)
	}
	placements = append(placements, hosts...)
	fleet := c.policy.FleetConflicts(placements)
	index := map[string]int{}
	add := func(conflict *topology.Conflict, nodes ...string) {
		id := conflictKinds[conflict.Kind]
		if id == "" || c.isKnown(conflict) {
			return
		}
		text := conflict.Text()
		i, exists := index[id+text]
		if !exists {
			i = len(found)
			index[id+text] = i
			found = append(found, conflictFinding(id, conflict, text))
		}
		found[i].Nodes = append(found[i].Nodes, nodes...)
	}
	for _, conflict := range c.policy.NotCSI() {
		add(&conflict)
	}
	for _, n := range c.nodes {
		for _, conflict := range fleet.Of(n.Place.Placement) {
			add(&conflict, n.name())
		}
	}
	for _, placed := range hosts {
		for _, conflict := range fleet.Of(placed) {
			add(&conflict)
		}
	}
	return found
}

// hostPlacements returns the placements of the hosts if region and zone come from tags. Inventory names are
// checked only where Nodes run, because the names of other clusters may have nothing to do with Kubernetes.
func (c *placeCheck) hostPlacements() (placements []topology.Placement) {
	if slices.ContainsFunc(c.policy.Rules, func(r topology.Rule) bool { return r.Category == "" }) {
		return nil
	}
	for i := range c.hosts {
		placed := c.hosts[i].Placement
		isMissing := func(label string) bool { return c.policy.IsRequired(label) && placed.Value(label) == "" }
		if slices.ContainsFunc(c.policy.Labels(), isMissing) {
			// No Node can be placed on this host.
			placed.Decisions = nil
		}
		placements = append(placements, placed)
	}
	return placements
}

// isKnown reports whether findings about unreadable tags cover a conflict.
func (c *placeCheck) isKnown(conflict *topology.Conflict) bool {
	isNew := func(o *topology.Object) bool { return !c.isUnreadFound(o) }
	return conflict.Kind == topology.ConflictUnread && !slices.ContainsFunc(conflict.Objects, isNew)
}

func conflictFinding(id string, conflict *topology.Conflict, text string) Finding {
	found := Finding{ID: id, Text: text, Object: "label " + strings.Join(conflict.Labels, ", "), HasAdvice: true}
	if len(conflict.Objects) == 0 {
		return found
	}
	objects := slices.SortedFunc(slices.Values(conflict.Objects), topology.CompareObjects)
	found.Object = objects[0].String()
	first := objects[0].Ref.VCenter
	last := objects[len(objects)-1].Ref.VCenter
	if first == last {
		isSame := func(a, b *topology.Object) bool { return a.Ref == b.Ref }
		found.VCenter = first
		found.Object = topology.DescribeObjects(slices.CompactFunc(slices.Clone(conflict.Objects), isSame))
	}
	return found
}

var zonedKinds = []string{"VZ135", "VZ136", "VZ139", "VZ143"}

// withoutDriver removes the findings that matter only to the CSI driver if it is not installed or does not
// report zones. A zone in several vCenters becomes an info: it may be intended.
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
