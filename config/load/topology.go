package load

import (
	"slices"
	"strings"
	"unicode"

	"vzones/config"
	"vzones/topology"
)

type policyChecker struct {
	values
	*Document
	csiLabels []*Section
}

// makePolicy checks the labels and topology sections together.
func (c *policyChecker) makePolicy(policy *topology.Policy, fleet []config.VCenter) {
	if !c.Categories.Set {
		c.check(c.Region)
		c.check(c.Zone)
	}
	for _, l := range c.Levels {
		c.check(l)
		l.Name = l.V("label").Text
	}
	c.sameSource(c.Region, c.Zone)
	policy.Rules = c.makeRules()
	policy.Levels = c.makeLevels()
	c.cycle(*policy)
	c.vcenterNames(fleet)
	c.withoutEffect(*policy)
}

func sources(r *Section) []string {
	return slices.DeleteFunc([]string{"tag", "inventory", "hostGroup"}, func(key string) bool { return !r.V(key).Set })
}

func isOnOr(v *Value, unset bool) bool {
	if v.Set {
		return v.IsOn()
	}
	return unset
}

func (c *policyChecker) nodeLabels(v *Value) map[string]string {
	labels := make(map[string]string)
	for i := range v.List {
		r := &v.List[i]
		level := slices.IndexFunc(c.Levels, func(l *Section) bool { return l.V("label").Usable() && l.V("label").Text == r.Key })
		switch {
		case r.Bad || c.reject(&Value{At: r.At}, config.ParseLabelKey(r.Key)):
		case level >= 0:
			c.Errorf(r.At, "is also the label of %v: remove one of them", c.Levels[level].At)
		case c.reject(r, config.ParseLabelValue(r.Text)):
		default:
			labels[r.Key] = r.Text
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

func (c *policyChecker) excludedNetworks(rules *config.AddressRules) {
	for _, key := range []string{"internalVmNetworkName", "externalVmNetworkName"} {
		if name := c.Nodes.V(key); name.Set && (!name.Bad || name.Text != "") && !rules.Considers(name.Text) {
			c.reject(name, &config.ValueError{Message: "is a network that networks or excludeNetworks excludes: change one of them"})
		}
	}
}

// maxCategories is the CSI driver's limit.
const maxCategories = 5

func (c *policyChecker) makeRules() topology.Rules {
	if c.Categories.Set {
		return c.makeCategories()
	}
	for _, given := range c.csiLabels {
		c.Warnf(given.At, "has no effect without topology-categories")
	}
	isGiven := func(r *Section) bool { return !r.Bad && (len(sources(r)) > 0 || r.V("value").Set) }
	var rules topology.Rules
	for _, pair := range [][2]*Section{{c.Region, c.Zone}, {c.Zone, c.Region}} {
		r := pair[0]
		counterpart := pair[1]
		_, word, _ := strings.Cut(r.Name, "/")
		if _, without, _ := strings.Cut(counterpart.Name, "/"); isGiven(r) && !isGiven(counterpart) && !counterpart.Bad {
			c.Warnf(r.At, "Nodes get a %s and no %s, while the vSphere CPI would set neither label: write %[2]s too, "+
				"or remove this key if Nodes should get neither", word, without)
		}
		tag := r.V("tag")
		value := r.V("value")
		if r.IsShort && tag.isWritten() && !tag.Set {
			c.Warnf(r.At, "is empty: Nodes get no %s", word)
			continue
		}
		rule, ok := c.rule(r, true)
		if ok {
			rules = append(rules, rule)
		}
		switch {
		case value.Usable():
			c.warn(value.At, true, "differs from the CSI driver's value: volumes and StorageClasses use the plain tags, whose names must be unique in the fleet by themselves")
		case ok && (r.V("inventory").Usable() || r.V("hostGroup").Usable()):
			c.warn(r.At, true, "is not from a tag: if the CSI driver runs in the cluster, it does not see this value and places volumes by tags only")
		}
	}
	return rules
}

// rule returns false if there is no rule.
func (c *policyChecker) rule(r *Section, required bool) (topology.Rule, bool) {
	if r.At.Line == 0 || r.Bad {
		return topology.Rule{}, false
	}
	given := sources(r)
	if len(given) == 0 && !r.V("value").Set {
		c.Errorf(r.At, "has no tag, inventory or hostGroup: write one of them")
	}
	for i := 1; i < len(given); i++ {
		c.Errorf(r.V(given[i]).At, "conflicts with %s: write only one of them", given[0])
	}
	return topology.Rule{
		Label:     r.Name,
		Category:  r.V("tag").Text,
		Inventory: topology.Inventory(r.V("inventory").Text),
		Value:     c.template(r),
		HostGroup: r.V("hostGroup").Text,
		Required:  isOnOr(r.V("required"), required),
	}, true
}

// oneTag warns of one category for region and zone. See the CPI's LookupZoneByMoref and the CSI
// driver's getNodeTopologyInfo.
const oneTag = "region and zone have the same tag category, so both labels come from one tag and each region is one zone: " +
	"the vSphere CPI accepts that but initializes no Node, and the CSI driver, where no name can be both, reports only the zone: " +
	"write a category for each unless this is intended"

// sameSource rejects a region that always equals the zone, but only warns of a common tag category,
// which the CPI accepts.
func (c *policyChecker) sameSource(region, zone *Section) {
	later := zone
	if region.At.Line > zone.At.Line {
		later = region
	}
	isSame := func(key string) bool {
		return region.V(key).Usable() && zone.V(key).Usable() && region.V(key).Text == zone.V(key).Text
	}
	switch {
	case isSame("tag"):
		c.Warnf(later.At, oneTag)
	case isSame("inventory"):
		c.Errorf(later.At, "region and zone use the same inventory object: change one of them")
	case isSame("hostGroup"):
		c.Errorf(later.At, "region and zone use the same host groups: change one of them")
	}
}

func (c *policyChecker) makeLevels() topology.Rules {
	var rules topology.Rules
	seen := make(map[string]Position)
	for _, l := range c.Levels {
		label := l.V("label")
		first, isRepeated := seen[l.Name]
		switch {
		case !label.Set:
			c.Errorf(l.At, "has no label: write the key of a Node label, such as example.com/rack")
		case label.Bad || !topology.IsReservedLevel(l.Name) && c.reject(label, config.ParseLabelKey(l.Name)):
		case isRepeated:
			c.Errorf(label.At, "is also the label of %v: remove one of them", first)
		default:
			seen[l.Name] = l.At
		}
		if rule, ok := c.rule(l, false); ok {
			rule.Nested = isOnOr(l.V("nested"), rule.Inventory == "" || rule.Inventory.Nested())
			rules = append(rules, rule)
		}
	}
	return rules
}

// vcenterNames rejects vCenter names that a rule would turn into invalid labels.
func (c *policyChecker) vcenterNames(fleet []config.VCenter) {
	rules := c.rules()
	index := slices.IndexFunc(rules, func(r *Section) bool {
		return r.V("inventory").Usable() && r.V("inventory").Text == string(topology.InventoryVCenter) && !r.V("value").Set
	})
	if index < 0 {
		return
	}
	for i, vc := range fleet {
		why := topology.InvalidLabelValue(vc.Name)
		pos := c.EffectiveVCenters[i].At
		if why == "" {
			continue
		}
		instead := "rename the entry, and write the address under server"
		if pos == c.Global.V("server").At {
			instead = "add an entry for it under vcenter, with a valid name"
		}
		c.Errorf(pos, "is not a valid label value, but %v uses it as one: %s: %s", rules[index].At, why, instead)
	}
}

func (c *policyChecker) template(r *Section) topology.Template {
	value := r.V("value")
	if !value.Usable() {
		return nil
	}
	var composable []string
	for _, rule := range c.rules() {
		if rule.At.Line != 0 && !rule.V("label").Bad && rule.Name != "" {
			composable = append(composable, rule.Name)
		}
	}
	template, err := topology.ParseTemplate(value.Text, r.Name, composable)
	source := len(sources(r)) > 0
	switch {
	case err != nil && value.Hidden:
		c.bad(value, "is not a valid template: write text and names of sources in braces, such as {region}")
	case err != nil:
		c.bad(value, "%v", err)
	case template.UsesOwn() && !source:
		c.bad(value, "uses its own label in braces, but the rule has no tag, inventory or hostGroup: write one of them, or use another source")
	case source && !template.UsesOwn():
		c.bad(value, "does not use its own label in braces, so the rule's source has no effect: use it, or remove the source")
	}
	return template
}

// rules returns region, zone and levels, named after their labels.
func (c *policyChecker) rules() []*Section { return append([]*Section{c.Region, c.Zone}, c.Levels...) }

func (c *policyChecker) cycle(policy topology.Policy) {
	if labels := policy.Cycle(); labels != nil {
		rules := c.rules()
		r := rules[slices.IndexFunc(rules, func(r *Section) bool { return r.Name == labels[0] })]
		c.Errorf(r.V("value").At, "is composed of itself: %s: remove one of them from the value that uses it", strings.Join(append(labels, labels[0]), " -> "))
	}
}

func (c *policyChecker) withoutEffect(policy topology.Policy) {
	tags := slices.DeleteFunc(slices.Clone(policy.Rules), func(r topology.Rule) bool { return r.Category == "" })
	precedence := c.Topology.V("precedence")
	paths := c.Topology.V("paths")
	if precedence.Usable() && len(tags) < 2 {
		c.Warnf(precedence.At, "has no effect unless region and zone both come from tags")
	}
	if paths.Usable() && len(policy.Categories()) == 0 {
		c.Warnf(paths.At, "has no effect: no label comes from a tag")
	}
	outOfService := c.Nodes.V("outOfService")
	if outOfService.Text == string(config.OutOfServiceGone) && c.Nodes.V("skipDeletion").IsOn() {
		c.Warnf(outOfService.At, "has no effect: skipDeletion keeps all Nodes")
	}
}

// makeCategories creates rules from the CSI driver's tag categories. As in the driver, all are
// decided together and required. The category of region or zone is the one with that label in a
// section TopologyCategory, or else the only one with that word in its name. A further category
// gives a label with its own name, since topology.csi.vmware.com belongs to the kubelet.
func (c *policyChecker) makeCategories() topology.Rules {
	names := c.categoryNames()
	labels := c.categoryLabels(names)
	var rules topology.Rules
	for _, label := range []string{topology.LabelRegion, topology.LabelZone} {
		having := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return labels[name] != label })
		if _, word, _ := strings.Cut(label, "/"); len(having) == 0 {
			having = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return labels[name] != "" || !hasWord(name, word) })
			if len(having) > 1 {
				c.Errorf(c.Categories.At, "has several categories that may be the %s: write a section such as [TopologyCategory %q] "+
					"with label = %s", word, having[0], label)
				continue
			}
		}
		for _, name := range having {
			labels[name] = label
			rules = append(rules, topology.Rule{Label: label, Category: name, Required: true})
		}
	}
	if len(rules) == 0 && len(names) > 0 {
		c.Warnf(c.Categories.At, "names neither a region nor a zone, so Nodes get neither: "+
			`write a section such as [TopologyCategory "NAME"] with label = %s`, topology.LabelZone)
	}
	for _, name := range names {
		if labels[name] != "" {
			continue
		}
		if config.ParseLabelKey(name) != nil {
			c.Errorf(c.Categories.At, "has a category that is neither region nor zone, and whose name is not a valid label key: "+
				"use the YAML format, and write a label for it under topology.levels%s", config.Found(name))
		}
		rules = append(rules, topology.Rule{Label: name, Category: name, Required: true})
	}
	return rules
}

