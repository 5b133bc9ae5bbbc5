package convert

import (
	"slices"
	"strings"

	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/internal/validate"
	"vzones/topology"
	"vzones/topology/quote"
)

// categories writes those of required labels: the driver requires each.
func (c *csiWriter) categories() {
	var names []string
	roles, before := make(map[string]string), len(c.Errors)
	for _, label := range c.labels() {
		name := label.rule.Category
		if !c.takes(label) {
			continue
		}
		if slices.Contains(names, name) {
			if label.builtIn() && roles[name] != "" {
				// The driver, too, knows the zone alone of one category for both.
				c.Warnf(c.Schema.Region.At, "the category is the zone's too, and the CSI driver's file gives a category one label: where vzones reads it, there is no region")
				roles[name] = label.rule.Label
			}
			continue
		}
		names = append(names, name)
		if len(names) == schema.MaxCategories+1 {
			c.Errorf(label.at, "is category %d: the CSI driver takes at most %d: remove one", len(names), schema.MaxCategories)
		}
		if label.builtIn() {
			roles[name] = label.rule.Label
		} else if !c.guessed(label, names, roles) && label.key.V != name {
			c.Warnf(label.key.At, "the CSI driver's file has no labels for categories: where vzones reads it, the label has the category's name")
		}
	}
	if len(names) == 0 {
		if len(c.Config.VCenters) > 1 && len(c.Errors) == before {
			c.Errorf(c.Fleet[1].At, "is a second vCenter, and the CSI driver takes several only with tag categories: write %s", c.Words.Categories)
		}
		return
	}
	c.Section("Labels", "")
	c.Key("topology-categories", strings.Join(names, ","))
	for _, name := range names {
		if roles[name] != "" {
			c.Section("TopologyCategory", name)
			c.Key("label", roles[name])
		}
	}
	c.relabeled(roles)
}

// takes reports whether the driver can have the category of a label, and says why not.
func (c *csiWriter) takes(label sourceOfLabel) bool {
	name := label.rule.Category
	if label.rule.Value != nil {
		c.Warnf(label.from.Value.At, "the value is composed, and the CSI driver takes the plain tags")
	}
	switch {
	case name == "" && label.rule.Value != nil:
	case label.rule.HostGroup != "":
		c.Warnf(label.at, "the value is from DRS host groups, and the CSI driver reads tags only")
	case name == "":
		c.Warnf(label.at, "the value is from the inventory, and the CSI driver reads tags only")
	case !label.rule.Required:
		c.Warnf(label.at, "the label is optional, and the CSI driver requires each category")
	case strings.Contains(name, ","):
		c.Errorf(label.at, "has a comma in the name of the category, which separates two in the CSI driver's file: rename it")
	case !check.IsLabelName(name):
		// The driver names the label by the category, and our own reader names it so too.
		c.Errorf(label.at, "has a tag category whose name a label cannot have, and the CSI driver gives Nodes the label %s/ with that name: "+
			"rename the category: write up to 63 letters, digits, -, _ and .", topology.CSIDomain)
	default:
		if label.nested.Set && label.nested.V {
			c.Warnf(label.nested.At, nothingLike)
		}
		return true
	}
	return false
}

// guessed reports whether the reader would take the last name for the region or the
// zone by its words, where the configuration has none, and says so; see role.
func (c *csiWriter) guessed(label sourceOfLabel, names []string, roles map[string]string) bool {
	last := names[len(names)-1]
	for _, role := range []string{topology.LabelRegion, topology.LabelZone} {
		_, word, _ := strings.Cut(role, "/")
		taken := func(name string) bool { return roles[name] == role }
		if !validate.HasWord(last, word) || slices.ContainsFunc(names, taken) {
			continue
		}
		i := slices.IndexFunc(names, func(name string) bool { return roles[name] == "" && validate.HasWord(name, word) })
		if names[i] == last {
			c.Warnf(label.at, "is not the %s: where vzones reads the CSI driver's file, it takes the category for it, by its name", word)
		} else {
			c.Errorf(label.at, "has the word %s in the name of its category, as another label has, and nothing says which is the %s "+
				"where vzones reads the CSI driver's file: write labels.%s, or rename one of the two", word, word, word)
		}
		return true
	}
	return false
}

// relabeled reports labels that change if the file was the driver's own: it puts
// region and zone of [Labels] on Nodes under other keys than topology-categories, and
// neither if one of the two is missing.
func (c *csiWriter) relabeled(roles map[string]string) {
	s := c.Schema
	if c.Words != &problem.INIWords || s.Categories.Set {
		return
	}
	for _, label := range c.labels() {
		name := label.rule.Category
		switch {
		case roles[name] == "" || roles[name] != label.rule.Label:
		case !s.Region.Tag.Set || !s.Zone.Tag.Set:
			c.Warnf(label.at, "the CSI driver reads region and zone only where both are set, and requires a tag of the category with the new file")
		default:
			c.Warnf(label.at, "by this file the CSI driver gives Nodes the label %s, and by the new one %s: "+
				"volumes and StorageClasses that name the old label need the old file",
				quote.Value(oldCSILabel(s, label.rule.Label, name)), quote.Value(topology.CSIDomain+"/"+name))
		}
	}
}
