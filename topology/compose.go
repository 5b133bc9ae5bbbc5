package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// A Template composes a label's value from parts.
type Template []Part

// A Part is one piece of a Template, with exactly one field set.
type Part struct {
	Text string
	// Own stands for the rule's own source.
	Own bool
	// Label is the label of another rule.
	Label string
	// Category is a tag category. The part gets the value that the rule in Policy.Rules with this
	// category decided, or else the name of the nearest tag.
	Category  string
	Inventory Inventory
}

func (p Part) String() string {
	switch {
	case p.Own:
		return "{own source}"
	case p.Label == LabelRegion:
		return "{region}"
	case p.Label == LabelZone:
		return "{zone}"
	case p.Label != "":
		return "{" + p.Label + "}"
	case p.Category != "":
		return "{tag:" + p.Category + "}"
	case p.Inventory != "":
		return "{" + string(p.Inventory) + "}"
	}
	return p.Text
}

func (p Part) isSource() bool { return p.Text == "" }

func (t Template) format(label string) string {
	var b strings.Builder
	for _, part := range t {
		if part.Own {
			part = Part{Label: label}
		}
		b.WriteString(part.String())
	}
	return b.String()
}

// UsesOwn reports whether the template uses the rule's own source.
func (t Template) UsesOwn() bool { return slices.ContainsFunc(t, func(p Part) bool { return p.Own }) }

// ParseTemplate parses a rule's value such as {region}-{zone}. A part with the rule's own label means
// the rule's own source.
func ParseTemplate(text, label string, labels []string) (Template, error) {
	var t Template
	for rest := text; rest != ""; {
		literal, tail, opened := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("has a } without a { before it: write the name of a source in braces")
		}
		if literal != "" {
			if InvalidLabelValue("a"+literal+"a") != "" {
				return nil, fmt.Errorf("contains %q, which no label value can contain: use only letters, digits, -, _ and . outside the braces", literal)
			}
			t = append(t, Part{Text: literal})
		}
		if !opened {
			break
		}
		name, behind, closed := strings.Cut(tail, "}")
		if !closed || strings.Contains(name, "{") {
			return nil, fmt.Errorf("has a { without a } after it: write the name of a source in braces")
		}
		part, err := parsePart(name, label, labels)
		if err != nil {
			return nil, err
		}
		t = append(t, part)
		rest = behind
	}
	if !slices.ContainsFunc(t, Part.isSource) {
		return nil, fmt.Errorf("names no source, so all Nodes would have the same value: add a source in braces, such as {region}")
	}
	return t, nil
}

func parsePart(name, label string, labels []string) (Part, error) {
	key := name
	switch name {
	case "region":
		key = LabelRegion
	case "zone":
		key = LabelZone
	}
	category, isTag := strings.CutPrefix(name, "tag:")
	switch {
	case key == label:
		return Part{Own: true}, nil
	case slices.Contains(labels, key):
		return Part{Label: key}, nil
	case key == LabelRegion, key == LabelZone:
		return Part{}, fmt.Errorf("uses {%s}, but that label has no source: add it under labels", name)
	case isTag && strings.TrimSpace(category) != "" && strings.TrimSpace(category) == category:
		return Part{Category: category}, nil
	case slices.Contains(Inventories(), Inventory(name)):
		return Part{Inventory: Inventory(name)}, nil
	}
	known := make([]string, len(Inventories()))
	for i, inventory := range Inventories() {
		known[i] = "{" + string(inventory) + "}"
	}
	return Part{}, fmt.Errorf("uses the unknown source {%s}: write {region}, {zone}, the label of a level in braces, {tag:CATEGORY} or one of %s",
		quote.Name(name), strings.Join(known, ", "))
}

// Cycle returns labels that form a cycle, each composed of the next, or nil.
func (p Policy) Cycle() []string {
	for _, label := range p.Labels() {
		if cycle := p.cycle([]string{label}); cycle != nil {
			return cycle
		}
	}
	return nil
}

func (p *Policy) cycle(labels []string) []string {
	rule := p.rule(labels[len(labels)-1])
	if rule == nil {
		return nil
	}
	for _, part := range rule.Value {
		switch {
		case part.Label == "":
		case part.Label == labels[0]:
			return labels
		case slices.Contains(labels, part.Label):
			// A search that starts inside this cycle finds it.
		default:
			if found := p.cycle(append(labels[:len(labels):len(labels)], part.Label)); found != nil {
				return found
			}
		}
	}
	return nil
}

