package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A ConflictKind is one of a closed set.
type ConflictKind string

// The kinds. Their values serve as values of a metric's label, and must not
// change.
const (
	// ConflictPrecedence: the nearest tag and the CSI driver's walk give a label
	// different values.
	ConflictPrecedence ConflictKind = "precedence"
	// ConflictTagOrder: what the CSI driver takes depends on the order in which
	// vCenter lists an object's tags.
	ConflictTagOrder ConflictKind = "tag_order"
	// ConflictTwoTags: the deciding object has two tags of one category.
	ConflictTwoTags ConflictKind = "two_tags"
	// ConflictTwoGroups: the host is in two DRS host groups of one rule.
	ConflictTwoGroups ConflictKind = "two_groups"
	// ConflictInvalidValue: the deciding name is not a valid label value.
	ConflictInvalidValue ConflictKind = "invalid_value"
	// ConflictOffPath: a value comes from where the CSI driver does not look, and
	// where it does there is none or another.
	ConflictOffPath ConflictKind = "off_compute_path"
	// ConflictSpans: machines of several vCenters have the same region and zone.
	ConflictSpans ConflictKind = "spans_vcenters"
	// ConflictNames: another vCenter has tags of the same names as those of a pair of
	// region and zone, though no Node there has the pair.
	ConflictNames ConflictKind = "names_span_vcenters"
	// ConflictRegionAndZone: a tag name is a region's and a zone's.
	ConflictRegionAndZone ConflictKind = "region_and_zone"
	// ConflictMissingCategory: one of several vCenters lacks the category of region or
	// zone.
	ConflictMissingCategory ConflictKind = "category_not_everywhere"
	// ConflictNoCategory: no vCenter has a tag category of the policy that the
	// account can see.
	ConflictNoCategory ConflictKind = "no_category"
	// ConflictUnread: labels are decided as if objects had no tags, because the
	// account may not read them.
	ConflictUnread ConflictKind = "unreadable_tags"
	// ConflictTwoRegions: a zone's value is in several regions.
	ConflictTwoRegions ConflictKind = "zone_in_two_regions"
	// ConflictNotNested: a value of a further level is in several values of an outer
	// one.
	ConflictNotNested ConflictKind = "not_nested"
	// ConflictNotCSI: region or zone is composed, or comes from what the CSI driver does
	// not read.
	ConflictNotCSI ConflictKind = "not_seen_by_csi"
)

// ConflictKinds returns all kinds.
func ConflictKinds() []ConflictKind {
	return []ConflictKind{
		ConflictPrecedence, ConflictTagOrder, ConflictTwoTags, ConflictTwoGroups,
		ConflictInvalidValue, ConflictOffPath, ConflictSpans, ConflictNoCategory, ConflictUnread,
		ConflictTwoRegions, ConflictNotNested, ConflictNotCSI,
		ConflictNames, ConflictRegionAndZone, ConflictMissingCategory,
	}
}

// A Conflict is something in the tags, or in names of the inventory, that an
// operator should change.
type Conflict struct {
	Kind ConflictKind
	// Labels are those concerned.
	Labels []string
	// Objects are those that disagree, the nearest first.
	Objects []*Object

	// why makes the text, which is made only when it is read, since placements are resolved far more
	// often than that. It is nil in tests that only count. key is nil if it is why.
	why, key func() string
}

// Text returns what is wrong and what to change, for a person. It names objects by
// vCenter and inventory path, and is the same for all machines below them.
func (c Conflict) Text() string {
	if c.why == nil {
		return string(c.Kind)
	}
	return c.why()
}

// Key is the same for conflicts that say the same to a person. It is the text without what others than those
// who have to change something may change.
func (c Conflict) Key() string {
	if c.key != nil {
		return c.key()
	}
	return c.Text()
}

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
	if near := quote.Nearest(category, there); near != "" {
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
			// A category that no vCenter has is the conflict of NoCategory.
			continue
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
