package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// watchTagging tells of the events that vCenter logs when a tag is attached or
// detached. They only make the next reading of tags come sooner, so a vCenter
// that does not let us see events is none the worse.
func (w *watch) watchTagging(ctx context.Context) error {
	res, err := methods.CreateCollectorForEvents(ctx, w.s.vim, &types.CreateCollectorForEvents{
		This:   *w.s.vim.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{EventTypeId: []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}},
	})
	if denied(err) {
		klog.FromContext(ctx).V(2).Info("Tagging events cannot be seen; tags are read at intervals only", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("watching tagging events: %w", err)
	}
	w.s.leave(res.Returnval, destroyEvents)
	return w.filter(ctx, w.tagging, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "EventHistoryCollector", PathSet: []string{"latestPage"}}},
		ObjectSet: []types.ObjectSpec{{Obj: res.Returnval}},
	})
}

// wantTags asks for the tags of these objects, if they are others than before.
func (w *watch) wantTags(refs []types.ManagedObjectReference) {
	if slices.Equal(refs, w.tagRefs) {
		return
	}
	w.tagRefs = refs
	w.want(refs)
}

// want has the tags of these objects read now.
func (w *watch) want(refs []types.ManagedObjectReference) {
	select {
	case <-w.tagWanted:
	default:
	}
	w.tagWanted <- refs
}

// readTags reads the tags of the wanted objects when those change and at the
// refresh interval, sooner after a failure. A vCenter that does not answer ends
// the watch.
func (w *watch) readTags(ctx context.Context) error {
	var refs []types.ManagedObjectReference
	next := time.NewTimer(w.c.opts.tagRefresh)
	defer next.Stop()
	delay := w.c.opts.retryMin
	for {
		select {
		case refs = <-w.tagWanted:
		case <-w.c.retag:
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(refs) == 0 && len(w.c.target.Load().categories) == 0 {
			next.Reset(w.c.opts.tagRefresh)
			continue
		}
		result, err := w.c.readTags(ctx, w.s, refs)
		if err != nil {
			return err
		}
		wait := w.c.opts.tagRefresh
		if result.err != nil {
			wait, delay = delay, min(2*delay, w.c.opts.tagRefresh)
		} else {
			delay = w.c.opts.retryMin
		}
		next.Reset(wait)
		select {
		case w.tagged <- result:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
