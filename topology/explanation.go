package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
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

func (d disagreement) precedences() string {
	t := &d.trace
	decided := fmt.Sprintf("%s is %s (precedence csi; nearest: %s).", sentence(d.subject), quote.Value(t.far.name), d.either(t.near))
	if d.nearest {
		decided = fmt.Sprintf("%s is %s (precedence nearest; csi: %s).", sentence(d.subject), quote.Value(t.near.name), d.either(t.far))
	}
	if d.compute {
		decided += fmt.Sprintf(" The CSI driver takes %s.", d.either(t.far))
	}
	return d.levels(t.near.by, t.far.by) + " " + decided + " " + detachOthers
}

func (d disagreement) tagOrder() string {
	t := &d.trace
	value := t.far.name
	if d.nearest {
		value = t.near.name
	}
	return fmt.Sprintf("%s The CSI driver takes %s or %s, by the order in which vCenter lists the tags of %s. %s is %s. %s",
		d.levels(d.objects()...), d.either(t.before), d.either(t.far), t.far.by.inVCenter(), sentence(d.subject), quote.Value(value), detachOthers)
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

// subject returns what a tag decides, for a text.
func (r *Rule) subject() string {
	if r.Value != nil {
		return "the tag for label " + r.Label
	}
	return "label " + r.Label
}
