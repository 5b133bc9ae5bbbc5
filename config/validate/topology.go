package validate

import (
	"fmt"
	"slices"
	"time"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology"
)

const maxSettle = 24 * time.Hour

// topology checks the labels and the topology sections together.
func (c *checker) topology(s *schema.File, fleet []config.VCenter) config.Topology {
	t := &s.Topology
	c.sameSource(&s.Region, &s.Zone)
	policy := topology.Policy{
		Rules:      c.rules(s),
		Levels:     c.levels(s),
		Precedence: topology.Precedence(schema.Otherwise(t.Precedence, string(topology.PrecedenceCSI))),
		Paths:      c.paths(t.Paths),
	}
	c.cycle(s, policy)
	c.vcenterNames(s, fleet)
	c.withoutEffect(t, policy)
	return config.Topology{
		Policy:   policy,
		Backfill: schema.Otherwise(t.Backfill, true),
		Drift:    config.Drift(schema.Otherwise(t.Drift, string(config.DriftReport))),
		Settle:   c.settle(t.Settle),
	}
}

// rules takes a region without a zone, or the reverse, for what it says.
func (c *checker) rules(s *schema.File) topology.Rules {
	if s.Categories.Set {
		return c.categories(s)
	}
	for _, given := range s.CategoryLabels {
		c.Warnf(given.At, "has no effect without topology-categories")
	}
	c.regionWithoutZone(&s.Region, &s.Zone)
	var rules topology.Rules
	for _, label := range []struct {
		key, what string
		rule      *schema.Rule
	}{
		{topology.LabelRegion, "region", &s.Region},
		{topology.LabelZone, "zone", &s.Zone},
	} {
		r := label.rule
		if r.Short && r.Tag.Written() && !r.Tag.Set {
			c.Warnf(r.At, "is empty: Nodes get no %s", label.what)
			continue
		}
		if rule, ok := c.rule(s, r, label.key, true); ok {
			rules = append(rules, rule)
			c.notCSI(r)
		}
		if r.Value.Usable() {
			c.WarnAbout(config.AboutCSI, r.Value.At, "is not what the CSI driver sees: volumes and StorageClasses go by the plain tags, whose names have to be unique in the fleet on their own")
		}
	}
	return rules
}

// regionWithoutZone warns of a region without a zone, or the reverse: the CPI's zones label neither.
func (c *checker) regionWithoutZone(region, zone *schema.Rule) {
	given := func(r *schema.Rule) bool { return !r.Bad && (len(r.Sources()) > 0 || r.Value.Set) }
	const why = "Nodes get a %s and no %s, where the vSphere CPI sets neither of the two labels: write %s too, or remove this key if Nodes are to get neither"
	switch {
	case given(region) && !given(zone) && !zone.Bad:
		c.Warnf(region.At, why, "region", "zone", "zone")
	case given(zone) && !given(region) && !region.Bad:
		c.Warnf(zone.At, why, "zone", "region", "region")
	}
}

// notCSI warns of a region or zone that is from anything but a tag.
func (c *checker) notCSI(r *schema.Rule) {
	if (r.Inventory.Usable() || r.HostGroup.Usable()) && !r.Value.Usable() {
		c.WarnAbout(config.AboutCSI, r.At, "is not from a tag: if the CSI driver runs in the cluster, it does not see this and places volumes by tags only")
	}
}

// rule checks where a label's value comes from. There is none if nothing is
// written.
func (c *checker) rule(s *schema.File, r *schema.Rule, label string, required bool) (topology.Rule, bool) {
	if r.At.Line == 0 || r.Bad {
		return topology.Rule{}, false
	}
	given := r.Sources()
	if len(given) == 0 && !r.Value.Set {
		c.Errorf(r.At, "has no tag, inventory or hostGroup: write one of them")
	}
	for i := range given {
		if i > 0 {
			c.Errorf(given[i].At, "stands beside %s: write one of the two", given[0].Name)
		}
	}
	if r.Tag.Usable() {
		r.Tag.Bad = c.reject(r.Tag, check.ParseName(r.Tag.V))
	}
	if r.HostGroup.Usable() {
		r.HostGroup.Bad = c.reject(r.HostGroup, check.ParseHostGroup(r.HostGroup.V))
	}
	return topology.Rule{
		Label:     label,
		Category:  r.Tag.V,
		Inventory: topology.Inventory(r.Inventory.V),
		Value:     c.template(s, r, label),
		HostGroup: r.HostGroup.V,
		Required:  schema.Otherwise(r.Required, required),
	}, true
}

