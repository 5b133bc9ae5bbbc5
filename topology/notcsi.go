package topology

import "fmt"

// NotCSI returns a conflict for each of region and zone that is composed, or comes from
// anything but a tag: the CSI driver reads plain tags only. It is the configuration's, equal for all Nodes,
// and holds for as long as the configuration is so.
func (p Policy) NotCSI() []Conflict {
	var conflicts []Conflict
	for _, r := range p.Rules {
		if r.Value != nil || r.Category == "" {
			conflicts = append(conflicts, Conflict{Kind: ConflictNotCSI, Labels: []string{r.Label}, why: r.notSeenByCSI})
		}
	}
	return conflicts
}

// notSeenByCSI says what the CSI driver makes of a rule that is no plain tag.
func (r Rule) notSeenByCSI() string {
	if r.Value == nil {
		source := fmt.Sprintf("the inventory (%s)", r.Inventory)
		if r.HostGroup != "" {
			source = fmt.Sprintf("DRS host groups (%s)", r.HostGroup)
		}
		return fmt.Sprintf("Label %s comes from %s, which the CSI driver does not see: it places volumes by tags only. "+
			"If it runs in the cluster with topology, take the label from the tag category that the driver uses.", r.Label, source)
	}
	composed := fmt.Sprintf("Label %s is composed as %q, which the CSI driver does not see", r.Label, r.Value.format(r.Label))
	if r.Category == "" {
		return composed + ": it reads tags alone. Without the driver this is of no matter; with it, take region and zone from tags."
	}
	return fmt.Sprintf("%s: StorageClasses and volumes go by the names of the tags of category %q, each of which has to be in one vCenter. "+
		"If the tags can be renamed, give them these values as names, and remove value from the configuration.", composed, r.Category)
}