type composition struct {
	*resolution
	plain            []Decision
	done, inProgress map[string]bool
}

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
	r.sortDecisions()
}

func (c *composition) label(rule *Rule) {
	if rule.Value == nil || c.done[rule.Label] {
		return
	}
	if c.inProgress[rule.Label] {
		// The configuration rejects cycles.
		return
	}
	c.inProgress[rule.Label] = true
	for _, part := range rule.Value {
		if dependency := c.policy.rule(part.Label); dependency != nil {
			c.label(dependency)
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
	reason := InvalidLabelValue(whole.Value)
	switch {
	case errors.Is(failure, ErrMissing) && !rule.Required, c.placement.WhyUndecided(rule.Label) != nil:
	case failure != nil:
		c.fail(rule, fmt.Errorf("label %s with value %q: %w", rule.Label, rule.Value.format(rule.Label), failure))
	case reason != "":
		why := invalidComposed{*rule, whole.Value, parts}
		c.conflict(ConflictInvalidValue, rule.Label, why.text, why.objects()...)
		c.fail(rule, Errorf(ErrInvalid, "%s: rename one of them, or compose the label from fewer parts", why.problem()))
	default:
		c.placement.Decisions = append(c.placement.Decisions, whole)
	}
}

func (d *Decision) take(part Part, source Decision) {
	d.Value += source.Value
	if !part.isSource() {
		return
	}
	if part.Own {
		d.Plain = source.Value
	}
	if d.By == nil || part.Own {
		d.By = source.By
	}
	d.Parts = append(d.Parts, source)
	for _, o := range source.Unread {
		d.Unread = appendUnique(d.Unread, o)
	}
}

// part returns ErrMissing if a part certainly has no value.
func (c *composition) part(rule *Rule, part Part) (Decision, error) {
	decided := func(among []Decision, label string) (Decision, error) {
		if i := slices.IndexFunc(among, func(d Decision) bool { return d.Label == label }); i >= 0 {
			return among[i], nil
		}
		if err := c.placement.WhyUndecided(label); err != nil {
			return Decision{}, err
		}
		if c.inProgress[label] && !c.done[label] {
			return Decision{}, Errorf(ErrUnknown, "its value refers to itself: correct it in the configuration")
		}
		return Decision{}, Errorf(ErrMissing, "label %s has no value: compose the value without it", label)
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

func (c *composition) decidePart(rule Rule) (Decision, error) {
	single := resolution{search: c.search}
	single.decideLevel(&rule)
	for _, o := range single.placement.SystemUnread {
		c.placement.SystemUnread = appendUnique(c.placement.SystemUnread, o)
	}
	c.placement.Conflicts = append(c.placement.Conflicts, single.placement.Conflicts...)
	if single.err != nil {
		return Decision{}, single.err
	}
	return single.placement.Decisions[0], nil
}

func (r *resolution) sortDecisions() {
	labels := r.policy.Labels()
	slices.SortStableFunc(r.placement.Decisions, func(a, b Decision) int {
		return slices.Index(labels, a.Label) - slices.Index(labels, b.Label)
	})
}

type composed struct {
	part     Part
	decision Decision
}

type invalidComposed struct {
	rule  Rule
	value string
	parts []composed
}

func (v invalidComposed) objects() []*Object {
	var objects []*Object
	for _, p := range v.parts {
		if p.decision.By != nil {
			objects = appendUnique(objects, p.decision.By)
		}
	}
	return objects
}

func (v invalidComposed) problem() string {
	var sources []string
	for _, p := range v.parts {
		if !p.part.isSource() {
			continue
		}
		part := p.part
		if part.Own {
			part = Part{Label: v.rule.Label}
		}
		sources = append(sources, fmt.Sprintf("%s from %s", part, p.decision.By))
	}
	return fmt.Sprintf("%s, which is composed as %q, cannot be the value of label %s: %s (%s)",
		quote.Value(v.value), v.rule.Value.format(v.rule.Label), v.rule.Label, InvalidLabelValue(v.value), strings.Join(sources, ", "))
}

func (v invalidComposed) text() string {
	return v.problem() + ". Rename one of them, or compose the label from fewer parts."
}
