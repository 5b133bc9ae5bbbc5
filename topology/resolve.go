// Package topology decides a VM's region, zone and further levels from the tags and names of the
// objects above it. It performs no I/O and never guesses: a label that it cannot decide is an error
// or undecided.
package topology

import (
	"fmt"
	"slices"

	"vzones/internal/quote"
)

// Resolve determines a VM's placement.
//
// Region and zone are decided together: by the first path with tags of every required category, or of
// any category if none is required. Along the path, the policy's precedence applies. Each level is
// decided independently, by the nearest tag of its category on the first path that has one. Composed
// values are computed last.
//
// Objects whose tags the account may not read are treated as untagged if readable tags decide. If
// they do not, the label is unknown and not missing (decision 0019). A path that could not be read
// far enough ends the search, because it might have decided.
//
// Resolve fails only because of a required label, with one of these errors:
//   - ErrMissing: everything was read, and nothing gives the label a value.
//   - ErrUnknown: a read failed, or the vCenter does not show a category (also ErrNoCategory).
//   - ErrAmbiguous: the deciding object has two tags of one category, or the host is in two groups.
//   - ErrInvalid: the deciding name is not a valid label value.
//
// If Resolve fails, the placement contains only conflicts. An optional label with one of the last
// three errors is undecided.
func Resolve(policy Policy, paths []Path) (Placement, error) {
	labels := len(policy.Rules) + len(policy.Levels)
	if labels == 0 {
		return Placement{}, nil
	}
	// Up to four traces stay on the stack.
	var buffer [4]trace
	r := resolution{search: search{ancestors: paths, policy: &policy}}
	r.placement.Decisions = make([]Decision, 0, labels)
	r.decideRules(append(buffer[:0], make([]trace, len(policy.Rules))...))
	for i := range policy.Levels {
		r.decideLevel(&policy.Levels[i])
	}
	r.compose()
	r.reportUnread()
	if r.err != nil {
		return Placement{Conflicts: r.placement.Conflicts}, r.err
	}
	return r.placement, nil
}

type resolution struct {
	search
	placement Placement
	err       error
}

func (r *resolution) fail(rule *Rule, err error) {
	switch {
	case !rule.Required:
		r.placement.Undecided = append(r.placement.Undecided, Undecided{Label: rule.Label, Err: err})
	case r.err == nil:
		r.err = err
	}
}

func (r *resolution) decideRules(traces []trace) {
	rules := r.policy.Rules
	var v choice
	if r.hasCategories() {
		v = r.choose(traces)
	}
	for i := range rules {
		rule := &rules[i]
		h := traces[i].chosen(r.policy.Precedence)
		switch {
		case !rule.hasSource():
		case rule.Category == "":
			r.decideWithoutTag(rule)
		case r.isInvisible(rule.Category):
			r.fail(rule, r.categoryError(rule.Category))
		case v.invisible != "" && traces[i].varied:
			r.fail(rule, r.categoryError(v.invisible))
		case h.object != nil:
			r.decideByTag(rule, h, v.skipped.objects)
		case rule.Required && v.unknown == nil:
			if r.err == nil {
				r.fail(rule, r.missing(traces))
			}
		case v.unknown != nil:
			r.fail(rule, v.unknown)
		}
	}
	if v.path != nil {
		r.placement.Path = v.path.Kind
		r.compare(v, traces)
	}
	r.addSystemFolders(v.skipped)
}

func (r *resolution) decideWithoutTag(rule *Rule) {
	if rule.HostGroup != "" || rule.Inventory == InventoryFaultDomain {
		r.decideByMembership(rule)
	} else {
		r.decideByInventory(rule)
	}
}

func (r *resolution) addSystemFolders(passed skipped) {
	for _, o := range passed.system {
		r.placement.SystemUnread = appendUnique(r.placement.SystemUnread, o)
	}
}

func (r *resolution) decideLevel(rule *Rule) {
	switch {
	case !rule.hasSource():
		return
	case rule.Category == "":
		r.decideWithoutTag(rule)
		return
	case r.isInvisible(rule.Category):
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, r.categoryError(rule.Category)))
		return
	}
	var passed skipped
	for _, kind := range r.policy.paths() {
		p := r.path(kind)
		h, got := nearest(rule.Category, p)
		passed.add(got.skipped)
		if h.object != nil {
			r.addSystemFolders(passed)
			r.decideByTag(rule, h, passed.objects)
			return
		}
		if got.truncated() {
			r.addSystemFolders(passed)
			r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, got.unknownError([]string{rule.Category}, kind)))
			return
		}
	}
	r.addSystemFolders(passed)
	switch {
	case !passed.none():
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, permissionError([]string{rule.Category}, passed)))
	case rule.Required:
		paths := r.searchedPaths()
		lacked := slices.Repeat([][]string{{rule.Category}}, len(paths))
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, missingError(paths, lacked)))
	}
}

// whyInvalid accepts any part of a composed value, since only the whole must be valid.
func (r *Rule) whyInvalid(name string) string {
	if r.Value != nil {
		return ""
	}
	return InvalidLabelValue(name)
}

func (r *resolution) decideByTag(rule *Rule, h hit, unread []*Object) {
	if h.isAmbiguous {
		names := h.object.tagNames(rule.Category)
		r.conflict(ConflictTwoTags, rule.Label, func() string {
			return fmt.Sprintf("%s has %d tags of category %q: %s. Label %s takes one: detach the others.",
				capitalized(h.object.String()), len(names), rule.Category, quoted(names), rule.Label)
		}, h.object)
		r.fail(rule, Errorf(ErrAmbiguous, "%s has %d tags of category %q (%s), and label %s takes one: detach the others",
			h.object, len(names), rule.Category, quoted(names), rule.Label))
		return
	}
	if reason := rule.whyInvalid(h.name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			return fmt.Sprintf("Tag %s of category %q on %s cannot be the value of label %s: %s. Rename the tag.",
				quote.Value(h.name), rule.Category, h.object, rule.Label, reason)
		}, h.object)
		r.fail(rule, Errorf(ErrInvalid, "tag %s of category %q on %s cannot be the value of label %s: %s: rename the tag",
			quote.Value(h.name), rule.Category, h.object, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: h.name, Category: rule.Category, By: h.object, Unread: unread,
	})
}
