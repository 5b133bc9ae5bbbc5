package config

import (
	"slices"
	"strings"

	"vzones/topology"
)

// template checks what a label's value is composed of. It returns nothing for a rule
// without such a value.
func (c *checker) template(s *schema, r *rule, label string) topology.Template {
	if !r.value.usable() {
		return nil
	}
	template, err := topology.ParseTemplate(r.value.v, label, s.composable())
	source := len(r.sources()) > 0
	switch {
	case err != nil && r.value.mute:
		c.errorf(r.value.at, "is not made of text and names of sources in braces, such as {region}: write it so")
		r.value.bad = true
	case err != nil:
		c.errorf(r.value.at, "%v", err)
		r.value.bad = true
	case template.UsesOwn() && !source:
		c.errorf(r.value.at, "names its own label in braces, and there is no tag, inventory or hostGroup beside it: write one of them, or name another source")
		r.value.bad = true
	case source && !template.UsesOwn():
		c.errorf(r.value.at, "does not name its own label in braces, so that the source beside it is not used: name it, or remove the source")
		r.value.bad = true
	}
	return template
}

// composable returns the labels that a value can be composed of.
func (s *schema) composable() []string {
	var labels []string
	if s.region.at.line != 0 {
		labels = append(labels, topology.LabelRegion)
	}
	if s.zone.at.line != 0 {
		labels = append(labels, topology.LabelZone)
	}
	for _, l := range s.topology.levels {
		if l.label.usable() {
			labels = append(labels, l.label.v)
		}
	}
	return labels
}

// cycle refuses labels that are composed of each other.
func (c *checker) cycle(s *schema, policy topology.Policy) {
	labels := policy.Cycle()
	if labels == nil {
		return
	}
	at := s.region.value.at
	if labels[0] == topology.LabelZone {
		at = s.zone.value.at
	}
	if i := slices.IndexFunc(s.topology.levels, func(l *level) bool { return l.label.v == labels[0] }); i >= 0 {
		at = s.topology.levels[i].value.at
	}
	c.errorf(at, "is composed of itself: %s: take one of them out of the value of the one before it", strings.Join(append(labels, labels[0]), ", of "))
}

// idle tells of settings that no rule needs.
func (c *checker) idle(t *placement, policy topology.Policy) {
	together := 0
	for _, r := range policy.Rules {
		if r.Category != "" {
			together++
		}
	}
	if t.precedence.usable() && together < 2 {
		c.warnf(t.precedence.at, "has no effect unless region and zone are both from tags")
	}
	if t.paths.usable() && len(policy.Categories()) == 0 {
		c.warnf(t.paths.at, "has no effect: no label is from a tag")
	}
}
