package topology

import "slices"

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
	// ConflictInvalidValue: the deciding name is no label value.
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
	// ConflictNoHosts: the tag of a region or zone is on an object below which the CSI
	// driver finds no hosts.
	ConflictNoHosts ConflictKind = "tag_without_hosts"
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
		ConflictNames, ConflictRegionAndZone, ConflictNoHosts, ConflictMissingCategory,
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

	why explanation
}

// Text says to a person what is the matter and what to change. It names objects by
// vCenter and inventory path, and is the same for all machines below them.
func (c Conflict) Text() string {
	if c.why == nil {
		return string(c.Kind)
	}
	return c.why.text()
}

// An explanation is what a text is made of. Texts are made only when somebody
// reads them, since placements are resolved far more often than that.
type explanation interface{ text() string }

// compare looks for what the operator or the CSI driver might see otherwise.
func (r *resolution) compare(v verdict, traces []trace) {
	if v.path.Kind != ComputePath {
		r.compareWithDriver()
	}
	if v.cut || r.invisible(false) != "" {
		return // how far the tags that were not read reach is not known
	}
	for i := range r.policy.Rules {
		rule, t := &r.policy.Rules[i], &traces[i]
		chosen := t.chosen(r.policy.Precedence)
		if chosen.by == nil || chosen.several {
			continue
		}
		d := disagreement{
			subject: rule.subject(), category: rule.Category,
			// The driver gives up at an object whose tags the account may not read.
			nearest: r.policy.Precedence == PrecedenceNearest, compute: v.path.Kind == ComputePath && v.passed.none(), trace: *t,
		}
		switch {
		case t.mixed() && d.compute:
			r.conflict(ConflictTagOrder, rule.Label, tagOrder{d}, d.objects()...)
		case t.near.differs(t.far):
			r.conflict(ConflictPrecedence, rule.Label, precedences{d}, t.near.by, t.far.by)
		}
	}
}

// subject is what a text says that a tag decides.
func (r *Rule) subject() string {
	if r.Value != nil {
		return "the tag for label " + r.Label
	}
	return "label " + r.Label
}

func (r *resolution) conflict(kind ConflictKind, label string, why explanation, objects ...*Object) {
	r.placement.Conflicts = append(r.placement.Conflicts,
		Conflict{Kind: kind, Labels: []string{label}, Objects: objects, why: why})
}

// unread notes the objects that count as untagged in what was decided.
func (r *resolution) unread() {
	c := Conflict{Kind: ConflictUnread}
	for i := range r.placement.Decisions {
		d := &r.placement.Decisions[i]
		if len(d.Unread) == 0 {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range d.Unread {
			c.Objects = with(c.Objects, o)
		}
	}
	if len(c.Objects) > 0 {
		c.why = countsAsUntagged{c.Labels, c.Objects}
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

// compareWithDriver compares what was decided off the compute path with what the
// CSI driver finds on it. Where that cannot be read nothing is said. System folders
// count as untagged.
func (r *resolution) compareWithDriver() {
	rules := r.policy.Rules
	p := r.path(ComputePath)
	var few [4]trace
	traces := append(few[:0], make([]trace, len(rules))...)
	if got := r.walk(p, traces); got.cut() || len(got.passed.objects) > 0 || r.invisible(false) != "" {
		return
	}
	c := Conflict{Kind: ConflictOffPath}
	var why offPath
	for i := range rules {
		d, decided := r.placement.decision(rules[i].Label)
		h := traces[i].far
		if !decided || d.Category == "" || h.by != nil && !h.several && !traces[i].mixed() && h.name == d.Value {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range []*Object{d.By, h.by} {
			if o != nil && !slices.Contains(c.Objects, o) {
				c.Objects = append(c.Objects, o)
			}
		}
		why = append(why, unseen{decision: d, subject: rules[i].subject(), driver: h.by})
	}
	if len(why) > 0 {
		c.why = why
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}
