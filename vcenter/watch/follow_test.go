package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// A renamed datacenter is noticed on any page of a change.
func TestDatacenterOnAnEarlierPage(t *testing.T) {
	filter := types.ManagedObjectReference{Type: "PropertyFilter", Value: "datacenters"}
	dc := types.ManagedObjectReference{Type: "Datacenter", Value: "datacenter-1"}
	w, _ := newWatch(nil, func(o *Options) { o.Datacenters = []string{"dc1"} })
	w.views.datacenters[filter] = true
	w.datacenters.roots = []types.ManagedObjectReference{dc}
	first := &types.UpdateSet{Truncated: types.NewBool(true), FilterSet: []types.PropertyFilterUpdate{{
		Filter: filter,
		ObjectSet: []types.ObjectUpdate{{Kind: types.ObjectUpdateKindModify, Obj: dc,
			ChangeSet: []types.PropertyChange{{Name: "name", Val: "renamed"}}}},
	}}}
	if relevant, err := w.apply(first); !relevant || !w.partial || err != nil {
		t.Errorf("the first page: %v, more %v, %v", relevant, w.partial, err)
	}
	if _, err := w.apply(&types.UpdateSet{}); !errors.As(err, new(Restart)) {
		t.Errorf("the last page: %v", err)
	}
}

// Neither the answers to a new session before its first snapshot nor the first page of a change
// make the last snapshot current.
func TestContactNeedsACurrentSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		prepare    func(*Watch)
		isReported bool
	}{
		"loading":       {func(*Watch) {}, false},
		"syncing":       {func(w *Watch) { w.progress.startSyncing() }, false},
		"partial":       {func(w *Watch) { w.progress.becomeReady(); w.partial = true }, false},
		"not published": {func(w *Watch) { w.progress.becomeReady(); w.unpublished = true }, false},
		"published":     {func(w *Watch) { w.progress.becomeReady() }, true},
	} {
		w, r := newWatch(nil, nil)
		w.lastContact = time.Now()
		c.prepare(w)
		w.reportContact(t.Context(), true)
		if at, _ := r.contact(); at.Equal(w.lastContact) != c.isReported {
			t.Errorf("%s: contact %v", name, at)
		}
	}
}

// Pages of a partial change do not renew the snapshot that the change will replace.
func TestContactDuringAPartialChange(t *testing.T) {
	w, r := newWatch(nil, nil)
	filter := indexFilter(w)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- w.runModel(ctx) }()
	send := func(set *types.UpdateSet) (time.Time, *inventory.Snapshot) {
		w.poller.updates <- set
		// The second message is accepted only after the page was applied.
		w.inbox.interestChanged <- struct{}{}
		w.inbox.interestChanged <- struct{}{}
		return r.contact()
	}
	page := func(more bool, moid string, kind types.ObjectUpdateKind) *types.UpdateSet {
		return &types.UpdateSet{Truncated: &more, FilterSet: []types.PropertyFilterUpdate{{
			Filter:    filter,
			ObjectSet: []types.ObjectUpdate{{Kind: kind, Obj: model.VMRef(moid), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}}},
		}}}
	}
	before, snapshot := send(page(false, "vm-1", types.ObjectUpdateKindEnter))
	if snapshot == nil || before.IsZero() {
		t.Fatalf("not published: %v", snapshot)
	}
	quiet, same := send(nil)
	if !quiet.After(before) || same != snapshot {
		t.Errorf("an answer without a change: %v after %v", quiet, before)
	}
	for range 2 {
		if partial, _ := send(page(true, "vm-2", types.ObjectUpdateKindEnter)); !partial.Equal(quiet) {
			t.Errorf("a page of a change: %v after %v", partial, quiet)
		}
	}
	// The last page may be nil. The second send returns once it was applied.
	w.poller.updates <- nil
	w.poller.updates <- nil
	if after, s := r.contact(); !after.After(quiet) || len(s.Entries(identity(t, stranger).UUIDs[0])) != 2 {
		t.Errorf("the whole change: %v after %v", after, quiet)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// During a pause a joining Node gets no VM, and CatchUp does not return. Both happen at the next
// poll, even if it reports nothing.
func TestPauseBetweenPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &countingServer{}
		w, _ := newWatch(server, nil)
		w.progress.expired = true
		filter := indexFilter(w)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.runModel(ctx) }()
		w.poller.updates <- &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
			Filter: filter, ObjectSet: []types.ObjectUpdate{update(types.ObjectUpdateKindEnter, "config.uuid", stranger)},
		}}}
		caughtUp := func() <-chan error {
			done := make(chan error, 1)
			go func() { done <- w.inbox.CatchUp(ctx) }()
			synctest.Wait()
			return done
		}
		if len(caughtUp()) == 0 {
			t.Error("not up to date although the poller does not rest")
		}
		w.poller.pauses <- struct{}{}
		w.poller.pollNow.Clear()
		w.inbox.Follow(NewInterest([]inventory.Identity{identity(t, stranger)}, nil))
		caughtUpLater := caughtUp()
		if server.read > 0 || len(caughtUpLater) > 0 || len(w.poller.pollNow) == 0 || len(w.poller.endPause) == 0 {
			t.Errorf("during a rest: %d VMs read, up to date %d, the next poll is hurried %d, is soon %d", server.read, len(caughtUpLater), len(w.poller.pollNow), len(w.poller.endPause))
		}
		w.poller.updates <- nil
		synctest.Wait()
		if server.read != 1 || len(caughtUpLater) == 0 {
			t.Errorf("after it: %d VMs read, want 1, up to date %d, want 1", server.read, len(caughtUpLater))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestSessionIsLostWithItsObjects(t *testing.T) {
	view := types.ManagedObjectReference{Type: "ContainerView", Value: "session[1]2"}
	w, _ := newWatch(nil, nil)
	w.session.Track(view)
	report := func(ref types.ManagedObjectReference, f types.BaseMethodFault) error {
		return w.checkMissing(&types.PropertyFilterUpdate{MissingSet: []types.MissingObject{{Obj: ref, Fault: types.LocalizedMethodFault{Fault: f}}}})
	}
	if err := report(view, &types.ManagedObjectNotFound{Obj: view}); !faults.SessionLost(err) {
		t.Errorf("a filter without our view: %v", err)
	}
	if err := report(model.VMRef("vm-1"), &types.NotAuthenticated{}); !faults.SessionLost(err) {
		t.Errorf("a filter that is not authenticated: %v", err)
	}
	if err := report(model.VMRef("vm-1"), &types.ManagedObjectNotFound{}); err != nil {
		t.Errorf("a filter without a VM: %v", err)
	}
}
