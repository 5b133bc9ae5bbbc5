package topology

import (
	"fmt"
	"slices"
	"strings"
)

// compare notes conflicts where the operator may expect, or the CSI driver find, another
// value.
func (r *resolution) compare(v choice, traces []trace) {
	if v.path.Kind != ComputePath {
		r.compareWithDriver()
	}
	if v.truncated || r.invisible(false) != "" {
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
			nearest: r.policy.Precedence == PrecedenceNearest, compute: v.path.Kind == ComputePath && v.skipped.none(), trace: *t,
		}
		switch {
		case t.dependsOnTagOrder() && d.compute:
			r.conflict(ConflictTagOrder, rule.Label, d.tagOrder, d.objects()...)
		case t.near.differs(t.far):
			r.conflict(ConflictPrecedence, rule.Label, d.precedences, t.near.by, t.far.by)
		}
	}
}

func (r *resolution) conflict(kind ConflictKind, label string, why func() string, objects ...*Object) {
	r.placement.Conflicts = append(r.placement.Conflicts,
		Conflict{Kind: kind, Labels: []string{label}, Objects: objects, why: why})
}

// noteUnread notes the objects that count as untagged in what was decided.
func (r *resolution) noteUnread() {
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
		labels, objects := c.Labels, c.Objects
		c.why = func() string {
			what := "it counts"
			if len(objects) > 1 {
				what = "they count"
			}
			return fmt.Sprintf("In vCenter %q the account lacks the privilege System.Read on %s, so %s as untagged for label %s. "+
				"Running Nodes keep these labels as they are. Give the account the role Read-only there, without propagation.",
				objects[0].Ref.VCenter, Named(objects), what, strings.Join(labels, ", "))
		}
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

// compareWithDriver compares what was decided off the compute path with what the
// CSI driver finds on it. Where that cannot be read there is no conflict. System folders
// count as untagged.
func (r *resolution) compareWithDriver() {
	rules := r.policy.Rules
	p := r.path(ComputePath)
	var few [4]trace
	traces := append(few[:0], make([]trace, len(rules))...)
	if got := r.walk(p, traces); got.truncated() || len(got.skipped.objects) > 0 || r.invisible(false) != "" {
		return
	}
	c := Conflict{Kind: ConflictOffPath}
	var why offPath
	for i := range rules {
		d, decided := r.placement.decision(rules[i].Label)
		h := traces[i].far
		if !decided || d.Category == "" || h.by != nil && !h.several && !traces[i].dependsOnTagOrder() && h.name == d.Value {
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
		c.why = why.text
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}
