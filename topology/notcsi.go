package topology

import "fmt"

// NotCSI returns a conflict for each of region and zone that is composed, or comes from
// anything but a tag: the CSI driver reads plain tags only. It is the configuration's, equal for all Nodes,
// and holds for as long as the configuration is so.
func (p Policy) NotCSI() []Conflict {
	var conflicts []Conflict
	for _, r := range p.Rules {
		switch {
		case r.Value != nil:
			conflicts = append(conflicts, Conflict{Kind: ConflictNotCSI, Labels: []string{r.Label}, why: differsFromTags{r}})
		case r.Category == "":
			conflicts = append(conflicts, Conflict{Kind: ConflictNotCSI, Labels: []string{r.Label}, why: notCSI{r}})
		}
	}
	return conflicts
}

type notCSI struct{ rule Rule }

func (n notCSI) text() string {
	source := fmt.Sprintf("the inventory (%s)", n.rule.Inventory)
	if n.rule.HostGroup != "" {
		source = fmt.Sprintf("DRS host groups (%s)", n.rule.HostGroup)
	}
	return fmt.Sprintf("Label %s comes from %s, which the CSI driver does not see: it places volumes by tags only. "+
		"If it runs in the cluster with topology, take the label from the tag category that the driver uses.", n.rule.Label, source)
}

// differsFromTags is a label that the CSI driver sees otherwise.
type differsFromTags struct{ rule Rule }

func (d differsFromTags) text() string {
	composed := fmt.Sprintf("Label %s is composed as %q, which the CSI driver does not see", d.rule.Label, d.rule.Value.format(d.rule.Label))
	if d.rule.Category == "" {
		return composed + ": it reads tags alone. Without the driver this is of no matter; with it, take region and zone from tags."
	}
	return fmt.Sprintf("%s: StorageClasses and volumes go by the names of the tags of category %q, each of which has to be in one vCenter. "+
		"If the tags can be renamed, give them these values as names, and remove value from the configuration.", composed, d.rule.Category)
}