func (c *policyChecker) categoryNames() []string {
	for _, r := range []*Section{c.Region, c.Zone} {
		if r.V("tag").Set {
			c.Errorf(r.At, "conflicts with topology-categories: write only one of them")
		}
	}
	names := elements(c.values, c.Categories, parseName, func(e *Value) {
		c.Errorf(e.At, "names a category twice: remove one of the two%s", config.Found(e.Text))
	})
	if len(names) > maxCategories {
		c.Errorf(c.Categories.At, "names %d categories: write at most %d, the CSI driver's limit", len(names), maxCategories)
	}
	return names
}

// categoryLabels returns, by category, the region and zone labels of sections TopologyCategory.
func (c *policyChecker) categoryLabels(names []string) map[string]string {
	labels := make(map[string]string)
	positions := make(map[string]Position)
	for _, given := range c.csiLabels {
		value := given.V("label")
		domain, key, _ := strings.Cut(value.Text, "/")
		label := "topology.kubernetes.io/" + key
		first, isRepeated := positions[label]
		switch {
		case !slices.Contains(names, given.Name):
			c.Warnf(given.At, "has no effect: topology-categories does not list it")
		case !value.Usable() || domain == topology.CSIDomain:
		case domain != "topology.kubernetes.io" && domain != "failure-domain.beta.kubernetes.io":
			c.reject(value, &config.ValueError{Message: "is not a topology label: write " + topology.LabelRegion + " or " +
				topology.LabelZone, Found: config.Found(value.Text)})
		case label != topology.LabelRegion && label != topology.LabelZone:
			c.Warnf(value.At, "has no effect: it is the label of neither region nor zone")
		case isRepeated:
			c.Errorf(value.At, "is also the label of %v: remove one of them", first)
		default:
			labels[given.Name] = label
			positions[label] = given.At
		}
	}
	return labels
}

func hasWord(name, word string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, word)
}
