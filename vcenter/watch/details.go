package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// refusedFor is how long a machine that no list view may have is not tried again.
const refusedFor = 5 * time.Minute

// readAtOnce bounds how many machines are read at once when they come onto the list. The filter
// reports the details of each in any case, so that what is read is transferred twice. A Node
// that joins is not kept waiting for the filter; of many, the transfer takes longer than that.
const readAtOnce = 50

// A detailList is the list of the machines whose details are read and watched. It belongs
// to the goroutine of the model.
type detailList struct {
	list  *listView
	hosts *model.HostFacts
	model *model.Model

	// listed are the machines on the list, missing those that the vCenter says it does
	// not have.
	listed  map[string]bool
	missing map[string]bool
	// onlyRecorded are machines that are on the list only since Nodes name them.
	onlyRecorded map[string]bool
	// refused are the machines that no list view may have, and since when.
	refused    map[string]time.Time
	disputes   disputes
	unreported unreported
	// postponed is when machines are put on the list that were not for lack of time.
	postponed <-chan time.Time
	// overdue is when those are read that the filter should have reported by then.
	overdue <-chan time.Time
}

func newDetailList(list *listView, hosts *model.HostFacts, m *model.Model, disputed map[string]bool) *detailList {
	return &detailList{
		list: list, hosts: hosts, model: m,
		listed: map[string]bool{}, missing: map[string]bool{}, onlyRecorded: map[string]bool{}, refused: map[string]time.Time{},
		disputes: disputes{before: disputed},
	}
}

// answered reports whether the vCenter has said whether it has a machine that a Node names.
func (d *detailList) answered(id string) bool {
	return d.listed[id] || d.missing[id] || !d.refused[id].IsZero()
}

// waitsFor reports whether the details of a machine are still to come.
func (d *detailList) waitsFor(id string) bool {
	return !d.model.HasDetails(id) && !d.missing[id] && d.refused[id].IsZero()
}

// outside are machines that are or may be in the vCenter and are in none of the configured
// datacenters, in order.
type outside struct {
	// left are those followed that have left the index and are still reported.
	left []string
	// recorded are those that Nodes name. They count for the Nodes that name them only.
	recorded []string
}

// outside returns these machines, by which UUIDs are followed and what Nodes name.
func (d *detailList) outside(uuids map[inventory.UUID]bool, recorded map[string][]inventory.UUID) outside {
	var out outside
	for id := range recorded {
		if !d.model.Has(id) && !d.missing[id] && d.refused[id].IsZero() {
			out.recorded = append(out.recorded, id)
		}
	}
	for id := range d.listed {
		if !d.model.Has(id) && !d.onlyRecorded[id] && uuids[d.model.UUID(id)] {
			out.left = append(out.left, id)
		}
	}
	slices.Sort(out.recorded)
	slices.Sort(out.left)
	return out
}

// forget forgets what became of machines that are not in the index, and that no Node names
// any more.
func (d *detailList) forget(recorded map[string][]inventory.UUID) {
	unnamed := func(id string) bool {
		_, named := recorded[id]
		return !d.model.Has(id) && !named && !d.listed[id]
	}
	maps.DeleteFunc(d.missing, func(id string, _ bool) bool { return unnamed(id) })
	maps.DeleteFunc(d.refused, func(id string, _ time.Time) bool { return unnamed(id) })
	maps.DeleteFunc(d.onlyRecorded, func(id string, _ bool) bool { return !d.listed[id] })
}

// refuse has a machine not be followed for a while.
func (d *detailList) refuse(ctx context.Context, id string) {
	delete(d.missing, id)
	if d.refused[id].IsZero() {
		klog.FromContext(ctx).Info("The vCenter does not let a machine be followed, though it is listed; its Node waits. Does the account have System.View and System.Read on it?", "moid", id)
	}
	d.refused[id] = time.Now()
}

// set makes the list hold exactly these machines, but for those that the vCenter does not
// have or does not let us follow, and reports whether it was changed. Those that nothing but
// Nodes names are put on it on their own, so that what is wrong with them does not concern
// others. They are read at once, and so are the others unless the first snapshot waits for the
// filter, or there are many after it: those are read if the filter has not reported them after a
// while.
func (d *detailList) set(ctx context.Context, ids, recorded []string, p *progress) (changed bool, err error) {
	var add, named, remove []types.ManagedObjectReference
	now := make(map[string]bool, len(ids)+len(recorded))
	for _, id := range ids {
		delete(d.onlyRecorded, id)
		if since := d.refused[id]; d.missing[id] || !since.IsZero() && time.Since(since) < refusedFor {
			continue
		}
		now[id] = true
		if !d.listed[id] {
			add = append(add, model.MachineRef(id))
		}
	}
	for _, id := range recorded {
		if !now[id] && !d.listed[id] {
			named = append(named, model.MachineRef(id))
		}
		now[id] = true
	}
	for id := range d.listed {
		if !now[id] {
			remove = append(remove, model.MachineRef(id))
			d.unreported.remove(id) // it does not matter any more
			d.model.Tree.Remove(model.MachineRef(id))
		}
	}
	if len(add) == 0 && len(remove) == 0 && len(named) == 0 {
		return false, nil
	}
	if err := d.change(ctx, now, add, remove, p); err != nil {
		return false, fmt.Errorf("following %d machines: %w", len(ids), err)
	}
	if err := d.try(ctx, now, named); err != nil {
		return false, fmt.Errorf("following %d machines that Nodes name: %w", len(named), err)
	}
	klog.FromContext(ctx).V(2).Info("Following machines", "machines", len(ids), "added", len(add), "named", len(named), "removed", len(remove))
	d.listed = now
	return true, nil
}

