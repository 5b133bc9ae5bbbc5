package fleet

import (
	"bytes"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// watchedViews are the views with property filters. The simulator's container views ignore moves
// into and out of their container. Its filters report only deleted objects as having left, and
// lose these reports if the view is modified between the same two polls, for example by the
// creation of a VM. Therefore this type adds objects that left a view to the responses of long
// polls.
type watchedViews struct {
	mu    sync.Mutex
	views []*watchedView
}

// A watchedView is a container view or list view with a property filter.
type watchedView struct {
	view              *simulator.ContainerView
	list              *simulator.ListView
	collector, filter types.ManagedObjectReference
	// left are the objects that left the view; true means not yet reported.
	left map[types.ManagedObjectReference]bool
}

// recordViews records the views of a new filter.
func (v *VCenter) recordViews(ctx *simulator.Context, m *simulator.Method) {
	req, ok := m.Body.(*types.CreateFilter)
	if !ok || ctx.Session == nil {
		return
	}
	v.watchedViews.mu.Lock()
	defer v.watchedViews.mu.Unlock()
	for _, o := range req.Spec.ObjectSet {
		w := &watchedView{collector: m.This, left: map[types.ManagedObjectReference]bool{}}
		switch view := ctx.Session.Get(o.Obj).(type) {
		case *simulator.ContainerView:
			w.view = view
		case *simulator.ListView:
			w.list = view
		default:
			continue
		}
		v.watchedViews.views = append(v.watchedViews.views, w)
	}
}

// recordFilter records the ID of the filter whose views were recorded by recordViews.
func (v *VCenter) recordFilter(res *response) {
	var body methods.CreateFilterBody
	if err := open(res, &body); err != nil || body.Res == nil {
		return
	}
	v.watchedViews.mu.Lock()
	defer v.watchedViews.mu.Unlock()
	for _, w := range v.watchedViews.views {
		if w.filter.Value == "" {
			w.filter = body.Res.Returnval
		}
	}
}

// wakeForFilters makes long polls in flight return the objects of a new filter, as in vCenter. The
// simulator's long polls wait for a change of an object.
func (v *VCenter) wakeForFilters() {
	root := v.registry().Get(v.rootFolder())
	v.registry().Update(v.sim.Context, root, nil)
}

// updateViews updates the contents of all container views after a VM has moved, as vCenter does.
func (b *inventory) updateViews(vm *mo.VirtualMachine) {
	watched := &b.v.watchedViews
	watched.mu.Lock()
	defer watched.mu.Unlock()
	for _, w := range watched.views {
		if w.view == nil {
			continue
		}
		isInside := b.contains(w.view.Container, vm)
		wasInside := slices.Contains(w.view.View, vm.Self)
		switch {
		case !slices.Contains(w.view.Type, vm.Self.Type):
		case isInside && !wasInside:
			delete(w.left, vm.Self)
			w.view.PutObject(b.ctx, vm)
		case wasInside && !isInside:
			w.left[vm.Self] = true
			w.view.RemoveObject(b.ctx, vm.Self)
		}
	}
	b.v.wake.notify()
}

// recordDestroyed records a VM as having left the views that contain it.
func (v *watchedViews) recordDestroyed(vm types.ManagedObjectReference) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.views {
		if w.list != nil && slices.Contains(w.list.View, vm) || w.view != nil && slices.Contains(w.view.View, vm) {
			w.left[vm] = true
		}
	}
}

func (b *inventory) contains(above types.ManagedObjectReference, e mo.Entity) bool {
	for e.Reference() != above {
		if e = b.parentOf(e); e == nil {
			return false
		}
	}
	return true
}

// reportLeft adds the objects that left a view to the response of a long poll, and removes the
// simulator's reports about them.
func (v *watchedViews) reportLeft(collector types.ManagedObjectReference, res *response) *response {
	v.mu.Lock()
	defer v.mu.Unlock()
	var body methods.WaitForUpdatesExBody
	for _, w := range v.views {
		if w.collector != collector || len(w.left) == 0 {
			continue
		}
		if body.Res == nil {
			if err := open(res, &body); err != nil || body.Res == nil {
				return res // a fault
			}
		}
		if body.Res.Returnval == nil {
			body.Res.Returnval = &types.UpdateSet{Version: "L"}
		}
		w.amend(body.Res.Returnval)
	}
	if body.Res == nil {
		return res
	}
	if len(body.Res.Returnval.FilterSet) == 0 {
		body.Res.Returnval = nil
	} else {
		v.order(body.Res.Returnval.FilterSet)
	}
	return &response{res.status, res.header, encode("", &body)}
}

// order sorts the updates of filters over views by creation, before all other updates, like the
// simulator.
func (v *watchedViews) order(set []types.PropertyFilterUpdate) {
	place := func(f types.PropertyFilterUpdate) int {
		if i := slices.IndexFunc(v.views, func(w *watchedView) bool { return w.filter == f.Filter }); i >= 0 {
			return i
		}
		return len(v.views)
	}
	slices.SortStableFunc(set, func(x, y types.PropertyFilterUpdate) int { return place(x) - place(y) })
}

func (w *watchedView) amend(set *types.UpdateSet) {
	for i := range set.FilterSet {
		if f := &set.FilterSet[i]; f.Filter == w.filter {
			f.ObjectSet = slices.DeleteFunc(f.ObjectSet, func(u types.ObjectUpdate) bool { _, left := w.left[u.Obj]; return left })
		}
	}
	set.FilterSet = slices.DeleteFunc(set.FilterSet, func(f types.PropertyFilterUpdate) bool { return len(f.ObjectSet) == 0 })
	for ref, unreported := range w.left {
		if unreported {
			w.left[ref] = false
			leave := types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref}
			set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: w.filter, ObjectSet: []types.ObjectUpdate{leave}})
		}
	}
}

func open(res *response, body any) error {
	dec := xml.NewDecoder(bytes.NewReader(res.body))
	dec.TypeFunc = types.TypeFunc()
	return dec.Decode(&soap.Envelope{Body: body})
}