// oneTag is what a region and a zone of one category come to. The CPI's LookupZoneByMoref
// takes each tag of the category for the zone and fails without a region. The CSI driver's
// getNodeTopologyInfo labels the zone.
const oneTag = "region and zone have the same tag category, so that both labels come from one tag and each region is one zone: " +
	"the vSphere CPI loads that and initializes no Node, and the CSI driver, which allows no name to be both, gives its topology the zone alone: " +
	"write one category for each unless that is meant"

// sameSource refuses a region that would always be the zone, unless both are one tag: the
// CPI loads that.
func (c *checker) sameSource(region, zone *schema.Rule) {
	later := zone
	if region.At.Line > zone.At.Line {
		later = region
	}
	switch {
	case region.Tag.Usable() && zone.Tag.Usable() && region.Tag.V == zone.Tag.V:
		c.Warnf(later.At, oneTag)
	case region.Inventory.Usable() && zone.Inventory.Usable() && region.Inventory.V == zone.Inventory.V:
		c.Errorf(later.At, "region and zone are the same part of the inventory: write another one for one of them")
	case region.HostGroup.Usable() && zone.HostGroup.Usable() && region.HostGroup.V == zone.HostGroup.V:
		c.Errorf(later.At, "region and zone are the same host groups: write another name for one of them")
	}
}

func (c *checker) levels(s *schema.File) topology.Rules {
	var rules topology.Rules
	seen := make(map[string]problem.Position)
	for _, l := range s.Topology.Levels {
		first, again := seen[l.Label.V]
		switch {
		case !l.Label.Set:
			c.Errorf(l.At, "has no label: write the key of a Node label, such as example.com/rack")
		case l.Label.Bad || !topology.IsReservedLevel(l.Label.V) && c.reject(l.Label, check.ParseLabelKey(l.Label.V)):
		case again:
			c.Errorf(l.Label.At, "is the label of %s in line %d too: remove one of the two", first.Path, first.Line)
		default:
			seen[l.Label.V] = l.At
		}
		if rule, ok := c.rule(s, &l.Rule, l.Label.V, false); ok {
			rule.Nested = schema.Otherwise(l.Nested, rule.Inventory == "" || rule.Inventory.Nested())
			rules = append(rules, rule)
		}
	}
	return rules
}

// vcenterNames refuses names of vCenters that a rule would make an invalid label
// of for each of their Nodes.
func (c *checker) vcenterNames(s *schema.File, fleet []config.VCenter) {
	rules := []*schema.Rule{&s.Region, &s.Zone}
	for _, l := range s.Topology.Levels {
		rules = append(rules, &l.Rule)
	}
	i := slices.IndexFunc(rules, func(r *schema.Rule) bool {
		return r.Inventory.Usable() && r.Inventory.V == string(topology.InventoryVCenter) && !r.Value.Set
	})
	if i < 0 {
		return
	}
	const wrong = "is not a valid label value, which %s in line %d makes of it: %s: "
	for _, vc := range fleet {
		why := topology.InvalidLabelValue(vc.Name)
		if why == "" {
			continue
		}
		entry := slices.IndexFunc(s.VCenters, func(e *schema.Section) bool { return e.Name == vc.Name })
		if entry < 0 {
			c.Errorf(s.Global.Server.At, wrong+"write an entry under vcenter for it, with a name that is one",
				rules[i].At.Path, rules[i].At.Line, why)
			continue
		}
		c.Errorf(s.VCenters[entry].At, wrong+"give the entry another name, and write the address under server",
			rules[i].At.Path, rules[i].At.Line, why)
	}
}

func (c *checker) paths(given schema.List) []topology.PathKind {
	kinds := schema.PathKinds()
	if !given.Usable() {
		return topology.DefaultPaths()
	}
	var paths []topology.PathKind
	for _, element := range given.V {
		kind, known := kinds[element.V]
		switch {
		case element.Bad:
		case !known:
			c.reject(element, &check.Mistake{What: "is not a valid path: write compute, resourcePool or folder, each as an element of its own", Detail: check.Found(element.V)})
		case slices.Contains(paths, kind):
			c.Errorf(element.At, "is listed twice: remove one of the two")
		default:
			paths = append(paths, kind)
		}
	}
	return paths
}

func (c *checker) settle(t schema.Text) time.Duration {
	d, err := time.ParseDuration(schema.Otherwise(t, schema.DefaultSettle))
	switch {
	case t.Bad:
	case err != nil:
		c.reject(t, &check.Mistake{What: "is not a valid duration: write a number with its unit, such as 60s or 5m", Detail: check.Found(t.V)})
	case d < 0 || d > maxSettle:
		c.reject(t, &check.Mistake{What: fmt.Sprintf("is out of range: write a duration from 0s to %gh", maxSettle.Hours()), Detail: check.Found(t.V)})
	}
	return d
}
