package topology

import (
	"slices"
)

// Precedence selects the deciding tag of a category along a path.
type Precedence string

const (
	// PrecedenceCSI is the default and the CSI driver's walk: a farther tag overwrites a nearer
	// tag until every category has a value.
	PrecedenceCSI Precedence = "csi"
	// PrecedenceNearest lets the nearest tag of each category decide.
	PrecedenceNearest Precedence = "nearest"
)

// A Policy contains the settings of placements. Its zero value places nothing.
type Policy struct {
	// Rules are the rules of region and zone, and of the further categories in a CSI driver's
	// configuration. They are decided together, by Precedence and on one path. Each category
	// occurs in one rule only, or in region and zone.
	Rules Rules
	// Levels are the rules of further labels, each decided alone by the nearest tag.
	Levels     Rules
	Precedence Precedence
	// Paths are searched for tags in this order. Empty means DefaultPaths.
	Paths []PathKind
	// Invisible lists the categories that the VM's vCenter does not show to the account, Visible
	// the categories that it shows, if known.
	Invisible, Visible []string
}

// Categories returns the tag categories that the policy needs.
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

// HostGroups reports whether the policy needs DRS host groups.
func (p Policy) HostGroups() bool {
	return p.anyRule(func(r Rule) bool { return r.HostGroup != "" })
}

// FaultDomains reports whether the policy needs vSAN fault domains.
func (p Policy) FaultDomains() bool {
	return p.anyRule(func(r Rule) bool {
		return r.Inventory == InventoryFaultDomain ||
			slices.ContainsFunc(r.Value, func(part Part) bool { return part.Inventory == InventoryFaultDomain })
	})
}

// IsLevel reports whether a label is in Levels.
func (p Policy) IsLevel(label string) bool {
	return slices.ContainsFunc(p.Levels, func(r Rule) bool { return r.Label == label })
}

func (p Policy) anyRule(matches func(Rule) bool) bool {
	return slices.ContainsFunc(p.Rules, matches) || slices.ContainsFunc(p.Levels, matches)
}

// Labels returns the labels of the policy.
func (p Policy) Labels() []string {
	var labels []string
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			labels = append(labels, r.Label)
		}
	}
	return labels
}

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

func (p *Policy) composes() bool {
	matches := func(r Rule) bool { return r.Value != nil }
	return slices.ContainsFunc(p.Rules, matches) || slices.ContainsFunc(p.Levels, matches)
}

// IsRequired reports whether a rule of the label is Required.
func (p Policy) IsRequired(label string) bool {
	return p.anyRule(func(r Rule) bool { return r.Label == label && r.Required })
}

// TagPaths returns the paths that are searched for tags, or nil without a tag category.
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

// A Rule gives one Node label its value. At most one of Category, Inventory and HostGroup, the rule's
// own source, is set, and none if Value does not use it.
type Rule struct {
	Label     string
	Category  string
	Inventory Inventory
	Value     Template
	// HostGroup is a name in which * stands for any characters.
	HostGroup string
	// Required means that a VM without a value has no placement.
	Required bool
	// Nested means that each value must lie in one value only of each outer level, zone and region.
	Nested bool
}

func (r *Rule) hasSource() bool { return r.Category != "" || r.Inventory != "" || r.HostGroup != "" }

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

// Rules are in the order of a placement's labels, each label once.
type Rules []Rule

// An Inventory is a kind of inventory object whose name can be a label's value: the nearest above
// the VM, on any path.
type Inventory string

// The inventory sources.
const (
	// InventoryVCenter is the vCenter's name in the configuration.
	InventoryVCenter    Inventory = "vcenter"
	InventoryDatacenter Inventory = "datacenter"
	// InventoryCluster does not include the compute resource of a standalone host.
	InventoryCluster Inventory = "cluster"
	InventoryHost    Inventory = "host"
	// InventoryPool excludes the default pool of a cluster or standalone host.
	InventoryPool Inventory = "resourcePool"
	// InventoryFolder excludes the default folder of a datacenter.
	InventoryFolder Inventory = "folder"
	// InventoryFaultDomain excludes the implicit domain of a single host.
	InventoryFaultDomain Inventory = "vsanFaultDomain"
)

// Inventories returns all sources, from the widest to the nearest.
func Inventories() []Inventory {
	return []Inventory{InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryHost, InventoryPool, InventoryFolder, InventoryFaultDomain}
}

// Nested returns the default of Rule.Nested for a level with this source.
func (i Inventory) Nested() bool {
	switch i {
	case InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryPool, InventoryFolder:
		// These are wider than a zone, or cross zones.
		return false
	}
	return true
}

// ForHosts returns the policy for hosts instead of VMs, or false if it needs tags of other paths.
func (p Policy) ForHosts() (Policy, bool) {
	if len(p.Categories()) > 0 && !slices.Contains(p.TagPaths(), ComputePath) {
		return p, false
	}
	p.Paths = []PathKind{ComputePath}
	return p, true
}

// FollowsFromHost reports whether all VMs on a host get the same value.
func (r *Rule) FollowsFromHost() bool {
	isVMs := func(i Inventory) bool { return i == InventoryPool || i == InventoryFolder }
	return !isVMs(r.Inventory) && !slices.ContainsFunc(r.Value, func(p Part) bool { return isVMs(p.Inventory) })
}

// Optional returns the rules with none required.
func (r Rules) Optional() Rules {
	optional := slices.Clone(r)
	for i := range optional {
		optional[i].Required = false
	}
	return optional
}
