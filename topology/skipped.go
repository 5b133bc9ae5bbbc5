package topology

import (
	"fmt"
	"slices"

	"vzones/internal/quote"
)

// skipped are objects that were passed over because the account may not read their
// tags. They count as untagged.
type skipped struct {
	// objects may well have tags.
	objects []*Object
	// system are folders that vSphere makes and that are rarely tagged:
	// the root folder, and those right below a datacenter. Roles that do not
	// propagate leave them out.
	system []*Object
}

func (p skipped) none() bool { return len(p.objects)+len(p.system) == 0 }

// all returns all of them.
func (p skipped) all() []*Object { return slices.Concat(p.objects, p.system) }

// note adds the i-th object of a path.
func (p *skipped) note(path *Path, i int) {
	o := path.Objects[i]
	if IsSystemFolder(path, i) {
		p.system = with(p.system, o)
	} else {
		p.objects = with(p.objects, o)
	}
}

// add adds those of another path.
func (p *skipped) add(more skipped) {
	for _, o := range more.objects {
		p.objects = with(p.objects, o)
	}
	for _, o := range more.system {
		p.system = with(p.system, o)
	}
}

// with returns the objects and o, each once. What was returned before is not
// changed.
func with(objects []*Object, o *Object) []*Object {
	if slices.ContainsFunc(objects, func(known *Object) bool { return known.Ref == o.Ref }) {
		return objects
	}
	return append(objects[:len(objects):len(objects)], o)
}

// IsSystemFolder reports whether the i-th object of a path is the root folder, or a
// folder right below a datacenter: vm or host, which users do not see. vSphere makes these, and hardly
// anybody tags them.
func IsSystemFolder(p *Path, i int) bool {
	if p.Objects[i].Ref.Type != typeFolder {
		return false
	}
	if i == len(p.Objects)-1 {
		return p.Broken == nil
	}
	return p.Objects[i+1].Ref.Type == typeDatacenter
}

// notPermitted returns the error that categories were not seen where tags may be read.
func notPermitted(categories []string, over skipped) error {
	return Errorf(Kinds{ErrUnknown, ErrNotPermitted}, "no tag of category %s where the account may read tags; in vCenter %q it lacks the privilege System.Read on %s: "+
		"attach one where it may read, or give it the role Read-only there, without propagation", quoted(categories), over.all()[0].Ref.VCenter, Named(over.all()))
}

// Uncertainty returns why the decision is not certain, nil if it is. Objects whose tags
// the account may not read might have decided otherwise.
func (d Decision) Uncertainty() error {
	if len(d.Unread) == 0 {
		return nil
	}
	return Errorf(ErrUnknown, "another tag may decide; in vCenter %q the account lacks the privilege System.Read on %s: "+
		"give it the role Read-only there, without propagation", d.Unread[0].Ref.VCenter, firstOf(d.Unread, 2))
}

// Named names objects of one vCenter for a person, the first of them if there are many.
func Named(objects []*Object) string { return firstOf(objects, mostNamed) }

func firstOf(objects []*Object, most int) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.inVCenter()
	}
	return quote.Some(names, most)
}

// isInvisible reports whether the machine's vCenter does not show a category.
func (r *resolution) isInvisible(category string) bool {
	return len(r.policy.Invisible) > 0 && category != "" && slices.Contains(r.policy.Invisible, category)
}

// invisible returns the category of the first rule whose category is not shown, of
// the required ones or of all. It is empty if there is none.
func (r *resolution) invisible(requiredOnly bool) string {
	if len(r.policy.Invisible) == 0 {
		return ""
	}
	for i := range r.policy.Rules {
		rule := &r.policy.Rules[i]
		if r.isInvisible(rule.Category) && (rule.Required || !requiredOnly) {
			return rule.Category
		}
	}
	return ""
}

// noCategory returns the error that the machine's vCenter does not show a category.
func (r *resolution) noCategory(category string) error {
	where := "the vCenter"
	for i := range r.paths {
		if above := r.paths[i].Objects; len(above) > 0 {
			where = fmt.Sprintf("vCenter %q", above[0].Ref.VCenter)
			break
		}
	}
	return unseenCategory{where, category, meant(category, r.policy.Visible)}
}

// unseenCategory is ErrUnknown and ErrNoCategory.
type unseenCategory struct{ where, category, meant string }

func (u unseenCategory) Error() string {
	return fmt.Sprintf("%s has no tag category %q that the account can see%s: correct its name in the configuration, make the category there, "+
		"or give the account the role Read-only in the global permissions", u.where, u.category, u.meant)
}

func (unseenCategory) Is(target error) bool { return target == ErrUnknown || target == ErrNoCategory }
