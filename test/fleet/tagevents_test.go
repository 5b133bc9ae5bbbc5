package fleet

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// TestTaggingEventsReachAPropertyCollector: those that are logged from now on, as many
// as the page has, with the name of the object and nothing else of it.
func TestTaggingEventsReachAPropertyCollector(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	if err := v.TaggingEvents(3, "other"); err != nil {
		t.Fatal(err)
	}
	now, err := methods.GetCurrentTime(ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	res, err := methods.CreateCollectorForEvents(ctx, c.Client, &types.CreateCollectorForEvents{
		This:   *c.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{EventTypeId: []string{tagAttached, tagDetached}, Time: &types.EventFilterSpecByTime{BeginTime: now}, MaxCount: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: res.Returnval}},
		PropSet:   []types.PropertySpec{{Type: "EventHistoryCollector", PathSet: []string{"latestPage"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := &eye{&follower{T: t, ctx: ctx, v: v, w: &watcherClient{c: c, pc: pc}}}
	page := func() (events []types.BaseEvent) {
		got, err := e.w.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range got[res.Returnval.Value].ChangeSet {
			if change.Val != nil {
				events = change.Val.(types.ArrayOfEvent).Event
			}
		}
		return events
	}
	if events := page(); len(events) != 0 {
		t.Errorf("%d events from before", len(events))
	}
	if err := v.TaggingEvents(1, "other"); err != nil {
		t.Fatal(err)
	}
	events := page()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	x, ok := events[0].(*types.EventEx)
	if !ok || x.EventTypeId != tagAttached || len(x.Arguments) != 3 || x.Arguments[1].Value != "other" || x.ObjectId != "" {
		t.Errorf("event %+v", events[0])
	}
	if err := v.TaggingEvents(5, "other"); err != nil {
		t.Fatal(err)
	}
	if events := page(); len(events) != 2 {
		t.Errorf("%d events on a page of 2", len(events))
	}
	if n := v.EventCollectors(); n != 1 {
		t.Errorf("%d collectors", n)
	}
	if _, err := methods.DestroyCollector(ctx, c.Client, &types.DestroyCollector{This: res.Returnval}); err != nil {
		t.Error(err)
	}
	if n := v.EventCollectors(); n != 0 {
		t.Errorf("%d collectors after the only one was destroyed", n)
	}
}

// TestTagsAreLogged where that is switched on.
func TestTagsAreLogged(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	for _, do := range []func(object, category, tag string) error{v.Tag, v.Retag, v.Untag} {
		if err := do("other", "team", "blue"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(v.events.history); n != 0 {
		t.Errorf("%d events before", n)
	}
	v.LogTagEvents()
	if err := v.Retag("other", "team", "green"); err != nil {
		t.Fatal(err)
	}
	if err := v.Untag("other", "team", "green"); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range v.events.history {
		kinds = append(kinds, e.(*types.EventEx).EventTypeId)
	}
	if len(kinds) < 2 || kinds[0] != tagAttached || kinds[len(kinds)-1] != tagDetached {
		t.Errorf("events %q", kinds)
	}
}

// TestTooManyEventCollectors are refused.
func TestTooManyEventCollectors(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	var err error
	for n := 0; err == nil && n <= maxEventCollectors; n++ {
		_, err = methods.CreateCollectorForEvents(ctx, c.Client, &types.CreateCollectorForEvents{This: *c.ServiceContent.EventManager})
	}
	if !fault.Is(err, &types.InvalidState{}) {
		t.Errorf("error %v", err)
	}
	v.EndSessions()
	if n := v.EventCollectors(); n != 0 {
		t.Errorf("%d collectors of sessions that have ended", n)
	}
}
