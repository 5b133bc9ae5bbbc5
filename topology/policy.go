package topology

import (
	"slices"
)

// Precedence says which of several tags of one category along a path decides.
type Precedence string

const (
	// PrecedenceCSI is the CSI driver's walk, and the default: a farther tag
	// overwrites a nearer one until every category has a value.
	PrecedenceCSI Precedence = "csi"
	// PrecedenceNearest lets the nearest tag of each category decide.
	PrecedenceNearest Precedence = "nearest"
)

// A Policy is everything that decides about a machine's placement. Its zero value
// places nothing.
type Policy struct {
	// Rules are those of region and zone, and of what the CSI driver decides with
	// them. Their categories are decided together, by Precedence and on one path;
	// each category occurs in one rule only, or in those of region and zone.
	Rules Rules
	// Levels are those of further labels, each decided alone: by the nearest
	// tag on the first path that has one. They have labels of their own.
	Levels Rules
	// Precedence is PrecedenceCSI if empty.
	Precedence Precedence
	// Paths are those on which tags are looked for, in that order; DefaultPaths
	// if empty.
	Paths []PathKind
	// Invisible are categories that the machine's vCenter does not show to the
	// account. Whether objects have tags of them is not known. Visible are those
	// that it shows, as far as that is known.
	Invisible, Visible []string
}

// Categories returns the tag categories that the policy needs, each once. Without
// any, no tag has to be read.
func (p Policy) Categories() []string {
	var names []string
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			for _, category := range r.categories() {
				if !slices.Contains(names, category) {
					names = append(names, category)
				}
			}
		}
	}
	return names
}

// HostGroups reports whether the policy needs the DRS host groups of clusters.
func (p Policy) HostGroups() bool {
	return p.has(func(r Rule) bool { return r.HostGroup != "" })
}

// FaultDomains reports whether the policy needs the vSAN fault domains of hosts.
func (p Policy) FaultDomains() bool {
	return p.has(func(r Rule) bool {
		return r.Inventory == InventoryFaultDomain ||
			slices.ContainsFunc(r.Value, func(part Part) bool { return part.Inventory == InventoryFaultDomain })
	})
}

// IsLevel reports whether a label is decided alone, and not with region and zone.
func (p Policy) IsLevel(label string) bool {
	return slices.ContainsFunc(p.Levels, func(r Rule) bool { return r.Label == label })
}

func (p Policy) has(is func(Rule) bool) bool {
	return slices.ContainsFunc(p.Rules, is) || slices.ContainsFunc(p.Levels, is)
}

// Labels returns the labels that the policy decides about, each once.
func (p Policy) Labels() []string {
	var labels []string
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			labels = append(labels, r.Label)
		}
	}
	return labels
}

// rule returns the rule of a label, nil if there is none.
func (p *Policy) rule(label string) *Rule {
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for i := range rules {
			if rules[i].Label == label {
				return &rules[i]
			}
		}
	}
	return nil
}

// composes reports whether a label's value is made of several sources.
func (p *Policy) composes() bool {
	is := func(r Rule) bool { return r.Value != nil }
	return slices.ContainsFunc(p.Rules, is) || slices.ContainsFunc(p.Levels, is)
}

// IsRequired reports whether a Node without a value for a label has no placement.
func (p Policy) IsRequired(label string) bool {
	return p.has(func(r Rule) bool { return r.Label == label && r.Required })
}

// TagPaths returns the paths on which the policy looks for tags, in that order. It
// returns nothing for a policy without a tag category.
func (p Policy) TagPaths() []PathKind {
	if len(p.Categories()) == 0 {
		return nil
	}
	return slices.Clone(p.paths())
}

func (p Policy) paths() []PathKind {
	if len(p.Paths) == 0 {
		return defaultPaths[:]
	}
	return p.Paths
}
