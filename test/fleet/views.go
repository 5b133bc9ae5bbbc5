package fleet

import (
	"bytes"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// watchedViews are the filters over views. The simulator's container views do not notice that
// an object moves out of what they contain or into it. Its filters know of no object that has
// left them but those that are deleted, and forget these too if the view that they are over is
// modified between the same two polls, as by a machine that is created. So what leaves a view
// is put into the answers to long polls here.
type watchedViews struct {
	mu  sync.Mutex
	all []*watchedView
}

// A watchedView is a view that a filter of a property collector is over: either of a container
// or a list.
type watchedView struct {
	view              *simulator.ContainerView
	list              *simulator.ListView
	collector, filter types.ManagedObjectReference
	// left are the objects that have left the view; those that map to true are
	// still to be reported.
	left map[types.ManagedObjectReference]bool
}

// watches notes the views that a new filter is over.
func (v *VCenter) watches(ctx *simulator.Context, m *simulator.Method) {
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
		v.watchedViews.all = append(v.watchedViews.all, w)
	}
}

// filters notes which filter was made for what watches has just noted.
func (v *VCenter) filters(res *response) {
	var body methods.CreateFilterBody
	if err := open(res, &body); err != nil || body.Res == nil {
		return
	}
	v.watchedViews.mu.Lock()
	defer v.watchedViews.mu.Unlock()
	for _, w := range v.watchedViews.all {
		if w.filter.Value == "" {
			w.filter = body.Res.Returnval
		}
	}
}

// wakeForFilters makes long polls report what a new filter selects, as a vCenter does: one
// that is in flight returns. The simulator's wait for a change of any object.
func (v *VCenter) wakeForFilters() {
	root := v.registry().Get(vpx.ServiceContent.RootFolder)
	v.registry().Update(v.sim.Context, root, nil)
}

// moved puts a machine that has moved into the views that contain it now, and
// takes it out of those that do not, as vCenter does.
func (b *inventory) moved(vm *mo.VirtualMachine) {
	all := &b.v.watchedViews
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range all.all {
		if w.view == nil {
			continue
		}
		has := b.contains(w.view.Container, vm)
		was := slices.Contains(w.view.View, vm.Self)
		switch {
		case !slices.Contains(w.view.Type, vm.Self.Type):
		case has && !was:
			delete(w.left, vm.Self)
			w.view.PutObject(b.ctx, vm)
		case was && !has:
			w.left[vm.Self] = true
			w.view.RemoveObject(b.ctx, vm.Self)
		}
	}
	b.v.wake.notify()
}

// destroyed takes a machine out of the views that have it.
func (v *watchedViews) destroyed(vm types.ManagedObjectReference) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.all {
		if w.list != nil && slices.Contains(w.list.View, vm) || w.view != nil && slices.Contains(w.view.View, vm) {
			w.left[vm] = true
		}
	}
}

// contains reports whether an object is somewhere below another one.
func (b *inventory) contains(above types.ManagedObjectReference, e mo.Entity) bool {
	for e.Reference() != above {
		if e = b.parentOf(e); e == nil {
			return false
		}
	}
	return true
}

// reportLeft returns the answer to a long poll with what has left a view, and
// without what the simulator still says of that.
func (v *watchedViews) reportLeft(collector types.ManagedObjectReference, res *response) *response {
	v.mu.Lock()
	defer v.mu.Unlock()
	var body methods.WaitForUpdatesExBody
	for _, w := range v.all {
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

// order puts what filters over views say into the order in which they were made,
// before what others say, as the simulator does.
func (v *watchedViews) order(set []types.PropertyFilterUpdate) {
	place := func(f types.PropertyFilterUpdate) int {
		if i := slices.IndexFunc(v.all, func(w *watchedView) bool { return w.filter == f.Filter }); i >= 0 {
			return i
		}
		return len(v.all)
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

// open reads the body of a SOAP answer.
func open(res *response, body any) error {
	dec := xml.NewDecoder(bytes.NewReader(res.body))
	dec.TypeFunc = types.TypeFunc()
	return dec.Decode(&soap.Envelope{Body: body})
}
