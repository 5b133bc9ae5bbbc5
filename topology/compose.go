package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// composition makes the values of templates. The decisions of the sources are in
// the placement before.
type composition struct {
	*resolution
	plain []Decision
	// done are the labels whose values are made, inProgress those that are being made.
	done, inProgress map[string]bool
}

// compose replaces the values of rules with a template. Where a required label has
// no placement already, nothing is left to be composed.
func (r *resolution) compose() {
	if r.err != nil || !r.policy.composes() {
		return
	}
	c := composition{resolution: r, plain: slices.Clone(r.placement.Decisions), done: map[string]bool{}, inProgress: map[string]bool{}}
	for _, rules := range []Rules{r.policy.Rules, r.policy.Levels} {
		for i := range rules {
			c.label(&rules[i])
		}
	}
	r.inOrder()
}

// label makes the value of one label, after those of the labels that it is made of.
func (c *composition) label(rule *Rule) {
	if rule.Value == nil || c.done[rule.Label] {
		return
	}
	if c.inProgress[rule.Label] {
		return // which is refused in a configuration
	}
	c.inProgress[rule.Label] = true
	for _, part := range rule.Value {
		if other := c.policy.rule(part.Label); other != nil {
			c.label(other)
		}
	}
	c.done[rule.Label] = true
	whole := Decision{Label: rule.Label, Category: rule.Category, Inventory: rule.Inventory, HostGroup: rule.HostGroup}
	var parts []composed
	var failure error
	for _, part := range rule.Value {
		d, err := c.part(rule, part)
		parts = append(parts, composed{part, d})
		if err != nil && (failure == nil || errors.Is(failure, ErrMissing) && !errors.Is(err, ErrMissing)) {
			failure = err
		}
		whole.take(part, d)
	}
	c.placement.Decisions = slices.DeleteFunc(c.placement.Decisions, func(d Decision) bool { return d.Label == rule.Label })
	switch reason := InvalidLabelValue(whole.Value); {
	case errors.Is(failure, ErrMissing) && !rule.Required, c.placement.WhyUndecided(rule.Label) != nil:
	case failure != nil:
		c.fail(rule, fmt.Errorf("label %s of value %q: %w", rule.Label, rule.Value.format(rule.Label), failure))
	case reason != "":
		why := invalidComposed{*rule, whole.Value, parts}
		c.conflict(ConflictInvalidValue, rule.Label, why.text, why.objects()...)
		c.fail(rule, Errorf(ErrInvalid, "%s: rename one of them, or compose the label of fewer parts", why.what()))
	default:
		c.placement.Decisions = append(c.placement.Decisions, whole)
	}
}

// take adds a part to a decision. It is the own source's object that decides, or
// else the first part's.
func (d *Decision) take(part Part, by Decision) {
	d.Value += by.Value
	if !part.isSource() {
		return
	}
	if part.Own {
		d.Plain = by.Value
	}
	if d.By == nil || part.Own {
		d.By = by.By
	}
	d.Parts = append(d.Parts, by)
	for _, o := range by.Unread {
		d.Unread = with(d.Unread, o)
	}
}

// part returns what a part of a rule's value is. The error says why it has none:
// ErrMissing if it is known to have none.
func (c *composition) part(rule *Rule, part Part) (Decision, error) {
	decided := func(among []Decision, label string) (Decision, error) {
		if i := slices.IndexFunc(among, func(d Decision) bool { return d.Label == label }); i >= 0 {
			return among[i], nil
		}
		if err := c.placement.WhyUndecided(label); err != nil {
			return Decision{}, err
		}
		if c.inProgress[label] && !c.done[label] {
			return Decision{}, Errorf(ErrUnknown, "its value is made of itself: correct it in the configuration")
		}
		return Decision{}, Errorf(ErrMissing, "nothing gives label %s a value: compose the value without it", label)
	}
	switch {
	case part.Own:
		return decided(c.plain, rule.Label)
	case part.Label != "":
		return decided(c.placement.Decisions, part.Label)
	case part.Category != "":
		if i := slices.IndexFunc(c.policy.Rules, func(r Rule) bool { return r.Category == part.Category }); i >= 0 {
			return decided(c.plain, c.policy.Rules[i].Label)
		}
		return c.decidePart(Rule{Label: rule.Label, Category: part.Category, Required: true, Value: rule.Value})
	case part.Inventory != "":
		return c.decidePart(Rule{Label: rule.Label, Inventory: part.Inventory, Required: true, Value: rule.Value})
	}
	return Decision{Value: part.Text}, nil
}

// decidePart decides a source that no label has.
func (c *composition) decidePart(rule Rule) (Decision, error) {
	one := resolution{policy: c.policy, paths: c.paths}
	one.decideLevel(&rule)
	for _, o := range one.placement.SystemUnread {
		c.placement.SystemUnread = with(c.placement.SystemUnread, o)
	}
	c.placement.Conflicts = append(c.placement.Conflicts, one.placement.Conflicts...)
	if one.err != nil {
		return Decision{}, one.err
	}
	return one.placement.Decisions[0], nil
}

// inOrder puts the decisions in the order of the rules.
func (r *resolution) inOrder() {
	labels := r.policy.Labels()
	slices.SortStableFunc(r.placement.Decisions, func(a, b Decision) int {
		return slices.Index(labels, a.Label) - slices.Index(labels, b.Label)
	})
}

// composed is a part and what it is.
type composed struct {
	part Part
	is   Decision
}

// invalidComposed is a value that is made of several sources and cannot be a
// label's.
type invalidComposed struct {
	rule  Rule
	value string
	parts []composed
}

func (v invalidComposed) objects() []*Object {
	var objects []*Object
	for _, p := range v.parts {
		if p.is.By != nil {
			objects = with(objects, p.is.By)
		}
	}
	return objects
}

func (v invalidComposed) what() string {
	var of []string
	for _, p := range v.parts {
		if !p.part.isSource() {
			continue
		}
		part := p.part
		if part.Own {
			part = Part{Label: v.rule.Label}
		}
		of = append(of, fmt.Sprintf("%s by %s", part, p.is.By))
	}
	return fmt.Sprintf("%s, which is composed as %q, cannot be the value of label %s: %s (%s)",
		quote.Value(v.value), v.rule.Value.format(v.rule.Label), v.rule.Label, InvalidLabelValue(v.value), strings.Join(of, ", "))
}

func (v invalidComposed) text() string {
	return v.what() + ". Rename one of them, or compose the label of fewer parts."
}
