package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/topology"
)

const (
	defaultSettle = 60 * time.Second
	maxSettle     = 24 * time.Hour
)

// topology checks the labels and the topology sections together.
func (c *checker) topology(s *schema, fleet []VCenter) Topology {
	t := &s.topology
	c.sameSource(&s.region, &s.zone)
	policy := topology.Policy{
		Rules:      c.rules(s),
		Levels:     c.levels(s),
		Precedence: topology.Precedence(c.choice(t.precedence, "is no precedence", string(topology.PrecedenceCSI), string(topology.PrecedenceNearest))),
		Paths:      c.paths(t.paths),
	}
	c.cycle(s, policy)
	c.vcenterNames(s, fleet)
	c.idle(t, policy)
	return Topology{
		Policy:   policy,
		Backfill: otherwise(t.backfill, true),
		Drift:    Drift(c.choice(t.drift, "is no policy", string(DriftReport), string(DriftTaint), string(DriftUpdate))),
		Settle:   c.settle(t.settle),
	}
}

// rules takes a region without a zone, or the reverse, for what it says.
func (c *checker) rules(s *schema) topology.Rules {
	if s.categories.set {
		return c.categories(s)
	}
	for _, given := range s.categoryLabels {
		c.warnf(given.at, "has no effect without topology-categories")
	}
	c.alone(&s.region, &s.zone)
	var rules topology.Rules
	for _, label := range []struct {
		key, what string
		rule      *rule
	}{
		{topology.LabelRegion, "region", &s.region},
		{topology.LabelZone, "zone", &s.zone},
	} {
		r := label.rule
		if r.short && r.tag.written() && !r.tag.set {
			c.warnf(r.at, "is empty: Nodes get no %s", label.what)
			continue
		}
		if rule, ok := c.rule(s, r, label.key, true); ok {
			rules = append(rules, rule)
			c.notCSI(r)
		}
		if r.value.usable() {
			c.warnf(r.value.at, "is not what the CSI driver sees: volumes and StorageClasses go by the plain tags, whose names have to be unique in the fleet by themselves")
		}
	}
	return rules
}

// alone warns of a region without a zone, or the reverse: the CPI's zones label neither.
func (c *checker) alone(region, zone *rule) {
	given := func(r *rule) bool { return !r.bad && (len(r.sources()) > 0 || r.value.set) }
	const why = "Nodes get a %s and no %s, where the vSphere CPI sets neither of the two labels: write %s too, or remove this key if Nodes are to get neither"
	switch {
	case given(region) && !given(zone) && !zone.bad:
		c.warnf(region.at, why, "region", "zone", "zone")
	case given(zone) && !given(region) && !region.bad:
		c.warnf(zone.at, why, "zone", "region", "region")
	}
}

// notCSI warns of a region or zone that is from anything but a tag.
func (c *checker) notCSI(r *rule) {
	if (r.inventory.usable() || r.hostGroup.usable()) && !r.value.usable() {
		c.warnf(r.at, "is not from a tag: if the CSI driver runs in the cluster, it does not see this and places volumes by tags only")
	}
}

// parseHostGroup checks a name of DRS host groups, in which a * stands for any
// characters. One that no label's value can have is of no use.
func parseHostGroup(s string) *complaint {
	if wrong := parseName(s); wrong != nil {
		return wrong
	}
	if why := topology.InvalidLabelValue(strings.ReplaceAll(s, "*", "x")); why != "" {
		return &complaint{"stands for names that cannot be a label's value: " + why + ": rename the groups, or take the label from a tag", found(s)}
	}
	return nil
}

