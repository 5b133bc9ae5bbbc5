package topology

import (
	"fmt"
	"slices"
)

// NoCategory returns a conflict for each label whose category is among those that
// no vCenter has. It is the whole fleet's, and equal for all Nodes.
func (p Policy) NoCategory(absent []string) []Conflict {
	var conflicts []Conflict
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			if r.Category != "" && slices.Contains(absent, r.Category) {
				conflicts = append(conflicts, Conflict{Kind: ConflictNoCategory, Labels: []string{r.Label}, why: noCategory{r}})
			}
		}
	}
	return conflicts
}

type noCategory struct{ rule Rule }

func (n noCategory) text() string {
	return fmt.Sprintf("No vCenter has the tag category %q, which label %s is to come from. "+
		"Correct its name in the configuration, or make the category and attach its tags.", n.rule.Category, n.rule.Label)
}
