// Package topology decides where a machine is: which region, which zone, which
// further level, and which managed object decided it.
//
// It owns references to managed objects, the paths that lead upwards from a
// machine, the rules that turn tags and names into label values, the conflicts
// between them, and the outcomes that every lookup of a machine can have. It
// performs no I/O, knows neither vSphere's API nor Kubernetes' and never guesses:
// what it cannot decide is an error, or a label that is left undecided.
package topology

import (
	"fmt"
	"slices"

	"vzones/internal/quote"
)

// Resolve places a machine. Without rules the placement is empty.
//
// Region and zone are decided together. The paths are tried in the policy's
// order, and the first that gives every required category decides all of them, so
// that a region and a zone never come from different paths; where none is
// required, the first that gives any. Along a path the policy's precedence holds.
// An object's tags are taken together before the walk may stop. What comes from
// the inventory is the machine's, whatever the path.
//
// Each level is decided alone: by the nearest tag on the first path that has
// one. What a value is composed of is decided before, each part alone.
//
// An object whose tags the account may not read counts as untagged if what can be
// read decides. Where it does not, nothing is missing: it is unknown.
//
// Of a category that the machine's vCenter does not show nothing is known. With
// precedence csi it also decides where the walk ends, so only those of the others
// are certain that are the same all the way up.
//
// The error is that of a required label, and one of
//   - ErrMissing: each path was read to the root and none has every required
//     category; the message says which are missing and where they were looked
//     for. Or the machine is in no such part of the inventory.
//   - ErrUnknown: a path could not be read as far as the walk had to go, or is not
//     known at all. No later path is tried, for this one might have decided. Or no path has every
//     required category, and there are objects whose tags the account may not read.
//     Or the vCenter does not show a required category (ErrNoCategory).
//   - ErrAmbiguous: the deciding object has two tags of one category.
//   - ErrInvalid: the deciding name is not a valid label value.
//
// With an error the placement has conflicts only. What concerns a label that is
// not required is no error: the label is then undecided.
func Resolve(policy Policy, paths []Path) (Placement, error) {
	labels := len(policy.Rules) + len(policy.Levels)
	if labels == 0 {
		return Placement{}, nil
	}
	var few [4]trace // kept off the heap
	r := resolution{search: search{ancestors: paths, policy: &policy}}
	r.placement.Decisions = make([]Decision, 0, labels)
	r.decideRules(append(few[:0], make([]trace, len(policy.Rules))...))
	for i := range policy.Levels {
		r.decideLevel(&policy.Levels[i])
	}
	r.compose()
	r.noteUnread()
	if r.err != nil {
		return Placement{Conflicts: r.placement.Conflicts}, r.err
	}
	return r.placement, nil
}

// resolution is one call of Resolve.
type resolution struct {
	search
	placement Placement
	// err is the first error of a required label.
	err error
}

// fail ends a label without a value, although it may have one. The placement
// fails with it if it is required.
func (r *resolution) fail(rule *Rule, err error) {
	switch {
	case !rule.Required:
		r.placement.Undecided = append(r.placement.Undecided, Undecided{Label: rule.Label, Err: err})
	case r.err == nil:
		r.err = err
	}
}

// decideRules decides the policy's rules.
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
			r.decideByInventory(rule)
		case r.isInvisible(rule.Category):
			r.fail(rule, r.noCategory(rule.Category))
		case v.invisible != "" && traces[i].varied:
			r.fail(rule, r.noCategory(v.invisible))
		case h.by != nil:
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
	r.noteSystemFolders(v.skipped)
}

// noteSystemFolders notes the system folders that were passed over.
func (r *resolution) noteSystemFolders(over skipped) {
	for _, o := range over.system {
		r.placement.SystemUnread = with(r.placement.SystemUnread, o)
	}
}

// decideLevel decides one of the policy's levels.
func (r *resolution) decideLevel(rule *Rule) {
	switch {
	case !rule.hasSource():
		return
	case rule.Category == "":
		r.decideByInventory(rule)
		return
	case r.isInvisible(rule.Category):
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, r.noCategory(rule.Category)))
		return
	}
	var over skipped
	for _, kind := range r.policy.paths() {
		p := r.path(kind)
		h, got := nearest(rule.Category, p)
		over.add(got.skipped)
		if h.by != nil {
			r.noteSystemFolders(over)
			r.decideByTag(rule, h, over.objects)
			return
		}
		if got.truncated() {
			r.noteSystemFolders(over)
			r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, got.unknown([]string{rule.Category}, kind)))
			return
		}
	}
	r.noteSystemFolders(over)
	switch {
	case !over.none():
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, notPermitted([]string{rule.Category}, over)))
	case rule.Required:
		paths := r.tried()
		lacked := slices.Repeat([][]string{{rule.Category}}, len(paths))
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, nowhere(paths, lacked)))
	}
}

// whyInvalid returns why a name cannot be the label's value, empty if it can. A part of
// a composed value need not be a label value.
func (r *Rule) whyInvalid(name string) string {
	if r.Value != nil {
		return ""
	}
	return InvalidLabelValue(name)
}

// decideByTag gives a label the name of the tag that decides, if there is one only
// and it can be a label's value. Over are the objects that count as untagged.
func (r *resolution) decideByTag(rule *Rule, h hit, over []*Object) {
	if h.several {
		names := h.by.tagNames(rule.Category)
		r.conflict(ConflictTwoTags, rule.Label, func() string {
			return fmt.Sprintf("%s has %d tags of category %q: %s. Label %s takes one: detach the others.",
				sentence(h.by.String()), len(names), rule.Category, quoted(names), rule.Label)
		}, h.by)
		r.fail(rule, Errorf(ErrAmbiguous, "%s has %d tags of category %q (%s), and label %s takes one: detach the others",
			h.by, len(names), rule.Category, quoted(names), rule.Label))
		return
	}
	if reason := rule.whyInvalid(h.name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			return fmt.Sprintf("Tag %s of category %q on %s cannot be the value of label %s: %s. Rename the tag.",
				quote.Value(h.name), rule.Category, h.by, rule.Label, reason)
		}, h.by)
		r.fail(rule, Errorf(ErrInvalid, "tag %s of category %q on %s cannot be the value of label %s: %s: rename the tag",
			quote.Value(h.name), rule.Category, h.by, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: h.name, Category: rule.Category, By: h.by, Unread: over,
	})
}