// change puts machines on the list and takes others off it, and leaves in now what is on
// it.
func (d *detailList) change(ctx context.Context, now map[string]bool, add, remove []types.ManagedObjectReference, p *progress) error {
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	not, err := d.list.modify(ctx, add, remove)
	if err != nil {
		return err
	}
	for _, ref := range not.unresolved {
		id := ref.Value
		delete(now, id)
		if !d.refused[id].IsZero() {
			d.refuse(ctx, id)
			continue
		}
		d.missing[id] = true
		d.disputes.start()
	}
	d.postpone(now, not.untried)
	add = slices.DeleteFunc(add, func(ref types.ManagedObjectReference) bool { return !now[ref.Value] })
	for _, ref := range add {
		delete(d.refused, ref.Value)
		d.disputes.settle(ref.Value)
		if !d.model.Has(ref.Value) {
			d.unreported.add(ref.Value)
		}
	}
	switch {
	case p.waits():
		return nil
	case p.phase == ready && len(add) > readAtOnce:
		if d.overdue == nil {
			d.overdue = time.After(syncTime)
		}
		return nil
	}
	return d.read(ctx, add)
}

// readRest reads the details of the machines on the list that the filter has not reported. Those
// that only Nodes name were read when they came onto it.
func (d *detailList) readRest(ctx context.Context) error {
	d.overdue = nil
	var machines []types.ManagedObjectReference
	for id := range d.listed {
		if !d.onlyRecorded[id] && !d.model.HasDetails(id) {
			machines = append(machines, model.MachineRef(id))
		}
	}
	return d.read(ctx, machines)
}

// read reads the details of machines.
func (d *detailList) read(ctx context.Context, machines []types.ManagedObjectReference) error {
	if err := ReadMachines(ctx, d.list.session, machines, *d.hosts, d.model.Tree); err != nil && !goneOrDenied(err) {
		return fmt.Errorf("reading %d machines: %w", len(machines), err)
	}
	return nil
}

// try puts machines on the list that nothing but Nodes names. No fault that the vCenter
// answers ends the watch: there may be no such object, or one of another type. It is
// missing then, until no Node names it any more.
func (d *detailList) try(ctx context.Context, now map[string]bool, named []types.ManagedObjectReference) error {
	if len(named) == 0 {
		return nil
	}
	not, err := d.list.try(ctx, named)
	if err != nil {
		return err
	}
	for _, ref := range not.unresolved {
		delete(now, ref.Value)
		d.missing[ref.Value] = true
	}
	d.postpone(now, not.untried)
	named = slices.DeleteFunc(named, func(ref types.ManagedObjectReference) bool { return !now[ref.Value] })
	for _, ref := range named {
		d.onlyRecorded[ref.Value] = true
		d.unreported.add(ref.Value)
	}
	// It may be one that the account may not see.
	if err := ReadMachines(ctx, d.list.session, named, *d.hosts, d.model.Tree); err != nil && !answeredWithFault(d.list.session, err) {
		return fmt.Errorf("reading them: %w", err)
	}
	return nil
}

// postpone has machines put on the list later.
func (d *detailList) postpone(now map[string]bool, untried []types.ManagedObjectReference) {
	for _, ref := range untried {
		delete(now, ref.Value)
		d.postponed = time.After(postponeTime)
	}
}

// resolveDisputes ends the watch, once for each machine, if the index still has one that
// the vCenter says it does not have: something was not reported. The second time it is not
// followed, since the account may list it and not see it.
func (d *detailList) resolveDisputes(ctx context.Context) error {
	d.disputes.due = nil
	again := ""
	for id := range d.missing {
		if !d.model.Has(id) {
			d.disputes.settle(id)
			continue
		}
		if d.disputes.before[id] {
			d.refuse(ctx, id)
			continue
		}
		d.disputes.before[id] = true
		again = id
	}
	if again != "" {
		return fmt.Errorf("%s was listed and is not there; reading everything again", again)
	}
	return nil
}

// checkUnreported finds out which machines are gone that the filter will not report, and
// reports whether any is.
func (d *detailList) checkUnreported(ctx context.Context) (changed bool, err error) {
	for _, id := range d.unreported.some() {
		ref := model.MachineRef(id)
		err := ReadMachines(ctx, d.list.session, []types.ManagedObjectReference{ref}, model.HostFacts{}, model.NewTree(ref))
		switch {
		case faults.Gone(err) && !faults.SessionLost(d.list.session.Classify(err)):
			delete(d.unreported.machines, id)
			d.model.Tree.Remove(ref)
			d.missing[id], changed = true, true
		case err != nil && !faults.Denied(err) && (!d.onlyRecorded[id] || !answeredWithFault(d.list.session, err)):
			return false, fmt.Errorf("reading machine %s: %w", id, err)
		}
	}
	d.unreported.postponeRest()
	return changed, nil
}
