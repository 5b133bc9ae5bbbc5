package topology

import (
	"slices"
	"strings"
)

// The labels that Kubernetes reads a Node's topology from.
const (
	LabelRegion = "topology.kubernetes.io/region"
	LabelZone   = "topology.kubernetes.io/zone"
)

// ReservedDomain returns the domain, of those in which no label may be set by
// whoever likes, that the key of a label is in, and nothing for any other key.
func ReservedDomain(key string) string {
	prefix, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return ""
	}
	for _, domain := range [...]string{"kubernetes.io", "k8s.io", CSIDomain} {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return domain
		}
	}
	return ""
}

// LabelRack is the only key in topology.kubernetes.io besides region and zone that
// Kubernetes' own APIs name: it is their example of a topology in
// k8s.io/api/scheduling/v1beta1.
const LabelRack = "topology.kubernetes.io/rack"

// IsReservedLevel reports whether a key that is in a reserved domain can be the label
// of a level. The framework writes no such label, and kubelets may not.
func IsReservedLevel(key string) bool { return key == LabelRack }

// CSIDomain has the labels that kubelet sets for the CSI driver.
const CSIDomain = "topology.csi.vmware.com"

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
	// InventoryPool is the resource pool or vApp. The pool that each cluster and
	// standalone host has by itself, Resources, is none.
	InventoryPool Inventory = "resourcePool"
	// InventoryFolder is the VM folder. The one that each datacenter has by
	// itself, vm, is none.
	InventoryFolder Inventory = "folder"
	// InventoryFaultDomain is the vSAN fault domain of the host. The one that vSAN
	// gives by itself to each host without one is none.
	InventoryFaultDomain Inventory = "vsanFaultDomain"
)

// Inventories returns all there are, from the widest to the nearest.
func Inventories() []Inventory {
	return []Inventory{InventoryVCenter, InventoryDatacenter, InventoryCluster, InventoryHost, InventoryPool, InventoryFolder, InventoryFaultDomain}
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
	// Levels are those of further labels, each decided by itself: by the nearest
	// tag on the first path that has one. They have labels of their own.
	Levels Rules
	// Precedence is PrecedenceCSI if empty.
	Precedence Precedence
	// Paths are those on which tags are looked for, in that order; DefaultPaths
	// if empty.
	Paths []PathKind
	// Invisible are categories that the machine's vCenter does not show to the
	// account. Whether objects have tags of them is not known.
	Invisible []string
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
