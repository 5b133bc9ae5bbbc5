package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

const (
	// eventsTime bounds each request for the collector of tagging events. It may
	// have to search a database, and nothing waits for it.
	eventsTime = time.Minute
	// eventsPage is how many events the collector shows. Each event has the server
	// send all of them.
	eventsPage = 10
	// eventsPause is the least time between two readings of tags that events cause.
	eventsPause = 5 * time.Second
)

// eventCollector is the type of collectors of events.
const eventCollector = "EventHistoryCollector"

// tagEvents are the types of the events that vCenter logs when a tag is attached or
// detached.
var tagEvents = []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}

// followEvents has the vCenter tell of tagging events once there is a snapshot. They
// only make the next reading of tags come sooner, so a vCenter that does not let us
// see them is none the worse: only a lost session ends the watch.
func (w *watch) followEvents(ctx context.Context) error {
	select {
	case <-w.published:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := w.s.Classify(w.collectEvents(ctx))
	switch {
	case err == nil:
		w.c.eventTrouble = ""
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case faults.SessionLost(err):
		return err
	}
	if w.c.eventTrouble != err.Error() {
		w.c.eventTrouble = err.Error()
		klog.FromContext(ctx).Info("Tagging events cannot be seen; tags are read at intervals only", "err", faults.Printable{Err: err})
	}
	return nil
}

// collectEvents makes a collector of the events from now on, by the vCenter's own
// clock, so that it has nothing to find at first. That is also why delayedInit, which
// only 8.0 U3 knows, is not needed.
func (w *watch) collectEvents(ctx context.Context) error {
	vc := w.s.LongPoll(eventsTime)
	if vc.ServiceContent.EventManager == nil {
		return fmt.Errorf("vCenter %q has no event manager", w.c.name)
	}
	now, err := methods.GetCurrentTime(ctx, vc)
	if err != nil {
		return fmt.Errorf("asking for the vCenter's time: %w", err)
	}
	spec := types.EventFilterSpec{
		EventTypeId:        tagEvents,
		Time:               &types.EventFilterSpecByTime{BeginTime: now},
		DisableFullMessage: types.NewBool(true),
		MaxCount:           eventsPage,
	}
	collector, err := w.createEvents(ctx, vc, spec)
	if faults.Is[types.InvalidArgument](err) || faults.Is[types.InvalidRequest](err) {
		// An older vCenter may not know all of it.
		spec.DisableFullMessage, spec.MaxCount = nil, 0
		if collector, err = w.createEvents(ctx, vc, spec); err == nil {
			_, err = methods.SetCollectorPageSize(ctx, vc, &types.SetCollectorPageSize{This: collector, MaxCount: eventsPage})
		}
	}
	if err == nil {
		_, err = methods.CreateFilter(ctx, vc, &types.CreateFilter{This: w.collector, Spec: types.PropertyFilterSpec{
			PropSet:   []types.PropertySpec{{Type: eventCollector, PathSet: []string{"latestPage"}}},
			ObjectSet: []types.ObjectSpec{{Obj: collector}},
		}})
	}
	if err != nil {
		_ = w.s.Destroy(ctx, collector) // what cannot be destroyed now is tried again by DestroyAll
	}
	return err
}

func (w *watch) createEvents(ctx context.Context, vc *vim25.Client, spec types.EventFilterSpec) (types.ManagedObjectReference, error) {
	res, err := methods.CreateCollectorForEvents(ctx, vc, &types.CreateCollectorForEvents{This: *vc.ServiceContent.EventManager, Filter: spec})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("collecting tagging events: %w", err)
	}
	w.s.Track(res.Returnval, session.DestroyHistoryCollector)
	return res.Returnval, nil
}

// events takes over a change of the collector's latest page. Tags are read at most
// once in eventsPause because of it, the last time after the last event.
func (w *watch) events(u *types.ObjectUpdate) {
	if w.eventsDue == nil && w.concerned(u) {
		w.eventsDue = time.After(eventsPause - time.Since(w.eventsRead))
	}
}

// concerned reports whether new events on a page may be about an object whose tags
// are wanted. On vCenter 7 and 8 such an event has the name of its object among its
// arguments and says nothing else of it.
func (w *watch) concerned(u *types.ObjectUpdate) bool {
	var page []types.BaseEvent
	for _, change := range u.ChangeSet {
		switch v := change.Val.(type) {
		case nil: // events that have left the page, or an empty one
		case types.ArrayOfEvent:
			page = append(page, v.Event...)
		case types.BaseEvent:
			page = append(page, v)
		default:
			return true
		}
	}
	fresh, last, concerned := 0, w.lastEvent, false
	for _, e := range page {
		if e == nil {
			return true
		}
		key := e.GetEvent().Key
		if key <= w.lastEvent && key != 0 {
			continue
		}
		fresh++
		last = max(last, key)
		concerned = concerned || w.isAbout(e)
	}
	w.lastEvent = last
	// Where all of a page is new, others may have been on it meanwhile.
	return concerned || fresh >= eventsPage
}

// isAbout reports whether an event may be about one of the objects whose tags are
// wanted. Nothing is ruled out that is not certain.
func (w *watch) isAbout(e types.BaseEvent) bool {
	x, ok := e.(*types.EventEx)
	if !ok {
		return true
	}
	name := strings.TrimSpace(x.ObjectName)
	for _, arg := range x.Arguments {
		if s, ok := arg.Value.(string); ok && arg.Key == "Object" {
			name = strings.TrimSpace(s)
		}
	}
	if name == "" && (x.ObjectId == "" || x.ObjectType == "") {
		return true
	}
	for _, ref := range w.tagRefs {
		known := strings.TrimSpace(w.model.tree.name(ref))
		if known == "" || x.ObjectId == ref.Value || names(name, known) {
			return true
		}
	}
	return false
}

// names reports whether a text is the name of an object, or a list with it.
func names(text, name string) bool {
	same := func(s string) bool { return strings.EqualFold(unescaped(strings.TrimSpace(s)), unescaped(name)) }
	if same(text) {
		return true
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",;\r\n", r) }) {
		if same(part) {
			return true
		}
	}
	return false
}

// unescaped undoes vSphere's %2f, %5c and %25.
func unescaped(name string) string {
	if s, err := url.PathUnescape(name); err == nil {
		return s
	}
	return name
}
