package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

const progressLogInterval = 10 * time.Second

const syncTimeout = 5 * time.Second

type phase int

const (
	loading phase = iota
	syncing
	ready
)

type progress struct {
	phase phase
	// startedAt is zero once the duration of the initial read was logged.
	startedAt time.Time
	// timer ends a wait for details.
	timer   <-chan time.Time
	expired bool
}

func (p *progress) startTimer() {
	if p.timer == nil {
		p.timer = time.After(syncTimeout)
	}
}

func (p *progress) startSyncing() {
	p.phase = syncing
	p.startTimer()
}

func (p *progress) expire() { p.expired, p.timer = true, nil }

func (p *progress) becomeReady() {
	p.phase = ready
	if !p.expired {
		p.timer = nil
	}
}

func (p *progress) isWaiting() bool { return p.phase == syncing && !p.expired }

// runModel is the model goroutine.
func (w *Watch) runModel(ctx context.Context) error {
	retry := time.NewTicker(w.opts.TagRefresh)
	defer retry.Stop()
	for {
		changed, err := w.next(ctx, retry.C)
		if err != nil {
			return err
		}
		if changed && w.progress.phase != loading && !w.partial {
			if err := w.reconcile(ctx); err != nil {
				return err
			}
		}
		if !w.behind && !w.partial {
			for _, done := range w.catchUps {
				close(done)
			}
			w.catchUps = nil
		}
	}
}

func (w *Watch) next(ctx context.Context, retry <-chan time.Time) (changed bool, err error) {
	select {
	case page := <-w.poller.updates:
		w.behind = false
		return w.receive(ctx, page)
	case <-w.poller.pauses:
		w.behind = true
		return false, nil
	case done := <-w.inbox.catchUps:
		w.catchUps = append(w.catchUps, done)
		if w.behind {
			w.inbox.EndPause()
		}
		return false, nil
	case <-w.inbox.interestChanged:
		if w.behind {
			// A joining Node gets no VM while the index may lack another match.
			w.unpublished = true
			w.poller.pollNow.Notify()
			return false, nil
		}
	case asked := <-w.prober.answered:
		if asked.After(w.lastContact) {
			w.lastContact = asked
		}
		w.reportContact(ctx, true)
		return false, nil
	case replies := <-w.homes.replies:
		for id, reply := range replies {
			isNew := w.homeReplies.add(id, reply)
			w.unpublished = w.details.takeReply(ctx, id, reply, isNew) || isNew || w.unpublished
		}
	case reading := <-w.tags.found:
		w.unpublished = w.tags.apply(reading, w.model) || w.unpublished
	case <-w.progress.timer:
		w.progress.expire()
		w.unpublished = true
		return true, w.details.readUnreported(ctx)
	case <-w.tags.nextAllowed:
		w.tags.request()
		return false, nil
	case <-retry:
		w.clusters.rereadAll = true
		w.details.checkDoubtful(w.inbox.AskHome)
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return true, nil
}

func (w *Watch) receive(ctx context.Context, page *types.UpdateSet) (changed bool, err error) {
	w.lastContact = time.Now()
	relevant, err := w.apply(page)
	if err != nil {
		return false, err
	}
	w.logProgress(ctx)
	if w.progress.phase != loading && !relevant && !w.partial {
		if err := w.matchNames(ctx); err != nil || !w.unpublished {
			w.reportContact(ctx, false)
			return false, err
		}
	}
	w.unpublished = true
	if w.progress.phase == loading && !w.partial {
		w.progress.startSyncing()
		w.model.EndInitialRead()
	}
	return true, nil
}

// apply reports whether a page contains anything other than names of VMs. The page may be nil.
func (w *Watch) apply(page *types.UpdateSet) (relevant bool, err error) {
	w.partial = isPartial(page)
	if page == nil {
		return false, nil
	}
	for i := range page.FilterSet {
		f := &page.FilterSet[i]
		if err := w.checkMissing(f); err != nil {
			return false, err
		}
		isNamesFilter := w.names.recordReport(f.Filter)
		if err := faults.CheckRef(f.Filter); err != nil {
			return false, err
		}
		for i := range f.ObjectSet {
			u := &f.ObjectSet[i]
			if err := faults.CheckRef(u.Obj); err != nil {
				return false, err
			}
			if err := faults.InProperties(u.MissingSet); err != nil {
				return false, err
			}
			unsetMissing(u)
			relevant = relevant || !isNamesFilter
			w.applyObject(f.Filter, u, isNamesFilter)
		}
	}
	if err := cmp.Or(w.model.Err(), w.datacenters.tree.Err(), w.names.err()); err != nil {
		return false, err
	}
	if w.partial {
		return relevant, nil
	}
	w.names.checkComplete()
	if w.datacenters.changed() {
		return false, DatacentersChanged
	}
	return relevant, nil
}

func (w *Watch) applyObject(filter types.ManagedObjectReference, u *types.ObjectUpdate, isNamesFilter bool) {
	switch {
	case w.views.index[filter]:
		w.model.ApplyIndex(filter.Value, u)
		if u.Kind == types.ObjectUpdateKindEnter {
			delete(w.details.rejected, u.Obj.Value)
		}
	case isNamesFilter:
		w.names.apply(filter, u)
	case w.views.details[filter]:
		w.model.Tree.Apply(u)
		if u.Kind == types.ObjectUpdateKindLeave {
			delete(w.details.listed, u.Obj.Value)
		} else if l := w.details.listed[u.Obj.Value]; l != nil {
			l.reported = true
		}
	case w.views.datacenters[filter]:
		w.datacenters.tree.Apply(u)
		w.datacenters.treeChanged = true
	}
}

func (w *Watch) checkMissing(f *types.PropertyFilterUpdate) error {
	for _, m := range f.MissingSet {
		if err := faults.InAnswer(&m.Fault); err != nil {
			return err
		}
		if w.session.IsTracked(m.Obj) {
			return &faults.SessionLostError{Err: fmt.Errorf("a %s that the session created is missing", m.Obj.Type)}
		}
	}
	return nil
}

func unsetMissing(u *types.ObjectUpdate) {
	for _, m := range u.MissingSet {
		// Tree.Apply records why a host fact is missing.
		if !model.IsHostFact(m.Path) {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: m.Path, Op: types.PropertyChangeOpRemove})
		}
	}
}

