package watch

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// progressTime is the least time between two lines about a reading that is long.
const progressTime = 10 * time.Second

// follow owns the model: it applies changes, keeps the list of followed machines, and
// publishes.
func (w *Watch) follow(ctx context.Context) error {
	retry := time.NewTicker(w.opts.TagRefresh) // settle tries again what failed before
	defer retry.Stop()
	for {
		settle, err := w.next(ctx, retry.C)
		if err != nil {
			return err
		}
		// Between two pages the model may show a machine half moved.
		if settle && w.progress.phase != loading && !w.change.partial {
			if err := w.settle(ctx); err != nil {
				return err
			}
		}
	}
}

// next waits for the next thing that happens and reports whether it may have changed what is
// to be followed or published.
func (w *Watch) next(ctx context.Context, retry <-chan time.Time) (settle bool, err error) {
	select {
	case page := <-w.poller.updates:
		return w.receive(ctx, page)
	case <-w.inbox.interestChanged:
	case asked := <-w.prober.answered:
		if asked.After(w.contact) {
			w.contact = asked
		}
		w.reportContact(ctx, true)
		return false, nil
	case replies := <-w.homes.replies:
		w.dirty = w.homeReplies.add(replies) || w.dirty
	case reading := <-w.tags.found:
		w.dirty = w.tags.take(reading, w.model) || w.dirty
	case batch := <-w.metadata.parser.read:
		w.dirty = w.metadata.take(ctx, w.model.Tree, batch) || w.dirty
	case <-w.metadata.due:
	case <-w.details.postponed:
		w.details.postponed = nil
	case <-w.progress.due:
		w.progress.expired()
		w.dirty = true
		return true, w.details.readRest(ctx) // what is not there now is not waited for
	case <-w.details.overdue:
		w.dirty = true
		return true, w.details.readRest(ctx)
	case <-w.tags.due:
		w.tags.request()
		return false, nil
	case <-w.details.disputes.due:
		return true, w.details.resolveDisputes(ctx)
	case <-w.details.unreported.due:
		changed, err := w.details.checkUnreported(ctx)
		w.dirty = w.dirty || changed
		return true, err
	case <-retry:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return true, nil
}

// receive applies a page of changes, which may be nil, and reports whether there is
// anything that is not published yet.
func (w *Watch) receive(ctx context.Context, page *types.UpdateSet) (news bool, err error) {
	w.contact = time.Now()
	relevant, err := w.apply(page)
	if err != nil {
		return false, err
	}
	w.logProgress(ctx)
	if w.progress.phase != loading && !relevant && !w.change.partial {
		if err := w.matchNames(ctx); err != nil || !w.dirty {
			w.reportContact(ctx, false)
			return false, err
		}
	}
	w.dirty = true
	if w.progress.phase == loading && !w.change.partial {
		w.progress.indexed()
		w.model.Complete()
	}
	return true, nil
}

// matchNames looks for the machines of Nodes without a UUID if names have changed: a guest
// may change its host name all the time, and mostly it is not a Node's.
func (w *Watch) matchNames(ctx context.Context) error {
	if !w.names.news {
		return nil
	}
	changed, err := w.names.update(ctx, w.inbox.interest.Load().names, w.model)
	w.dirty = w.dirty || changed
	return err
}

// reportContact reports that the vCenter has answered, unless there is something that the
// last snapshot does not have, such as the first page of a change, or all that has happened
// since the watch before this one: that snapshot is not of now.
func (w *Watch) reportContact(ctx context.Context, probed bool) {
	if w.progress.phase == ready && !w.change.partial && !w.dirty {
		w.reporter.Contact(ctx, w.contact, probed)
	}
}

// logProgress logs a reading of all machines that takes long, once in a while.
func (w *Watch) logProgress(ctx context.Context) {
	if w.progress.phase == loading && time.Since(w.logged) >= progressTime {
		w.logged = time.Now()
		klog.FromContext(ctx).Info("Reading the machines of the vCenter", "machines", w.model.Len())
	}
}

// settle has the list of followed machines and the wanted tags follow the model, and
// publishes what is known.
func (w *Watch) settle(ctx context.Context) error {
	i := w.inbox.interest.Load()
	recorded := w.recorded(i)
	changed, err := w.names.update(ctx, i.names, w.model)
	if err != nil {
		return err
	}
	named := w.names.machines
	w.dirty = changed || w.dirty
	w.dirty = w.model.ApplySummaries() || w.dirty
	w.details.forget(recorded)
	w.dirty = w.model.SetRecorded(recorded) || w.dirty
	out := w.outside(i)
	ids := w.model.Wanted(i.uuids, slices.Concat(out.left, eligible(i, named)))
	changed, err = w.details.set(ctx, ids, out.recorded, &w.progress)
	if err != nil {
		return err
	}
	w.dirty = w.dirty || changed
	w.metadata.request(w.model.Tree)
	shown := slices.Concat(ids, out.recorded)
	above := w.model.Above(w.model.Eligible(shown), w.inbox.tags.Load().Paths)
	if w.opts.Tags {
		w.tags.follow(above, w.model.Tree)
	}
	if w.progress.phase == syncing && w.whole(ids, above) {
		w.progress.complete()
	}
	if w.progress.phase == syncing || w.details.overdue != nil {
		w.poller.hurry.Notify()
	}
	if w.progress.phase == ready && w.dirty {
		w.dirty = false
		w.publishSnapshot(ctx, i, model.View{Machines: shown, Outside: out.left, Recorded: out.recorded, Names: named})
	}
	if w.progress.phase == ready && w.tags.unpublished {
		w.reporter.TagNames(ctx, w.tags.published())
	}
	return nil
}

// eligible returns those of the machines with the names of Nodes that are no templates.
func eligible(i *Interest, named map[string][]inventory.NameEntry) (ids []string) {
	for _, node := range i.names {
		for _, e := range named[node] {
			if !e.Template {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

// outside returns the machines that are or may be in none of the configured datacenters.
func (w *Watch) outside(i *Interest) outside {
	if len(w.opts.Datacenters) == 0 {
		return outside{} // everything that the account can see is inside
	}
	return w.details.outside(i.uuids, w.recorded(i))
}

// recorded returns the machines of this vCenter that Nodes name, with the UUIDs of those Nodes.
func (w *Watch) recorded(i *Interest) map[string][]inventory.UUID {
	return i.recordedIn(w.opts.VCenter, w.model.Instance())
}

// whole reports whether everything that the first snapshot should have is there.
func (w *Watch) whole(ids []string, above []types.ManagedObjectReference) bool {
	switch {
	case w.progress.late:
		return true
	case w.model.Tree.UnknownMetadata(), slices.ContainsFunc(ids, w.details.waitsFor):
		return false
	}
	return !w.opts.Tags || len(above) == 0 || w.model.TagsSettled(above)
}

// publishSnapshot publishes what is known.
func (w *Watch) publishSnapshot(ctx context.Context, i *Interest, v model.View) {
	v.Incomplete, v.Hosts = w.datacenters.incomplete(), *w.hosts
	snap := w.model.Snapshot(v)
	snap.Pending, snap.Homes = w.pending(i), w.homeReplies.of(w.model)
	if snap.Incomplete != nil {
		snap.VisibleDatacenters = w.datacenters.visible
	}
	w.reporter.Publish(ctx, Publication{Snapshot: snap, LastContact: w.contact, TagNames: w.tags.published()})
	w.logRead(ctx, snap)
}

// logRead logs once what was read of the vCenter, and in what time: with the first snapshot.
func (w *Watch) logRead(ctx context.Context, first *inventory.Snapshot) {
	if w.progress.began.IsZero() {
		return
	}
	took := time.Since(w.progress.began).Round(time.Millisecond)
	w.progress.began = time.Time{}
	klog.FromContext(ctx).Info("Read the vCenter", "machines", w.model.Len(), "followed", len(first.Machines), "objects", w.model.TagObjects(), "duration", took)
}

// pending are the machines that Nodes name and of which the vCenter has not said yet whether
// there are such: they were not tried for lack of time. Without datacenters everything is in the
// index.
func (w *Watch) pending(i *Interest) map[string]bool {
	if len(w.opts.Datacenters) == 0 {
		return nil
	}
	var pending map[string]bool
	for id := range w.recorded(i) {
		if w.model.Has(id) || w.details.answered(id) {
			continue
		}
		if pending == nil {
			pending = map[string]bool{}
		}
		pending[id] = true
	}
	return pending
}
