package topology

import (
	"fmt"
	"slices"
)

// NoCategory returns a conflict for each label whose category is among those that
// no vCenter shows to the account. It is the whole fleet's, and equal for all Nodes.
func (p Policy) NoCategory(absent []string) []Conflict {
	var conflicts []Conflict
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			for _, category := range r.categories() {
				if slices.Contains(absent, category) {
					conflicts = append(conflicts, Conflict{Kind: ConflictNoCategory, Labels: []string{r.Label}, why: noCategory{r.Label, category}})
				}
			}
		}
	}
	return conflicts
}

type noCategory struct{ label, category string }

func (n noCategory) text() string {
	return fmt.Sprintf("No vCenter has the tag category %q that the account can see, which label %s is to come from. "+
		"Correct its name in the configuration, make the category and attach its tags, or give the account the role Read-only in the global permissions.",
		n.category, n.label)
}