// rule checks where a label's value comes from. There is none if nothing is
// written.
func (c *checker) rule(s *schema, r *rule, label string, required bool) (topology.Rule, bool) {
	if r.at.line == 0 || r.bad {
		return topology.Rule{}, false
	}
	given := r.sources()
	if len(given) == 0 && !r.value.set {
		c.errorf(r.at, "has no tag, inventory or hostGroup: write one of them")
	}
	for i := range given {
		if i > 0 {
			c.errorf(given[i].at, "stands beside %s: write one of the two", given[0].name)
		}
	}
	if r.tag.usable() {
		r.tag.bad = c.complain(r.tag, parseName(r.tag.v))
	}
	if r.inventory.usable() && !slices.Contains(topology.Inventories(), topology.Inventory(r.inventory.v)) {
		r.inventory.bad = c.complain(r.inventory, &complaint{
			"is no part of the inventory: write vcenter, datacenter, cluster, host, resourcePool, folder or vsanFaultDomain", found(r.inventory.v)})
	}
	if r.hostGroup.usable() {
		r.hostGroup.bad = c.complain(r.hostGroup, parseHostGroup(r.hostGroup.v))
	}
	return topology.Rule{
		Label:     label,
		Category:  r.tag.v,
		Inventory: topology.Inventory(r.inventory.v),
		Value:     c.template(s, r, label),
		HostGroup: r.hostGroup.v,
		Required:  otherwise(r.required, required),
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
func (c *checker) sameSource(region, zone *rule) {
	later := zone
	if region.at.line > zone.at.line {
		later = region
	}
	switch {
	case region.tag.usable() && zone.tag.usable() && region.tag.v == zone.tag.v:
		c.warnf(later.at, oneTag)
	case region.inventory.usable() && zone.inventory.usable() && region.inventory.v == zone.inventory.v:
		c.errorf(later.at, "region and zone are the same part of the inventory: write another one for one of them")
	case region.hostGroup.usable() && zone.hostGroup.usable() && region.hostGroup.v == zone.hostGroup.v:
		c.errorf(later.at, "region and zone are the same host groups: write another name for one of them")
	}
}

func (c *checker) levels(s *schema) topology.Rules {
	var rules topology.Rules
	seen := make(map[string]position)
	for _, l := range s.topology.levels {
		first, again := seen[l.label.v]
		switch {
		case !l.label.set:
			c.errorf(l.at, "has no label: write the key of a Node label, such as example.com/rack")
		case l.label.bad || !topology.IsReservedLevel(l.label.v) && c.complain(l.label, parseLabelKey(l.label.v)):
		case again:
			c.errorf(l.label.at, "is the label of %s in line %d too: remove one of the two", first.path, first.line)
		default:
			seen[l.label.v] = l.at
		}
		if rule, ok := c.rule(s, &l.rule, l.label.v, false); ok {
			rule.Nested = otherwise(l.nested, rule.Inventory == "" || rule.Inventory.Nested())
			rules = append(rules, rule)
		}
	}
	return rules
}

// vcenterNames refuses names of vCenters that a rule would make an invalid label
// of for each of their Nodes.
func (c *checker) vcenterNames(s *schema, fleet []VCenter) {
	rules := []*rule{&s.region, &s.zone}
	for _, l := range s.topology.levels {
		rules = append(rules, &l.rule)
	}
	i := slices.IndexFunc(rules, func(r *rule) bool {
		return r.inventory.usable() && r.inventory.v == string(topology.InventoryVCenter) && !r.value.set
	})
	if i < 0 {
		return
	}
	const wrong = "is no label value, which %s in line %d makes of it: %s: "
	for _, vc := range fleet {
		why := topology.InvalidLabelValue(vc.Name)
		if why == "" {
			continue
		}
		entry := slices.IndexFunc(s.vcenters, func(e *section) bool { return e.name == vc.Name })
		if entry < 0 {
			c.errorf(s.global.server.at, wrong+"write an entry under vcenter for it, with a name that is one",
				rules[i].at.path, rules[i].at.line, why)
			continue
		}
		c.errorf(s.vcenters[entry].at, wrong+"give the entry another name, and write the address under server",
			rules[i].at.path, rules[i].at.line, why)
	}
}

// pathKinds are the paths by the words for them.
func pathKinds() map[string]topology.PathKind {
	return map[string]topology.PathKind{
		"compute": topology.ComputePath, "resourcePool": topology.PoolPath, "folder": topology.FolderPath,
	}
}

// pathWord returns the word for a path.
func pathWord(kind topology.PathKind) string {
	for word, k := range pathKinds() {
		if k == kind {
			return word
		}
	}
	panic(fmt.Sprintf("config: no word for the path %v", kind))
}

func (c *checker) paths(given list) []topology.PathKind {
	kinds := pathKinds()
	if !given.usable() {
		return topology.DefaultPaths()
	}
	var paths []topology.PathKind
	for _, element := range given.v {
		kind, known := kinds[element.v]
		switch {
		case element.bad:
		case !known:
			c.complain(element, &complaint{"is no path: write compute, resourcePool or folder, each as an element of its own", found(element.v)})
		case slices.Contains(paths, kind):
			c.errorf(element.at, "is listed twice: remove one of the two")
		default:
			paths = append(paths, kind)
		}
	}
	return paths
}

// choice returns one of the given words, the first unless configured.
func (c *checker) choice(t text, wrong string, words ...string) string {
	if !t.usable() {
		return words[0]
	}
	if !slices.Contains(words, t.v) {
		c.complain(t, &complaint{wrong + ": write " + alternatives(words), found(t.v)})
	}
	return t.v
}

func alternatives(words []string) string {
	text := words[0]
	for _, word := range words[1 : len(words)-1] {
		text += ", " + word
	}
	return text + " or " + words[len(words)-1]
}

func (c *checker) settle(t text) time.Duration {
	if !t.usable() {
		return defaultSettle
	}
	d, err := time.ParseDuration(t.v)
	switch {
	case err != nil:
		c.complain(t, &complaint{"is no duration: write a number with its unit, such as 60s or 5m", found(t.v)})
	case d < 0 || d > maxSettle:
		c.complain(t, &complaint{fmt.Sprintf("is out of range: write a duration from 0s to %gh", maxSettle.Hours()), found(t.v)})
	}
	return d
}
