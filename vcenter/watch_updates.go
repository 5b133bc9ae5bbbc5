package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
)

const (
	// updatesPerPage is how many changes a server is asked to put on a page. It may
	// put fewer on it, by default 100.
	updatesPerPage = 1000
	// progressTime is the least time between two lines about a reading that is long.
	progressTime = 10 * time.Second
	// quietPause is the pause before a vCenter is asked again that has nothing to tell
	// and says so at once, instead of holding the poll open.
	quietPause = time.Second
)

// poll waits for changes and hands them over page by page, nil where nothing has
// changed. Each page has a deadline of its own. That of the first is longer: the
// server collects everything for it.
func (w *watch) poll(ctx context.Context, updates chan<- *types.UpdateSet) error {
	opts := &w.c.opts
	seconds := int32(opts.pollTime / time.Second)
	version, first := "", true
	for {
		deadline := opts.pollTime + opts.timeout
		if first {
			deadline = max(deadline, opts.firstPage)
		}
		poller := w.s.LongPoll(deadline)
		began := time.Now()
		res, err := methods.WaitForUpdatesEx(ctx, poller, &types.WaitForUpdatesEx{
			This:    w.collector,
			Version: version,
			Options: &types.WaitOptions{MaxWaitSeconds: &seconds, MaxObjectUpdates: updatesPerPage},
		})
		if err != nil && faults.Gone(err) {
			err = &faults.SessionLostError{Err: err} // the collector is the session's own
		}
		if err != nil {
			return fmt.Errorf("waiting for changes: %w", err)
		}
		if first {
			first = false
			close(w.arrived)
		}
		if res.Returnval != nil {
			version = res.Returnval.Version
		}
		select {
		case updates <- res.Returnval:
		case <-ctx.Done():
			return ctx.Err()
		}
		if res.Returnval == nil && time.Since(began) < opts.pollTime/2 {
			select {
			case <-time.After(quietPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// apply takes over a page of changes, which may be nil, and reports whether it tells
// of anything but tagging events and names of machines. Afterwards torn says whether more
// pages follow.
func (w *watch) apply(set *types.UpdateSet) (told bool, err error) {
	w.torn = set != nil && set.Truncated != nil && *set.Truncated
	if set == nil {
		return false, nil
	}
	for _, f := range set.FilterSet {
		if err := w.vanished(&f); err != nil {
			return false, err
		}
		_, ofNames := w.allNames.filters[f.Filter]
		if ofNames {
			w.allNames.filters[f.Filter], w.allNames.news = true, true
		}
		for i := range f.ObjectSet {
			u := &f.ObjectSet[i]
			if err := faults.InProperties(u.MissingSet); err != nil {
				return false, err
			}
			if w.refusesPath(u) {
				return false, errWidely
			}
			unread(u)
			if u.Obj.Type == eventCollector {
				w.events(u)
				continue
			}
			told = told || !ofNames
			switch {
			case w.index[f.Filter] && !w.sees(u):
			case w.index[f.Filter]:
				w.model.applyIndex(f.Filter.Value, u)
				delete(w.missing, u.Obj.Value)
			case ofNames:
				w.allNames.apply(f.Filter, u)
			case w.details[f.Filter]:
				w.model.tree.apply(u)
				w.untold.told(u.Obj.Value)
			case w.datacenters[f.Filter]:
				w.known.apply(u)
				w.renamed = true
			}
		}
	}
	if !w.torn {
		w.allNames.received()
	}
	if w.renamed && !w.torn {
		w.renamed = false
		roots, incomplete := matching(w.known, w.c.cfg.Datacenters)
		if !slices.Equal(roots, w.roots) || fmt.Sprint(incomplete) != fmt.Sprint(w.incomplete) {
			return false, errMoved
		}
	}
	return told, nil
}

// vanished returns a lostError where a filter does not find what the session has made
// for it, or the session may not read it. An event collector does not count.
func (w *watch) vanished(f *types.PropertyFilterUpdate) error {
	for _, m := range f.MissingSet {
		if err := faults.InAnswer(&m.Fault); err != nil {
			return err
		}
		if m.Obj.Type != eventCollector && w.s.Created(m.Obj) {
			return &faults.SessionLostError{Err: fmt.Errorf("a %s, which the session has made, is not there", m.Obj.Type)}
		}
	}
	return nil
}

// progress tells of a reading of all machines that takes long, once in a while.
func (w *watch) progress(ctx context.Context) {
	if !w.complete && time.Since(w.said) >= progressTime {
		w.said = time.Now()
		klog.FromContext(ctx).Info("Reading the machines of the vCenter", "machines", len(w.model.index))
	}
}
