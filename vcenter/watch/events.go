package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/topology/signal"
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
)

// eventCollector is the type of collectors of events.
const eventCollector = "EventHistoryCollector"

// tagEvents are the types of the events that vCenter logs when a tag is attached or
// detached.
var tagEvents = []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}

// An eventWatch has the vCenter report tagging events, in a goroutine of its own.
type eventWatch struct {
	vcenter   string
	session   Session
	collector types.ManagedObjectReference // of properties
	// published is notified with each snapshot: Watch sends, run receives once.
	published signal.Signal
	// delay is the time from the first snapshot to the first request.
	delay time.Duration
	// logged is the error that was logged last, empty after none.
	logged string
}

// run has events reported some time after there is a snapshot, since a vCenter has to search
// its database for that while Nodes wait to be initialized. They only make the next reading of
// tags come sooner, so a vCenter that does not show them is watched all the same: only a lost
// session ends the watch.
func (e *eventWatch) run(ctx context.Context) error {
	select {
	case <-e.published:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(e.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	err := e.session.Classify(e.collect(ctx))
	switch {
	case err == nil:
		e.logged = ""
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case faults.SessionLost(err):
		return err
	}
	if e.logged != err.Error() {
		e.logged = err.Error()
		klog.FromContext(ctx).Info("Tagging events cannot be seen; tags are read at intervals only", "err", faults.Printable{Err: err})
	}
	return nil
}

// TryEvents has a vCenter make the collector that a watch has it make some time after its first
// snapshot, and destroy it again. The error says why tagging events cannot be collected.
func TryEvents(ctx context.Context, s Session, vcenter string) error {
	e := &eventWatch{vcenter: vcenter, session: s}
	events, err := e.makeCollector(ctx)
	if events.Value != "" {
		if gone := s.Destroy(ctx, events); err == nil {
			err = gone
		}
	}
	return err
}

// collect has events reported.
func (e *eventWatch) collect(ctx context.Context) error {
	events, err := e.makeCollector(ctx)
	if err == nil {
		_, err = methods.CreateFilter(ctx, e.session.LongPoll(eventsTime), &types.CreateFilter{This: e.collector, Spec: types.PropertyFilterSpec{
			PropSet:   []types.PropertySpec{{Type: eventCollector, PathSet: []string{"latestPage"}}},
			ObjectSet: []types.ObjectSpec{{Obj: events}},
		}})
	}
	if err != nil {
		_ = e.session.Destroy(ctx, events) // what cannot be destroyed now is tried again before the next watch
	}
	return err
}

// makeCollector makes a collector of the events since the first snapshot, by the vCenter's own clock,
// so that it has next to nothing to find at first. That is also why delayedInit, which only
// 8.0 U3 knows, is not needed.
func (e *eventWatch) makeCollector(ctx context.Context) (events types.ManagedObjectReference, err error) {
	client := e.session.LongPoll(eventsTime)
	if client.ServiceContent.EventManager == nil {
		return events, fmt.Errorf("vCenter %q has no event manager", e.vcenter)
	}
	now, err := methods.GetCurrentTime(ctx, client)
	if err != nil {
		return events, fmt.Errorf("asking for the vCenter's time: %w", err)
	}
	spec := types.EventFilterSpec{
		EventTypeId:        tagEvents,
		Time:               &types.EventFilterSpecByTime{BeginTime: types.NewTime(now.Add(-e.delay))},
		DisableFullMessage: types.NewBool(true),
		MaxCount:           eventsPage,
	}
	events, err = e.create(ctx, client, spec)
	if faults.Is[types.InvalidArgument](err) || faults.Is[types.InvalidRequest](err) {
		// An older vCenter may not know all of it.
		spec.DisableFullMessage, spec.MaxCount = nil, 0
		if events, err = e.create(ctx, client, spec); err == nil {
			_, err = methods.SetCollectorPageSize(ctx, client, &types.SetCollectorPageSize{This: events, MaxCount: eventsPage})
		}
	}
	return events, err
}

func (e *eventWatch) create(ctx context.Context, client *vim25.Client, spec types.EventFilterSpec) (types.ManagedObjectReference, error) {
	res, err := methods.CreateCollectorForEvents(ctx, client, &types.CreateCollectorForEvents{This: *client.ServiceContent.EventManager, Filter: spec})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("collecting tagging events: %w", err)
	}
	e.session.Track(res.Returnval, session.DestroyHistoryCollector)
	return res.Returnval, nil
}