// matchNames avoids a reconcile for changed names that match no Node: guests may change their names
// all the time.
func (w *Watch) matchNames(ctx context.Context) error {
	if !w.names.hasUpdates {
		return nil
	}
	changed, err := w.names.update(ctx, w.inbox.interest.Load().names, w.model)
	w.unpublished = w.unpublished || changed
	return err
}

func (w *Watch) reportContact(ctx context.Context, probed bool) {
	if w.progress.phase == ready && !w.partial && !w.unpublished {
		w.reporter.Contact(ctx, w.lastContact, probed)
	}
}

func (w *Watch) logProgress(ctx context.Context) {
	if w.progress.phase == loading && time.Since(w.lastProgressLog) >= progressLogInterval {
		w.lastProgressLog = time.Now()
		klog.FromContext(ctx).Info("Reading the VMs of the vCenter", "vms", w.model.Len())
	}
}

// reconcile updates the detail list and the wanted tags from the model, and publishes.
func (w *Watch) reconcile(ctx context.Context) error {
	if !w.behind {
		w.interest = w.inbox.interest.Load()
	}
	i := w.interest
	annotated := i.annotatedIn(w.opts.VCenter, w.model.VCenterUUID())
	changed, err := w.names.update(ctx, i.names, w.model)
	if err != nil {
		return err
	}
	byName := w.names.vms
	w.unpublished = changed || w.unpublished
	w.unpublished = w.model.ApplySummaries() || w.unpublished
	w.unpublished = w.model.SetNamedByNodes(annotated) || w.unpublished
	w.details.expireRejections()
	departed, annotatedOnly := w.outsideVMs(i.uuids, annotated)
	ids := w.model.Wanted(i.uuids, slices.Concat(departed, vmIDsByName(i, byName)))
	changed, err = w.details.set(ctx, ids, annotatedOnly, &w.progress)
	if err != nil {
		return err
	}
	w.unpublished = w.unpublished || changed
	shown := slices.Concat(ids, annotatedOnly)
	above := w.model.WithAncestors(w.model.WithoutUnidentified(shown), w.inbox.required.Load().Paths)
	changed, err = w.clusters.read(ctx, above)
	if err != nil {
		return err
	}
	w.unpublished = w.unpublished || changed
	if w.opts.Tags {
		w.tags.setObjects(above, w.model.Tree)
	}
	if w.progress.phase == syncing && w.isSynced(ids, above) {
		w.progress.becomeReady()
	}
	if w.progress.timer != nil {
		w.poller.pollNow.Notify()
	}
	if joining := i.isJoining(w.model, byName); w.poller.joining.Swap(joining) != joining && joining {
		w.inbox.EndPause()
	}
	if w.progress.phase == ready && w.unpublished {
		w.unpublished = false
		w.publishSnapshot(ctx, model.View{VMs: shown, Outside: departed, AnnotatedOnly: annotatedOnly, Names: byName})
	}
	if w.progress.phase == ready && w.tags.unpublished {
		w.reporter.TagNames(ctx, w.tags.publish())
	}
	return nil
}

func vmIDsByName(i *Interest, byName map[string][]inventory.NameEntry) (ids []string) {
	for _, node := range i.names {
		for _, e := range byName[node] {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

func (w *Watch) outsideVMs(uuids map[inventory.UUID]bool, annotated map[string]bool) (departed, annotatedOnly []string) {
	if len(w.opts.Datacenters) == 0 {
		return nil, nil
	}
	return w.details.outside(uuids, annotated)
}

func (w *Watch) isSynced(ids []string, above []types.ManagedObjectReference) bool {
	switch {
	case w.progress.expired:
		return true
	case slices.ContainsFunc(ids, w.details.isPending):
		return false
	}
	return !w.opts.Tags || len(above) == 0 || w.model.TagsSettled(above)
}

func (w *Watch) publishSnapshot(ctx context.Context, v model.View) {
	v.Incomplete = w.datacenters.incomplete()
	v.Hosts = w.hosts
	snap := w.model.Snapshot(v)
	snap.Homes = w.homeReplies.forSnapshot(w.model)
	if snap.Incomplete != nil {
		snap.VisibleDatacenters = w.datacenters.visible
	}
	w.reporter.Publish(ctx, Publication{Snapshot: snap, LastContact: w.lastContact, TagNames: w.tags.publish()})
	w.logRead(ctx, snap)
}

func (w *Watch) logRead(ctx context.Context, first *inventory.Snapshot) {
	if w.progress.startedAt.IsZero() {
		return
	}
	took := time.Since(w.progress.startedAt).Round(time.Millisecond)
	w.progress.startedAt = time.Time{}
	klog.FromContext(ctx).Info("Read the vCenter", "vms", w.model.Len(), "followed", len(first.VMs), "objects", w.model.TaggedObjectCount(), "duration", took)
}
