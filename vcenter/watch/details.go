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
	rejectedFor = 5 * time.Minute
	// maxImmediateReads bounds the new VMs that are read without waiting for the filter's report. That
	// is faster, but transfers the details twice.
	maxImmediateReads    = 50
	listRequestsMax      = 64
	annotatedRequestsMax = 16
	existenceChecksMax   = 20
)

// A detailList is the list view of the VMs whose details are watched. The model goroutine owns it.
type detailList struct {
	session Session
	hosts   model.HostFacts
	model   *model.Model

	view   types.ManagedObjectReference
	listed map[string]*listing
	// rejected maps each VM that does not exist or is hidden to the time when this was found.
	rejected map[string]time.Time
}

type listing struct {
	annotatedOnly bool
	// reported is false until the filter reports the VM. If it is destroyed before that, the filter
	// never reports that it left.
	reported bool
}

func (d *detailList) create(ctx context.Context) error {
	client := d.session.Client()
	res, err := methods.CreateListView(ctx, client, &types.CreateListView{This: *client.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("creating a list view: %w", err)
	}
	d.view = res.Returnval
	d.session.Track(d.view)
	return nil
}

func (d *detailList) isTried(id string) bool { return d.listed[id] != nil || !d.rejected[id].IsZero() }

func (d *detailList) isPending(id string) bool {
	return !d.model.HasDetails(id) && d.rejected[id].IsZero()
}

func (d *detailList) expireRejections() {
	maps.DeleteFunc(d.rejected, func(_ string, at time.Time) bool { return time.Since(at) >= rejectedFor })
}

// outside returns VMs outside the configured datacenters, sorted. departed VMs have a Node's UUID
// and are still watched, but have left the index. annotatedOnly VMs are known only from annotations
// of Nodes, and can match only those Nodes.
func (d *detailList) outside(uuids map[inventory.UUID]bool, annotated map[string]bool) (departed, annotatedOnly []string) {
	for id := range annotated {
		if !d.model.Has(id) && d.rejected[id].IsZero() {
			annotatedOnly = append(annotatedOnly, id)
		}
	}
	for id, l := range d.listed {
		if !d.model.Has(id) && !l.annotatedOnly && uuids[d.model.DetailsUUID(id)] {
			departed = append(departed, id)
		}
	}
	slices.Sort(annotatedOnly)
	slices.Sort(departed)
	return departed, annotatedOnly
}

func (d *detailList) set(ctx context.Context, ids, annotatedOnly []string, p *progress) (changed bool, err error) {
	wanted := make(map[string]bool, len(ids)+len(annotatedOnly))
	missing := func(ids []string) (refs []types.ManagedObjectReference) {
		for _, id := range ids {
			if !wanted[id] && !d.isTried(id) {
				refs = append(refs, model.VMRef(id))
			}
			wanted[id] = true
		}
		return refs
	}
	add := missing(ids)
	addAnnotated := missing(annotatedOnly)
	for _, id := range ids {
		if l := d.listed[id]; l != nil {
			l.annotatedOnly = false
		}
	}
	var remove []types.ManagedObjectReference
	for id := range d.listed {
		if !wanted[id] {
			ref := model.VMRef(id)
			remove = append(remove, ref)
			d.model.Tree.Remove(ref)
			delete(d.listed, id)
		}
	}
	if len(add) == 0 && len(remove) == 0 && len(addAnnotated) == 0 {
		return false, nil
	}
	if len(remove) > 0 {
		// An error may only mean that the view already dropped deleted VMs.
		if _, err := d.modify(ctx, nil, remove); err != nil && !d.rejectsAll(err) {
			return false, fmt.Errorf("removing %d VMs from the watch: %w", len(remove), err)
		}
	}
	if err := d.addVMs(ctx, add, p); err != nil {
		return false, fmt.Errorf("watching %d VMs: %w", len(ids), err)
	}
	if err := d.addAnnotated(ctx, addAnnotated, p); err != nil {
		return false, fmt.Errorf("watching %d VMs named by Nodes: %w", len(addAnnotated), err)
	}
	klog.FromContext(ctx).V(2).Info("Watching VMs", "vms", len(ids), "added", len(add), "named", len(addAnnotated), "removed", len(remove))
	return true, nil
}

// addVMs adds VMs and reads their details, unless the filter is about to report them.
func (d *detailList) addVMs(ctx context.Context, vms []types.ManagedObjectReference, p *progress) error {
	listed, err := d.tryAll(ctx, vms, listRequestsMax, d.rejectsAll, p)
	if err != nil {
		return err
	}
	switch {
	case p.isWaiting():
		return nil
	case p.phase == ready && len(listed) > maxImmediateReads:
		p.startTimer()
		return nil
	}
	return d.read(ctx, listed, goneOrDenied)
}

// addAnnotated tolerates every fault: the VMs may not exist or have another type.
func (d *detailList) addAnnotated(ctx context.Context, vms []types.ManagedObjectReference, p *progress) error {
	isFault := func(err error) bool { return answeredWithFault(d.session, err) }
	listed, err := d.tryAll(ctx, vms, annotatedRequestsMax, isFault, p)
	if err != nil {
		return err
	}
	for _, ref := range listed {
		d.listed[ref.Value].annotatedOnly = true
	}
	return d.read(ctx, listed, isFault)
}

// tryAll returns the accepted VMs. Some vCenters return the rejected VMs; others reject the whole
// request, and tryAll tries its halves.
func (d *detailList) tryAll(ctx context.Context, vms []types.ManagedObjectReference, maxRequests int, rejectsAll func(error) bool, p *progress) (listed []types.ManagedObjectReference, err error) {
	if len(vms) == 0 {
		return nil, nil
	}
	parts := [][]types.ManagedObjectReference{vms}
	for n := 0; len(parts) > 0; n++ {
		if n == maxRequests {
			p.startTimer()
			break
		}
		part := parts[0]
		parts = parts[1:]
		rejected, err := d.modify(ctx, part, nil)
		switch {
		case err == nil:
		case !rejectsAll(err):
			return nil, err
		case len(part) == 1:
			rejected = part
		default:
			parts = append([][]types.ManagedObjectReference{part[:len(part)/2], part[len(part)/2:]}, parts...)
			continue
		}
		for _, ref := range part {
			if slices.Contains(rejected, ref) {
				d.rejected[ref.Value] = time.Now()
				continue
			}
			d.listed[ref.Value] = &listing{}
			listed = append(listed, ref)
		}
	}
	return listed, nil
}

func (d *detailList) modify(ctx context.Context, add, remove []types.ManagedObjectReference) (rejected []types.ManagedObjectReference, err error) {
	res, err := methods.ModifyListView(ctx, d.session.Client(), &types.ModifyListView{This: d.view, Add: add, Remove: remove})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// rejectsAll reports whether a single VM may have made the vCenter reject the request.
func (d *detailList) rejectsAll(err error) bool {
	return !faults.SessionLost(d.session.Classify(err)) && (goneOrDenied(err) || faults.Is[types.BaseInvalidArgument](err))
}

func (d *detailList) readUnreported(ctx context.Context) error {
	var vms []types.ManagedObjectReference
	for id, l := range d.listed {
		if !l.annotatedOnly && !d.model.HasDetails(id) {
			vms = append(vms, model.VMRef(id))
		}
	}
	return d.read(ctx, vms, goneOrDenied)
}

func (d *detailList) read(ctx context.Context, vms []types.ManagedObjectReference, unreadable func(error) bool) error {
	if err := ReadVMs(ctx, d.session, vms, d.hosts, d.model.Tree); err != nil && !unreadable(err) {
		return fmt.Errorf("reading %d VMs: %w", len(vms), err)
	}
	return nil
}

// isDoubtful reports whether the VM may be gone without a reported change: it is indexed but
// rejected, or listed but neither indexed nor reported.
func (d *detailList) isDoubtful(id string) bool {
	if l := d.listed[id]; l != nil {
		return !l.reported && !d.model.Has(id)
	}
	return !d.rejected[id].IsZero() && d.model.Has(id)
}

// checkDoubtful asks about a random selection of doubtful VMs, so that each is eventually included.
func (d *detailList) checkDoubtful(ask func(id string)) {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(d.listed)), maps.Keys(d.rejected))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !d.isDoubtful(id) })
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:min(existenceChecksMax, len(ids))] {
		ask(id)
	}
}

// takeReply forgets a VM that is gone, and lets an existing one be listed again once: it may have been
// rejected while it was being created.
func (d *detailList) takeReply(ctx context.Context, id string, reply inventory.Reply, isNew bool) (gone bool) {
	switch {
	case !d.isDoubtful(id):
	case reply == inventory.Gone:
		d.model.Forget(id)
		d.rejected[id] = time.Now()
		return true
	case isNew && d.listed[id] == nil:
		delete(d.rejected, id)
		klog.FromContext(ctx).Info("The vCenter lists a VM but does not allow watching it; its Node stays uninitialized. Check that the account has System.View and System.Read on it", "moid", id)
	}
	return false
}
