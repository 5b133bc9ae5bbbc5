package watch

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

const (
	// refusedFor is the time after which a machine that the list has refused is tried again.
	refusedFor = 5 * time.Minute
	// readAtOnce bounds how many machines are read at once when they come onto the list. The filter
	// reports the details of each in any case, so that what is read is transferred twice. A Node
	// that joins is not kept waiting for the filter; of many, the transfer takes longer than that.
	readAtOnce = 50
	// listRequestsMax bounds the requests for finding out which machines cannot be on
	// a list, where the vCenter refuses all that are added together.
	listRequestsMax = 64
	// namedRequestsMax is the same for machines that nothing but Nodes names.
	namedRequestsMax = 16
	// askMax bounds how many machines the vCenter is asked about at a time, whether they exist.
	askMax = 20
)

// A detailList is the list of the machines whose details are read and watched. It belongs
// to the goroutine of the model.
type detailList struct {
	session Session
	hosts   model.HostFacts
	model   *model.Model

	// view is the list on the server.
	view types.ManagedObjectReference
	// listed are the machines on the list, refused those that the vCenter did not take onto it in
	// the last minutes, and when: they may not exist, or the account may not see them.
	listed  map[string]*listing
	refused map[string]time.Time
}

// A listing is a machine on the list.
type listing struct {
	// annotatedOnly reports whether it is there only since Nodes name it.
	annotatedOnly bool
	// reported reports whether the filter has reported it. One that is destroyed before that is in
	// no change: as it never came, it does not leave.
	reported bool
}

