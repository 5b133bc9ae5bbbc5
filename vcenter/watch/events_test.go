package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// event returns a tagging event about an object as vCenter 8 logs it.
func event(key int32, object string) types.BaseEvent {
	return &types.EventEx{
		Event: types.Event{Key: key}, EventTypeId: tagEvents[0],
		Arguments: []types.KeyAnyValue{{Key: "Tag", Value: "a"}, {Key: "Object", Value: object}, {Key: "User", Value: "VSPHERE.LOCAL\\x"}},
	}
}

func latestPage(events ...types.BaseEvent) *types.ObjectUpdate {
	return &types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: types.ManagedObjectReference{Type: eventCollector, Value: "1"}, ChangeSet: []types.PropertyChange{{Name: "latestPage", Val: types.ArrayOfEvent{Event: events}}}}
}

// concern is that of a watch's event schedule.
func concern(w *Watch, page *types.ObjectUpdate) bool {
	return w.events.concern(page, w.tags.refs, w.model.Tree)
}

// TestWhichEventsConcernUs: what may be about an object whose tags are wanted, and
// what certainly is not.
func TestWhichEventsConcernUs(t *testing.T) {
	var full []types.BaseEvent
	for key := range int32(eventsPage) {
		full = append(full, event(key+1, "other"))
	}
	for name, c := range map[string]struct {
		page *types.ObjectUpdate
		want bool
	}{
		"our cluster":                {latestPage(event(1, "c%2f1")), true},
		"its name unescaped":         {latestPage(event(1, "c/1")), true},
		"with white space":           {latestPage(event(1, "\n c/1 \n")), true},
		"several objects":            {latestPage(event(1, "other, c/1")), true},
		"another object":             {latestPage(event(1, "c/12")), false},
		"others":                     {latestPage(event(1, "vm-7"), event(2, "c")), false},
		"no name":                    {latestPage(event(1, "")), true},
		"a full page":                {latestPage(full...), true},
		"not an EventEx":             {latestPage(&types.UserLoginSessionEvent{}), true},
		"no events":                  {latestPage(), false},
		"unset":                      {&types.ObjectUpdate{ChangeSet: []types.PropertyChange{{Name: "latestPage"}}}, false},
		"a single one":               {&types.ObjectUpdate{ChangeSet: []types.PropertyChange{{Name: `latestPage[7]`, Val: event(7, "c/1")}}}, true},
		"a value that is none":       {&types.ObjectUpdate{ChangeSet: []types.PropertyChange{{Name: "latestPage", Val: "x"}}}, true},
		"another object by its ID":   {latestPage(&types.EventEx{ObjectId: "vm-1", ObjectType: "VirtualMachine"}), false},
		"our object by its ID":       {latestPage(&types.EventEx{ObjectId: "domain-c7", ObjectType: "ClusterComputeResource", ObjectName: "x"}), true},
		"an ID of an unknown object": {latestPage(&types.EventEx{ObjectId: "urn:vmomi:x"}), true},
	} {
		w, _ := newWatch(nil, nil)
		if got := concern(w, c.page); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	w, _ := newWatch(nil, nil)
	if !concern(w, latestPage(event(1, "c/1"))) || concern(w, latestPage(event(1, "c/1"), event(2, "other"))) || !concern(w, latestPage(event(3, "c/1"), event(2, "other"))) {
		t.Error("an event that was on the page before counts again, or one that is new does not")
	}
	w.model.Tree.Remove(cluster)
	if !concern(w, latestPage(event(9, "other"))) {
		t.Error("an object whose name is not known is ruled out")
	}
}

// TestEventsAreThrottled: 450 events in 5 s lead to one reading at once and one after
// the last event, and to no snapshot. Others lead to none.
func TestEventsAreThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, r := newWatch(nil, nil)
		w.progress.complete()
		ended := make(chan error, 1)
		go func() { ended <- w.follow(ctx) }()
		post := func(key int32, object string) {
			w.poller.updates <- &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{*latestPage(event(key, object))}}}}
		}
		var last time.Time
		readings := 0
		wait := func(d time.Duration) {
			end := time.After(d)
			for {
				select {
				case <-w.tags.wanted:
					readings++
					last = time.Now()
				case <-end:
					return
				}
			}
		}
		for key := range int32(450) {
			post(key+1, "other")
			wait(10 * time.Millisecond)
		}
		wait(time.Minute)
		if readings != 0 {
			t.Errorf("%d readings for objects that are not followed", readings)
		}
		for key := range int32(449) {
			post(key+1000, "c/1")
			wait(10 * time.Millisecond)
		}
		posted := time.Now()
		wait(time.Minute)
		if readings != 2 || last.Before(posted) || last.After(posted.Add(eventsPause)) {
			t.Errorf("%d readings, the last %v after the last event", readings, last.Sub(posted))
		}
		if _, snapshot := r.contact(); snapshot != nil {
			t.Error("events have led to a snapshot")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// collecting is a vCenter that knows the time, and makes no collector of events but remembers
// since when they were asked for.
type collecting struct{ since time.Time }

// untimed is a session whose client for long polls is that for all calls.
type untimed struct{ Session }

func (s untimed) LongPoll(time.Duration) *vim25.Client { return s.Client() }

func (c *collecting) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	switch res := res.(type) {
	case *methods.CurrentTimeBody:
		res.Res = &types.CurrentTimeResponse{Returnval: time.Now()}
		return nil
	case *methods.CreateCollectorForEventsBody:
		c.since = *req.(*methods.CreateCollectorForEventsBody).Req.Filter.Time.BeginTime
	}
	return errors.New("not here")
}

// TestEventsAreCollectedLater: no request for them is made until some time after the first
// snapshot, when Nodes that waited for it are initialized. Those since the snapshot count.
func TestEventsAreCollectedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &collecting{}
		w, _ := newWatch(server, nil)
		w.session.Client().ServiceContent.EventManager = &types.ManagedObjectReference{Type: "EventManager", Value: "EventManager"}
		w.tagEvents.session, w.tagEvents.delay = untimed{w.session}, 10*time.Second
		began := time.Now()
		time.AfterFunc(time.Second, w.tagEvents.published.Notify)
		if err := w.tagEvents.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := time.Since(began); after != 11*time.Second {
			t.Errorf("asked %v after the begin, not 10 s after the first snapshot", after)
		}
		if snapshot := began.Add(time.Second); !server.since.Equal(snapshot) {
			t.Errorf("asked for events since %v, not since the snapshot at %v", server.since, snapshot)
		}
		if w.tagEvents.logged == "" {
			t.Error("the vCenter was not asked at all")
		}

		ctx, cancel := context.WithCancel(t.Context())
		w.tagEvents.published.Notify()
		began = time.Now()
		time.AfterFunc(time.Second, cancel)
		if err := w.tagEvents.run(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}
