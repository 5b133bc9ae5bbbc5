package validate

import (
	"slices"
	"strings"
	"unicode"

	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology"
)

// categories makes rules of the CSI driver's tag categories. All of them are
// decided together, and each is required, as the driver wants it. One can be the
// region and one the zone, see role; a further one gives a label of its own name,
// since topology.csi.vmware.com is kubelet's.
func (c *checker) categories(s *schema.File) topology.Rules {
	names := c.categoryNames(s)
	labels := c.categoryLabels(s, names)
	for _, label := range []string{topology.LabelRegion, topology.LabelZone} {
		c.role(s, names, labels, label)
	}
	var rules topology.Rules
	for _, label := range []string{topology.LabelRegion, topology.LabelZone} {
		for _, name := range names {
			if labels[name] == label {
				rules = append(rules, topology.Rule{Label: label, Category: name, Required: true})
			}
		}
	}
	if len(rules) == 0 && len(names) > 0 {
		c.Warnf(s.Categories.At, "names neither a region nor a zone: Nodes get none: "+
			`write a section such as [TopologyCategory "NAME"] with label = %s`, topology.LabelZone)
	}
	for _, name := range names {
		if labels[name] != "" {
			continue
		}
		if check.ParseLabelKey(name) != nil {
			c.Errorf(s.Categories.At, "has a category that is neither region nor zone, and whose name can be no label's: "+
				"write the YAML format, and a label for it under topology.levels%s", check.Found(name))
		}
		rules = append(rules, topology.Rule{Label: name, Category: name, Required: true})
	}
	return rules
}

func (c *checker) categoryNames(s *schema.File) []string {
	for _, r := range []*schema.Rule{&s.Region, &s.Zone} {
		if r.Tag.Set {
			c.Errorf(r.At, "stands beside topology-categories: write one of the two")
		}
	}
	var names []string
	for _, category := range s.Categories.V {
		switch {
		case c.reject(category, check.ParseName(category.V)):
		case slices.Contains(names, category.V):
			c.Errorf(category.At, "names a category twice: remove one of the two%s", check.Found(category.V))
		default:
			names = append(names, category.V)
		}
	}
	if len(names) > schema.MaxCategories {
		c.Errorf(s.Categories.At, "names %d categories: write at most %d, as many as the CSI driver takes", len(names), schema.MaxCategories)
	}
	return names
}

// categoryLabels returns the labels that sections give to categories, of those
// that are a region's or a zone's.
func (c *checker) categoryLabels(s *schema.File, names []string) map[string]string {
	labels := make(map[string]string)
	by := make(map[string]problem.Position)
	for _, given := range s.CategoryLabels {
		if !slices.Contains(names, given.Name) {
			c.Warnf(given.At, "has no effect: topology-categories does not have it")
			continue
		}
		if !given.Label.Usable() {
			continue
		}
		domain, key, _ := strings.Cut(given.Label.V, "/")
		switch domain {
		case "topology.kubernetes.io", "failure-domain.beta.kubernetes.io":
			label := "topology.kubernetes.io/" + key
			if label != topology.LabelRegion && label != topology.LabelZone {
				c.Warnf(given.Label.At, "is the label of neither region nor zone: it does not say what the category is")
				continue
			}
			if other, again := by[label]; again {
				c.Errorf(given.Label.At, "is the label of %v too: remove one of the two", other)
			}
			labels[given.Name], by[label] = label, given.At
		case topology.CSIDomain:
		default:
			c.reject(given.Label, &check.Mistake{What: "is not a topology label: write " + topology.LabelRegion + " or " +
				topology.LabelZone, Detail: check.Found(given.Label.V)})
		}
	}
	return labels
}

// role finds the category that is the region or the zone where no section says so:
// the one whose name has that word. To the driver neither the order nor the names
// mean anything, so which of several it is would be a guess.
func (c *checker) role(s *schema.File, names []string, labels map[string]string, label string) {
	_, word, _ := strings.Cut(label, "/")
	var having []string
	for _, name := range names {
		if labels[name] == label {
			return
		}
		if labels[name] == "" && HasWord(name, word) {
			having = append(having, name)
		}
	}
	switch len(having) {
	case 0:
	case 1:
		labels[having[0]] = label
	default:
		c.Errorf(s.Categories.At, "has several categories that may be the %s: write a section such as [TopologyCategory %q] "+
			"with label = %s", word, having[0], label)
	}
}

// HasWord reports whether a category may be the region or the zone by its name.
func HasWord(name, word string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, word)
}
