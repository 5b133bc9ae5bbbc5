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

// A Rule gives one Node label its value: the name of the tag of Category that
// decides for the machine, the name of what it is in, or the name of the DRS host
// group that its host is in. One of the three is set, or none if Value does without
// them.
type Rule struct {
	// Label is the key of the Node label.
	Label string
	// Category is the name of a vSphere tag category.
	Category string
	// Inventory is what gives its name where Category is empty.
	Inventory Inventory
	// Value makes the label's value of this and other sources. Without it the value
	// is what the source gives.
	Value Template
	// HostGroup is the name of DRS host groups, in which a * stands for any
	// characters.
	HostGroup string
	// Required says that a Node without a value for Label has no placement at
	// all. Without it the label is left out.
	Required bool
	// Nested says that each value of a further level lies in one value of the levels
	// before it, of the zone and of the region. What does not is a conflict.
	Nested bool
}

// hasSource reports whether the rule has a source besides those of Value.
func (r *Rule) hasSource() bool { return r.Category != "" || r.Inventory != "" || r.HostGroup != "" }

// categories returns the tag categories that the rule needs.
func (r *Rule) categories() []string {
	var names []string
	if r.Category != "" {
		names = append(names, r.Category)
	}
	for _, part := range r.Value {
		if part.Category != "" {
			names = append(names, part.Category)
		}
	}
	return names
}

// Rules are in the order of the labels of a placement. Each label occurs once.
type Rules []Rule

// Inventory is a part of the inventory whose name can be a label's value.
type Inventory string

// What a machine is in, whatever paths are walked for tags. Each is the nearest
// one above the machine.
const (
	// InventoryVCenter is the name of the vCenter's entry in the configuration.
	InventoryVCenter Inventory = "vcenter"
	// InventoryDatacenter is the datacenter.
	InventoryDatacenter Inventory = "datacenter"
	// InventoryCluster is the cluster. A standalone host is in none, although
	// vSphere puts a compute resource of the host's name above it.
	InventoryCluster Inventory = "cluster"
	// InventoryHost is the host.
	InventoryHost Inventory = "host"
	// InventoryPool is the resource pool or vApp. The pool that vSphere makes
	// for each cluster and standalone host, Resources, does not count.
	InventoryPool Inventory = "resourcePool"
	// InventoryFolder is the VM folder. The one that vSphere makes for each
	// datacenter, vm, does not count.
	InventoryFolder Inventory = "folder"
	// InventoryFaultDomain is the vSAN fault domain of the host. The one that vSAN
	// makes for each host without one does not count.
	InventoryFaultDomain Inventory = "vsanFaultDomain"
)

// Inventories returns all there are, from the widest to the nearest.
func Inventories() []Inventory {
	return []Inventory{InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryHost, InventoryPool, InventoryFolder, InventoryFaultDomain}
}

// Nested reports whether what has its name from here is a part of a zone, and of the
// levels before it, unless the configuration says otherwise.
func (i Inventory) Nested() bool {
	switch i {
	case InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryPool, InventoryFolder:
		return false // they are wider than a zone, or go across
	}
	return true
}

// ForHosts returns the policy for what is above a host, without the machines on it, and reports whether
// that decides anything: tags may be looked for elsewhere only.
func (p Policy) ForHosts() (Policy, bool) {
	if len(p.Categories()) > 0 && !slices.Contains(p.TagPaths(), ComputePath) {
		return p, false
	}
	p.Paths = []PathKind{ComputePath}
	return p, true
}

// FollowsFromHost reports whether a rule gives all machines on a host the same value: that of no
// resource pool or folder.
func (r *Rule) FollowsFromHost() bool {
	isMachines := func(i Inventory) bool { return i == InventoryPool || i == InventoryFolder }
	return !isMachines(r.Inventory) && !slices.ContainsFunc(r.Value, func(p Part) bool { return isMachines(p.Inventory) })
}

// Optional returns the rules, none of which is required: so that one without a value hides no other.
func (r Rules) Optional() Rules {
	all := slices.Clone(r)
	for i := range all {
		all[i].Required = false
	}
	return all
}
