package topology

import "slices"

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
