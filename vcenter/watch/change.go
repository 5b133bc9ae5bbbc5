package watch

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/watch/model"
)

// A change is what the vCenter reports at a time, in one page or several. While it is
// partial the model may show a machine half moved. The zero value is that nothing is
// partial.
type change struct {
	// partial reports whether further pages are to come.
	partial bool
	// datacenters reports whether a page so far is about datacenters.
	datacenters bool
}

// begin notes a new page, nil for one that says that nothing has changed.
func (c *change) begin(page *types.UpdateSet) {
	c.partial = isPartial(page)
}

// endsWithDatacenters reports whether the change is there with all its pages and one of
// them was about datacenters.
func (c *change) endsWithDatacenters() bool {
	if c.partial || !c.datacenters {
		return false
	}
	c.datacenters = false
	return true
}

// apply applies a page of a change, which may be nil, and reports whether there is
// anything in it but names of machines.
func (w *Watch) apply(page *types.UpdateSet) (relevant bool, err error) {
	w.change.begin(page)
	if page == nil {
		return false, nil
	}
	for i := range page.FilterSet {
		f := &page.FilterSet[i]
		if err := w.vanished(f); err != nil {
			return false, err
		}
		ofNames := w.names.reports(f.Filter)
		for i := range f.ObjectSet {
			u := &f.ObjectSet[i]
			if err := faults.InProperties(u.MissingSet); err != nil {
				return false, err
			}
			if w.refusesGroups(u) {
				return false, Restart{GroupsRefused}
			}
			unsetMissing(u)
			relevant = relevant || !ofNames
			w.applyObject(f.Filter, u, ofNames)
		}
	}
	if !w.change.partial {
		w.names.received()
	}
	if w.change.endsWithDatacenters() && w.datacenters.changed() {
		return false, Restart{DatacentersChanged}
	}
	return relevant, nil
}

// applyObject applies a change of one object, as a filter reports it.
func (w *Watch) applyObject(filter types.ManagedObjectReference, u *types.ObjectUpdate, ofNames bool) {
	switch {
	case w.views.index[filter]:
		w.model.ApplyIndex(filter.Value, u)
		delete(w.details.missing, u.Obj.Value)
	case ofNames:
		w.names.apply(filter, u)
	case w.views.details[filter]:
		w.model.Tree.Apply(u)
		w.details.unreported.remove(u.Obj.Value)
	case w.views.datacenters[filter]:
		w.datacenters.tree.Apply(u)
		w.change.datacenters = true
	}
}

// vanished returns a SessionLostError where a filter does not find what was created through
// the session for it, or the session may not read it.
func (w *Watch) vanished(f *types.PropertyFilterUpdate) error {
	for _, m := range f.MissingSet {
		if err := faults.InAnswer(&m.Fault); err != nil {
			return err
		}
		if w.session.Created(m.Obj) {
			return &faults.SessionLostError{Err: fmt.Errorf("a %s, which the session has made, is not there", m.Obj.Type)}
		}
	}
	return nil
}

// refusesGroups reports whether a change says that the vCenter does not take the path of
// host groups, as far as that was not known.
func (w *Watch) refusesGroups(u *types.ObjectUpdate) bool {
	refused := slices.ContainsFunc(u.MissingSet, func(m types.MissingProperty) bool {
		_, invalid := m.Fault.Fault.(*types.InvalidProperty)
		return invalid && m.Path == model.ClusterGroups
	})
	if !refused || w.hosts.Access != model.ByGroups {
		return false
	}
	w.hosts.Access = model.ByConfiguration
	return true
}

// unsetMissing has a change of an object unset what is missing in it, since the values cannot
// be read any more.
func unsetMissing(u *types.ObjectUpdate) {
	for _, m := range u.MissingSet {
		if !model.IsHostFact(m.Path) { // of which it matters why
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: m.Path, Op: types.PropertyChangeOpRemove})
		}
	}
}
