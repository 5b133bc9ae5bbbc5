package topology

import (
	"fmt"

	"vzones/topology/quote"
)

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
