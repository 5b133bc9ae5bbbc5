package config

import (
	"slices"
	"strings"
	"unicode"

	"vzones/topology"
)

// maxCategories is how many the CSI driver takes.
const maxCategories = 5

// categories makes rules of the CSI driver's tag categories. All of them are
// decided together, and each is required, as the driver wants it. One can be the
// region and one the zone, see role; a further one gives a label of its own name,
// since topology.csi.vmware.com is kubelet's.
func (c *checker) categories(s *schema) topology.Rules {
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
		c.warnf(s.categories.at, "names neither a region nor a zone: Nodes get none: "+
			`write a section such as [TopologyCategory "NAME"] with label = %s`, topology.LabelZone)
	}
	for _, name := range names {
		if labels[name] != "" {
			continue
		}
		if parseLabelKey(name) != nil {
			c.errorf(s.categories.at, "has a category that is neither region nor zone, and whose name can be no label's: "+
				"write the YAML format, and a label for it under topology.levels%s", found(name))
		}
		rules = append(rules, topology.Rule{Label: name, Category: name, Required: true})
	}
	return rules
}

func (c *checker) categoryNames(s *schema) []string {
	for _, r := range []*rule{&s.region, &s.zone} {
		if r.tag.set {
			c.errorf(r.at, "stands beside topology-categories: write one of the two")
		}
	}
	var names []string
	for _, category := range s.categories.v {
		switch {
		case c.complain(category, parseName(category.v)):
		case slices.Contains(names, category.v):
			c.errorf(category.at, "names a category twice: remove one of the two%s", found(category.v))
		default:
			names = append(names, category.v)
		}
	}
	if len(names) > maxCategories {
		c.errorf(s.categories.at, "names %d categories: write at most %d, as many as the CSI driver takes", len(names), maxCategories)
	}
	return names
}

// categoryLabels returns the labels that sections give to categories, of those
// that are a region's or a zone's.
func (c *checker) categoryLabels(s *schema, names []string) map[string]string {
	labels := make(map[string]string)
	by := make(map[string]position)
	for _, given := range s.categoryLabels {
		if !slices.Contains(names, given.name) {
			c.warnf(given.at, "has no effect: topology-categories does not have it")
			continue
		}
		if !given.label.usable() {
			continue
		}
		domain, key, _ := strings.Cut(given.label.v, "/")
		switch domain {
		case "topology.kubernetes.io", "failure-domain.beta.kubernetes.io":
			label := "topology.kubernetes.io/" + key
			if label != topology.LabelRegion && label != topology.LabelZone {
				c.warnf(given.label.at, "is the label of neither region nor zone: it does not say what the category is")
				continue
			}
			if other, again := by[label]; again {
				c.errorf(given.label.at, "is the label of %v too: remove one of the two", other)
			}
			labels[given.name], by[label] = label, given.at
		case topology.CSIDomain:
		default:
			c.complain(given.label, &complaint{"is no label of a topology: write " + topology.LabelRegion + " or " +
				topology.LabelZone, found(given.label.v)})
		}
	}
	return labels
}

// role finds the category that is the region or the zone where no section says so:
// the one whose name has that word. To the driver neither the order nor the names
// mean anything, so which of several it is would be a guess.
func (c *checker) role(s *schema, names []string, labels map[string]string, label string) {
	_, word, _ := strings.Cut(label, "/")
	var having []string
	for _, name := range names {
		if labels[name] == label {
			return
		}
		if labels[name] == "" && hasWord(name, word) {
			having = append(having, name)
		}
	}
	switch len(having) {
	case 0:
	case 1:
		labels[having[0]] = label
	default:
		c.errorf(s.categories.at, "has several categories that may be the %s: write a section such as [TopologyCategory %q] "+
			"with label = %s", word, having[0], label)
	}
}

// hasWord says that a category may be the region or the zone by its name.
func hasWord(name, word string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, word)
}