// create makes the list, which is empty.
func (d *detailList) create(ctx context.Context) error {
	client := d.session.Client()
	res, err := methods.CreateListView(ctx, client, &types.CreateListView{This: *client.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("making a list view: %w", err)
	}
	d.view = res.Returnval
	d.session.Track(d.view)
	return nil
}

// isTried reports whether the vCenter has answered whether a machine can be on the list.
func (d *detailList) isTried(id string) bool { return d.listed[id] != nil || !d.refused[id].IsZero() }

// waitsFor reports whether the details of a machine are still to come.
func (d *detailList) waitsFor(id string) bool {
	return !d.model.HasDetails(id) && d.refused[id].IsZero()
}

// retryRefused has machines tried again that were refused some time ago.
func (d *detailList) retryRefused() {
	maps.DeleteFunc(d.refused, func(_ string, at time.Time) bool { return time.Since(at) >= refusedFor })
}

// outside returns the machines that are or may be in the vCenter and are in none of the configured
// datacenters, in order: those of Nodes that have left the index and are still reported, and those
// that Nodes name, which count for these Nodes only.
func (d *detailList) outside(uuids map[inventory.UUID]bool, annotated map[string]bool) (left, named []string) {
	for id := range annotated {
		if !d.model.Has(id) && d.refused[id].IsZero() {
			named = append(named, id)
		}
	}
	for id, l := range d.listed {
		if !d.model.Has(id) && !l.annotatedOnly && uuids[d.model.UUID(id)] {
			left = append(left, id)
		}
	}
	slices.Sort(named)
	slices.Sort(left)
	return left, named
}

// set makes the list hold exactly these machines, those of Nodes and those that nothing but Nodes
// names, except for refused ones, and reports whether the list was changed.
func (d *detailList) set(ctx context.Context, ids, named []string, p *progress) (changed bool, err error) {
	wanted := make(map[string]bool, len(ids)+len(named))
	missing := func(ids []string) (refs []types.ManagedObjectReference) {
		for _, id := range ids {
			if !wanted[id] && !d.isTried(id) {
				refs = append(refs, model.MachineRef(id))
			}
			wanted[id] = true
		}
		return refs
	}
	add := missing(ids)
	addNamed := missing(named)
	for _, id := range ids {
		if l := d.listed[id]; l != nil {
			l.annotatedOnly = false
		}
	}
	var remove []types.ManagedObjectReference
	for id := range d.listed {
		if !wanted[id] {
			ref := model.MachineRef(id)
			remove = append(remove, ref)
			d.model.Tree.Remove(ref)
			delete(d.listed, id)
		}
	}
	if len(add) == 0 && len(remove) == 0 && len(addNamed) == 0 {
		return false, nil
	}
	if len(remove) > 0 {
		// Those that have been deleted are no longer on the list.
		if _, err := d.modify(ctx, nil, remove); err != nil && !d.refusesWhole(err) {
			return false, fmt.Errorf("no longer following %d machines: %w", len(remove), err)
		}
	}
	if err := d.addMachines(ctx, add, p); err != nil {
		return false, fmt.Errorf("following %d machines: %w", len(ids), err)
	}
	if err := d.addNamed(ctx, addNamed, p); err != nil {
		return false, fmt.Errorf("following %d machines that Nodes name: %w", len(addNamed), err)
	}
	klog.FromContext(ctx).V(2).Info("Following machines", "machines", len(ids), "added", len(add), "named", len(addNamed), "removed", len(remove))
	return true, nil
}

// addMachines puts machines on the list. They are read at once, unless the first snapshot waits for the
// filter, or there are many: then they are read if the filter has not reported them after a while.
func (d *detailList) addMachines(ctx context.Context, machines []types.ManagedObjectReference, p *progress) error {
	listed, err := d.tryAll(ctx, machines, listRequestsMax, d.refusesWhole, p)
	if err != nil {
		return err
	}
	switch {
	case p.waits():
		return nil
	case p.phase == ready && len(listed) > readAtOnce:
		p.await()
		return nil
	}
	return d.read(ctx, listed, goneOrDenied)
}

// addNamed puts machines on the list that nothing but Nodes names, on their own, and reads them. No
// fault that the vCenter answers ends the watch: there may be no such object, or one of another type,
// or the account may not see it.
func (d *detailList) addNamed(ctx context.Context, machines []types.ManagedObjectReference, p *progress) error {
	isFault := func(err error) bool { return answeredWithFault(d.session, err) }
	listed, err := d.tryAll(ctx, machines, namedRequestsMax, isFault, p)
	if err != nil {
		return err
	}
	for _, ref := range listed {
		d.listed[ref.Value].annotatedOnly = true
	}
	return d.read(ctx, listed, isFault)
}

// tryAll puts machines on the list with a bounded number of requests, and returns those that are on
// it. Some vCenters return which they refuse, others refuse a whole request: then it is repeated with
// halves, down to single machines. The rest is tried later.
func (d *detailList) tryAll(ctx context.Context, machines []types.ManagedObjectReference, most int, refusesWhole func(error) bool, p *progress) (listed []types.ManagedObjectReference, err error) {
	if len(machines) == 0 {
		return nil, nil
	}
	parts := [][]types.ManagedObjectReference{machines}
	for n := 0; len(parts) > 0; n++ {
		if n == most {
			p.await()
			break
		}
		part := parts[0]
		parts = parts[1:]
		refused, err := d.modify(ctx, part, nil)
		switch {
		case err == nil:
		case !refusesWhole(err):
			return nil, err
		case len(part) == 1:
			refused = part
		default: // depth first, so that some are settled each time
			parts = append([][]types.ManagedObjectReference{part[:len(part)/2], part[len(part)/2:]}, parts...)
			continue
		}
		for _, ref := range part {
			if slices.Contains(refused, ref) {
				d.refused[ref.Value] = time.Now()
				continue
			}
			d.listed[ref.Value] = &listing{}
			listed = append(listed, ref)
		}
	}
	return listed, nil
}

// modify changes the list and returns which machines the vCenter cannot put on it.
func (d *detailList) modify(ctx context.Context, add, remove []types.ManagedObjectReference) (refused []types.ManagedObjectReference, err error) {
	res, err := methods.ModifyListView(ctx, d.session.Client(), &types.ModifyListView{This: d.view, Add: add, Remove: remove})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// refusesWhole reports whether a change of the list was refused because of one of the machines in it.
func (d *detailList) refusesWhole(err error) bool {
	return !faults.SessionLost(d.session.Classify(err)) && (goneOrDenied(err) || faults.Is[types.BaseInvalidArgument](err))
}

// readRest reads the details of the machines on the list that the filter has not reported. Those
// that only Nodes name were read when they came onto it.
func (d *detailList) readRest(ctx context.Context) error {
	var machines []types.ManagedObjectReference
	for id, l := range d.listed {
		if !l.annotatedOnly && !d.model.HasDetails(id) {
			machines = append(machines, model.MachineRef(id))
		}
	}
	return d.read(ctx, machines, goneOrDenied)
}

// read reads the details of machines, some of which may not be readable.
func (d *detailList) read(ctx context.Context, machines []types.ManagedObjectReference, unreadable func(error) bool) error {
	if err := ReadMachines(ctx, d.session, machines, d.hosts, d.model.Tree); err != nil && !unreadable(err) {
		return fmt.Errorf("reading %d machines: %w", len(machines), err)
	}
	return nil
}

// isDoubtful reports whether a machine may be gone though no change says so: the index has it and
// the list has refused it, or the list has it and neither index nor filter has reported it.
func (d *detailList) isDoubtful(id string) bool {
	if l := d.listed[id]; l != nil {
		return !l.reported && !d.model.Has(id)
	}
	return !d.refused[id].IsZero() && d.model.Has(id)
}

// checkDoubtful has the vCenter asked about some of the machines that may be gone. Chance decides
// which, so that none waits for ever for those that exist.
func (d *detailList) checkDoubtful(ask func(id string)) {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(d.listed)), maps.Keys(d.refused))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !d.isDoubtful(id) })
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:min(askMax, len(ids))] {
		ask(id)
	}
}

// takeReply forgets a machine that may be gone and is, and reports whether it was that. One that the list has
// refused and that exists is tried once more: it may have been refused while it was made.
func (d *detailList) takeReply(ctx context.Context, id string, reply inventory.Reply, isNew bool) (gone bool) {
	switch {
	case !d.isDoubtful(id):
	case reply == inventory.Gone:
		d.model.Forget(id)
		d.refused[id] = time.Now()
		return true
	case isNew && d.listed[id] == nil:
		delete(d.refused, id)
		klog.FromContext(ctx).Info("The vCenter does not let a machine be followed, though it is listed; its Node waits. Does the account have System.View and System.Read on it?", "moid", id)
	}
	return false
}
