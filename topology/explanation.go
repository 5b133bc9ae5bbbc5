package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/topology/quote"
)

// A disagreement is about a category that several levels of one path have.
type disagreement struct {
	// subject is what the tag decides, a label or a part of its value.
	subject, category string
	// nearest says that the nearest tag decides, compute that the path is the one
	// that the CSI driver reads.
	nearest, compute bool
	trace            trace
}

func (d disagreement) objects() []*Object {
	var objects []*Object
	for _, h := range []hit{d.trace.near, d.trace.before, d.trace.far} {
		if h.by != nil && !slices.Contains(objects, h.by) {
			objects = append(objects, h.by)
		}
	}
	return objects
}

// levels returns a text with the tags that the objects have.
func (d disagreement) levels(objects ...*Object) string {
	has := make([]string, len(objects))
	for i, o := range objects {
		has[i] = fmt.Sprintf("%s on %s", quoted(o.tagNames(d.category)), o.inVCenter())
	}
	return fmt.Sprintf("Category %q has tags on several levels of vCenter %q: %s.", d.category, objects[0].Ref.VCenter, strings.Join(has, ", "))
}

// either returns what a walk may take of an object.
func (d disagreement) either(h hit) string {
	return joined(h.by.tagNames(d.category), " or ")
}

const detachOthers = "Keep the tags of one level, and detach the others."

// sentence begins with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

type precedences struct{ disagreement }

func (p precedences) text() string {
	t := &p.trace
	decided := fmt.Sprintf("%s is %s (precedence csi; nearest: %s).", sentence(p.subject), quote.Value(t.far.name), p.either(t.near))
	if p.nearest {
		decided = fmt.Sprintf("%s is %s (precedence nearest; csi: %s).", sentence(p.subject), quote.Value(t.near.name), p.either(t.far))
	}
	if p.compute {
		decided += fmt.Sprintf(" The CSI driver takes %s.", p.either(t.far))
	}
	return p.levels(t.near.by, t.far.by) + " " + decided + " " + detachOthers
}

type tagOrder struct{ disagreement }

func (o tagOrder) text() string {
	t := &o.trace
	value := t.far.name
	if o.nearest {
		value = t.near.name
	}
	return fmt.Sprintf("%s The CSI driver takes %s or %s, by the order in which vCenter lists the tags of %s. %s is %s. %s",
		o.levels(o.objects()...), o.either(t.before), o.either(t.far), t.far.by.inVCenter(), sentence(o.subject), quote.Value(value), detachOthers)
}

// offPath are the values that the CSI driver does not find.
type offPath []unseen

type unseen struct {
	decision Decision
	subject  string
	// driver is the object whose tag the CSI driver takes instead, nil if it finds
	// none.
	driver *Object
}

func (all offPath) text() string {
	var gets, missing, sees []string
	for i, u := range all {
		d := u.decision
		get := fmt.Sprintf("%s is %s", u.subject, quote.Value(d.Value))
		if i == len(all)-1 || all[i+1].decision.By != d.By {
			get += fmt.Sprintf(" by %s", d.By)
		}
		gets = append(gets, get)
		if u.driver == nil {
			missing = append(missing, d.Category)
		} else {
			sees = append(sees, fmt.Sprintf("%s of category %q on %s", quoted(u.driver.tagNames(d.Category)), d.Category, u.driver))
		}
	}
	finds := "finds " + strings.Join(sees, " and ")
	if len(missing) > 0 {
		finds = "finds no tag of category " + quoted(missing) + ", gives the Node no topology"
	}
	return fmt.Sprintf("%s. The CSI driver reads the compute path only: it %s, and places no volume. "+
		"Move the tags to the host, its cluster or its datacenter.", sentence(strings.Join(gets, ", ")), finds)
}

type twoTags struct {
	rule Rule
	by   *Object
}

func (t twoTags) text() string {
	names := t.by.tagNames(t.rule.Category)
	return fmt.Sprintf("%s has %d tags of category %q: %s. Label %s takes one: detach the others.",
		sentence(t.by.String()), len(names), t.rule.Category, quoted(names), t.rule.Label)
}

type invalidTag struct {
	rule Rule
	hit  hit
}

func (t invalidTag) text() string {
	return fmt.Sprintf("Tag %s of category %q on %s cannot be the value of label %s: %s. Rename the tag.",
		quote.Value(t.hit.name), t.rule.Category, t.hit.by, t.rule.Label, InvalidLabelValue(t.hit.name))
}

type invalidName struct {
	rule Rule
	by   *Object
	name string
}

func (n invalidName) text() string {
	where, what := n.by.String(), "Rename it"
	if n.rule.Inventory == InventoryVCenter {
		where, what = "the vCenter's entry in the configuration", "Rename the entry"
	}
	return fmt.Sprintf("The name %s of %s cannot be the value of label %s: %s. %s, or take the label from a tag.",
		quote.Value(n.name), where, n.rule.Label, InvalidLabelValue(n.name), what)
}

// countsAsUntagged are objects whose tags the account may not read.
type countsAsUntagged struct {
	labels  []string
	objects []*Object
}

func (c countsAsUntagged) text() string {
	what := "it counts"
	if len(c.objects) > 1 {
		what = "they count"
	}
	return fmt.Sprintf("In vCenter %q the account lacks the privilege System.Read on %s, so %s as untagged for label %s. "+
		"Running Nodes keep these labels as they are. Give the account the role Read-only there, without propagation.",
		c.objects[0].Ref.VCenter, Named(c.objects), what, strings.Join(c.labels, ", "))
}

// subject returns what a tag decides, for a text.
func (r *Rule) subject() string {
	if r.Value != nil {
		return "the tag for label " + r.Label
	}
	return "label " + r.Label
}
