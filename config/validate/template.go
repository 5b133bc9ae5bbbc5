package validate

import (
	"slices"
	"strings"

	"vzones/config/schema"
	"vzones/topology"
)

// template checks what a label's value is composed of. It returns nothing for a rule
// without such a value.
func (c *checker) template(s *schema.File, r *schema.Rule, label string) topology.Template {
	if !r.Value.Usable() {
		return nil
	}
	template, err := topology.ParseTemplate(r.Value.V, label, composable(s))
	source := len(r.Sources()) > 0
	switch {
	case err != nil && r.Value.Hidden:
		c.Errorf(r.Value.At, "is not made of text and names of sources in braces, such as {region}: write it so")
		r.Value.Bad = true
	case err != nil:
		c.Errorf(r.Value.At, "%v", err)
		r.Value.Bad = true
	case template.UsesOwn() && !source:
		c.Errorf(r.Value.At, "names its own label in braces, and there is no tag, inventory or hostGroup beside it: write one of them, or name another source")
		r.Value.Bad = true
	case source && !template.UsesOwn():
		c.Errorf(r.Value.At, "does not name its own label in braces, so that the source beside it is not used: name it, or remove the source")
		r.Value.Bad = true
	}
	return template
}

// composable returns the labels that a value can be composed of.
func composable(s *schema.File) []string {
	var labels []string
	if s.Region.At.Line != 0 {
		labels = append(labels, topology.LabelRegion)
	}
	if s.Zone.At.Line != 0 {
		labels = append(labels, topology.LabelZone)
	}
	for _, l := range s.Topology.Levels {
		if l.Label.Usable() {
			labels = append(labels, l.Label.V)
		}
	}
	return labels
}

// cycle refuses labels that are composed of each other.
func (c *checker) cycle(s *schema.File, policy topology.Policy) {
	labels := policy.Cycle()
	if labels == nil {
		return
	}
	at := s.Region.Value.At
	if labels[0] == topology.LabelZone {
		at = s.Zone.Value.At
	}
	if i := slices.IndexFunc(s.Topology.Levels, func(l *schema.Level) bool { return l.Label.V == labels[0] }); i >= 0 {
		at = s.Topology.Levels[i].Value.At
	}
	c.Errorf(at, "is composed of itself: %s: remove one of them from the value that names it", strings.Join(append(labels, labels[0]), ", of "))
}

// withoutEffect warns of settings that no rule needs.
func (c *checker) withoutEffect(t *schema.Placement, policy topology.Policy) {
	together := 0
	for _, r := range policy.Rules {
		if r.Category != "" {
			together++
		}
	}
	if t.Precedence.Usable() && together < 2 {
		c.Warnf(t.Precedence.At, "has no effect unless region and zone are both from tags")
	}
	if t.Paths.Usable() && len(policy.Categories()) == 0 {
		c.Warnf(t.Paths.At, "has no effect: no label is from a tag")
	}
}
