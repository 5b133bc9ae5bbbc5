package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A ConflictKind is used as a label value of a metric, so its values must not change.
type ConflictKind string

// The kinds of conflicts.
const (
	// ConflictPrecedence: the nearest tag and the CSI driver's walk differ.
	ConflictPrecedence ConflictKind = "precedence"
	// ConflictTagOrder: the CSI driver's value depends on the order in which vCenter lists tags.
	ConflictTagOrder ConflictKind = "tag_order"
	// ConflictTwoTags: the deciding object has two tags of one category.
	ConflictTwoTags ConflictKind = "two_tags"
	// ConflictTwoGroups: the host is in two DRS host groups of one rule.
	ConflictTwoGroups ConflictKind = "two_groups"
	// ConflictInvalidValue: the deciding name is not a valid label value.
	ConflictInvalidValue ConflictKind = "invalid_value"
	// ConflictOffPath: the compute path, which the CSI driver reads, gives no value or a different
	// value.
	ConflictOffPath ConflictKind = "off_compute_path"
	// ConflictSpans: VMs in several vCenters have the same region and zone.
	ConflictSpans ConflictKind = "spans_vcenters"
	// ConflictNames: another vCenter has tags with the names of a region and zone.
	ConflictNames ConflictKind = "names_span_vcenters"
	// ConflictRegionAndZone: a tag name is both a region and a zone.
	ConflictRegionAndZone ConflictKind = "region_and_zone"
	// ConflictMissingCategory: only some vCenters have the category of region or zone.
	ConflictMissingCategory ConflictKind = "category_not_everywhere"
	// ConflictNoCategory: no vCenter shows a tag category to the account.
	ConflictNoCategory ConflictKind = "no_category"
	// ConflictUnread: objects with unreadable tags are treated as untagged.
	ConflictUnread ConflictKind = "unreadable_tags"
	// ConflictTwoRegions: one zone is in several regions.
	ConflictTwoRegions ConflictKind = "zone_in_two_regions"
	// ConflictNotNested: a value of a further level is in several values of an outer level.
	ConflictNotNested ConflictKind = "not_nested"
	// ConflictNotCSI: region or zone comes from a source that the CSI driver does not read.
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

// A Conflict is a problem in tags or inventory names that an operator should fix.
type Conflict struct {
	Kind   ConflictKind
	Labels []string
	// Objects cause the conflict, the nearest first.
	Objects []*Object

	// why computes the text on demand. It is nil in some tests. A nil key means why.
	why, key func() string
}

// Text describes the problem and its fix. It is the same for all VMs below the objects.
func (c Conflict) Text() string {
	if c.why == nil {
		return string(c.Kind)
	}
	return c.why()
}

// Key is the text without parts that change for unrelated reasons.
func (c Conflict) Key() string {
	if c.key != nil {
		return c.key()
	}
	return c.Text()
}

// NoCategory returns a conflict for each label whose category no vCenter shows to the account.
func (p Policy) NoCategory(absent []string) []Conflict {
	var conflicts []Conflict
	for _, rules := range []Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			for _, category := range r.categories() {
				if slices.Contains(absent, category) {
					conflicts = append(conflicts, p.noCategoryConflict(category, r))
				}
			}
		}
	}
	return conflicts
}

// noCategoryConflict omits the list of visible categories from the key, because any user of the
// vCenter may change it.
func (p Policy) noCategoryConflict(category string, r Rule) Conflict {
	key := func() string {
		return fmt.Sprintf("No vCenter has a tag category %q that the account can see%s, but label %s needs it. "+
			"Correct its name in the configuration, create the category and attach its tags, or give the account the role Read-only in the global permissions.",
			category, suggestion(category, p.Visible), r.Label)
	}
	text := func() string {
		if len(p.Visible) == 0 {
			return key()
		}
		names := strings.Trim(fmt.Sprintf("%q", p.Visible), "[]")
		return key() + " The VM's vCenter has " + quote.Text(strings.ReplaceAll(names, `" "`, `", "`)) + "."
	}
	return Conflict{Kind: ConflictNoCategory, Labels: []string{r.Label}, why: text, key: key}
}

func suggestion(category string, candidates []string) string {
	if near := quote.Nearest(category, candidates); near != "" {
		return " (did you mean " + quote.Value(near) + "?)"
	}
	return ""
}

// MissingCategories returns a conflict for each category of region and zone that only some vCenters
// show to the account. absent lists the missing categories of each vCenter that was read.
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
			continue
		}
		slices.Sort(lacking)
		conflicts = append(conflicts, Conflict{Kind: ConflictMissingCategory, Labels: p.labelsOf(category), why: func() string {
			return fmt.Sprintf("vCenter %s has no tag category %q that the account can see, but other vCenters do. The vSphere CSI driver needs the category in each of its vCenters: "+
				"without it, its topology service does not start for the Nodes of any vCenter. Create the category there, or give the account the role Read-only in the global permissions.",
				quoted(lacking), category)
		}})
	}
	return conflicts
}
