package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
	"vzones/internal/suggest"
)

// NoCategory returns a conflict for each label whose category is among those that
// no vCenter shows to the account. Its text lists the categories in Visible, which the
// machine's vCenter has.
func (p Policy) NoCategory(absent []string) []Conflict {
	var conflicts []Conflict
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			for _, category := range r.categories() {
				if slices.Contains(absent, category) {
					conflicts = append(conflicts, p.lacks(category, r))
				}
			}
		}
	}
	return conflicts
}

// lacks returns the conflict of a rule's category that no vCenter shows. Its key is the text without the list of
// categories, which anybody in the vCenter may change.
func (p Policy) lacks(category string, r Rule) Conflict {
	key := func() string {
		return fmt.Sprintf("No vCenter has the tag category %q that the account can see%s, which label %s is to come from. "+
			"Correct its name in the configuration, make the category and attach its tags, or give the account the role Read-only in the global permissions.",
			category, meant(category, p.Visible), r.Label)
	}
	text := func() string {
		if len(p.Visible) == 0 {
			return key()
		}
		names := strings.Trim(fmt.Sprintf("%q", p.Visible), "[]")
		return key() + " The machine's vCenter has " + quote.Text(strings.ReplaceAll(names, `" "`, `", "`)) + "."
	}
	return Conflict{Kind: ConflictNoCategory, Labels: []string{r.Label}, why: text, key: key}
}

// meant suggests the category in a list whose name is nearest to that of a missing one.
func meant(category string, there []string) string {
	if near := suggest.Nearest(category, there); near != "" {
		return " (is " + quote.Value(near) + " meant?)"
	}
	return ""
}

// MissingCategories returns a conflict for each category of region and zone that some
// vCenters show to the account and others do not, which concerns the CSI driver. Absent are the categories that each of
// the vCenters does not show, all of which were read. It is the whole fleet's, and equal
// for all Nodes with the driver.
func (p Policy) MissingCategories(absent map[string][]string) []Conflict {
	var conflicts []Conflict
	for _, category := range p.VolumeCategories() {
		var lacking []string
		for vcenter, names := range absent {
			if slices.Contains(names, category) {
				lacking = append(lacking, vcenter)
			}
		}
		if len(lacking) == 0 || len(lacking) == len(absent) {
			continue // where no vCenter has it, that is another conflict
		}
		slices.Sort(lacking)
		conflicts = append(conflicts, Conflict{Kind: ConflictMissingCategory, Labels: p.labelsOf(category), why: func() string {
			return fmt.Sprintf("vCenter %s has no tag category %q that the account can see, and other vCenters have. The vSphere CSI driver needs the category in each of its vCenters: "+
				"without it its topology service does not start, for the Nodes of no vCenter. Make the category there, or give the account the role Read-only in the global permissions.",
				quoted(lacking), category)
		}})
	}
	return conflicts
}
