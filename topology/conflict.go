package topology

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
