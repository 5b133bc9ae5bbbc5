package vcenter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
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

// followsCluster is a watch that wants the tags of a cluster named c%2f1.
func followsCluster() *watch {
	cluster := types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c7"}
	root := types.ManagedObjectReference{Type: "Folder", Value: "group-d1"}
	w := &watch{
		c:     newConnection(&target{cfg: config.VCenter{Name: "east"}}, nil, timing{tagRefresh: time.Hour}, func() {}),
		model: newModel("east", types.ServiceContent{RootFolder: root}, nil), known: newTree(root),
		index: filters{}, listed: map[string]bool{}, missing: map[string]bool{}, refused: map[string]time.Time{},
		tagWanted: make(chan []types.ManagedObjectReference, 1), published: make(chan struct{}, 1),
		tagRefs: []types.ManagedObjectReference{cluster},
	}
	w.model.tree.objects[cluster] = properties{"name": "c%2f1"}
	return w
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
		if got := followsCluster().concerned(c.page); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	w := followsCluster()
	if !w.concerned(latestPage(event(1, "c/1"))) || w.concerned(latestPage(event(1, "c/1"), event(2, "other"))) || !w.concerned(latestPage(event(3, "c/1"), event(2, "other"))) {
		t.Error("an event that was on the page before counts again, or one that is new does not")
	}
	w.model.tree.objects[w.tagRefs[0]] = properties{}
	if !w.concerned(latestPage(event(9, "other"))) {
		t.Error("an object whose name is not known is ruled out")
	}
}

// TestEventsAreThrottled: 450 events in 5 s lead to one reading at once and one after
// the last event, and to no snapshot. Others lead to none.
func TestEventsAreThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := followsCluster()
		w.complete, w.primed = true, true
		w.c.publish(&inventory.State{VCenter: "east"})
		updates := make(chan *types.UpdateSet)
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx, updates) }()
		post := func(key int32, object string) {
			updates <- &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{*latestPage(event(key, object))}}}}
		}
		var last time.Time
		readings := 0
		wait := func(d time.Duration) {
			end := time.After(d)
			for {
				select {
				case <-w.tagWanted:
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
		if w.c.state.Load().Snapshot != nil {
			t.Error("events have led to a snapshot")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestTaggingEventsReadTags through the simulated vCenter: nothing else would for an
// hour.
func TestTaggingEventsReadTags(t *testing.T) {
	opts := slow
	opts.TagRefresh = time.Hour
	w := run(t, twoVCenters, opts, nil)
	east := w.sim.VCenter("east")
	east.LogTagEvents()
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	w.until("a collector", func([]inventory.State) bool { return east.EventCollectors() == 1 })
	w.quiet()
	if err := east.Retag("c1", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 placed by the new tag", func([]inventory.State) bool { return w.zone(id) == "east/z" })
}

// TestCollectorsOfEventsThatFail: whatever the vCenter answers, the watch goes on, with
// tags at intervals, and nothing is left behind.
func TestCollectorsOfEventsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		break_   func(*fleet.VCenter)
		requests int
	}{
		"too many":             {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidState{}) }, 1},
		"not permitted":        {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.NoPermission{}) }, 1},
		"the filter":           {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidArgument{}) }, 2},
		"the filter's syntax":  {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.InvalidRequest{}) }, 2},
		"anything else":        {func(v *fleet.VCenter) { v.Fault("CreateCollectorForEvents", &types.RuntimeFault{}) }, 1},
		"an empty answer":      {func(v *fleet.VCenter) { _ = v.AnswerOddly("CreateCollectorForEvents", fleet.OddEmpty) }, 1},
		"the vCenter's time":   {func(v *fleet.VCenter) { v.Fault("CurrentTime", &types.RuntimeFault{}) }, 0},
		"a proxy's bare error": {func(v *fleet.VCenter) { v.FaultREST("CreateCollectorForEvents", 503) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) { c.break_(sim.VCenter("east")) })
			east := w.sim.VCenter("east")
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			w.until("asked", func([]inventory.State) bool { return east.Requests()["CreateCollectorForEvents"] >= c.requests })
			if err := east.Retag("c1", "zone", "z"); err != nil {
				t.Fatal(err)
			}
			w.until("n1 placed by the new tag", func([]inventory.State) bool { return w.zone(id) == "east/z" })
			r := east.Requests()
			if r["Login"] != 1 || r["CreatePropertyCollector"] != 1 || r["CreateCollectorForEvents"] != c.requests {
				t.Errorf("requests %v", r)
			}
			if err := w.fleet.States()[0].Trouble; err != nil {
				t.Errorf("trouble %v", err)
			}
		})
	}
}

// TestAPageSizeThatIsRefused: the plainer collector is of no use then, and destroyed.
func TestAPageSizeThatIsRefused(t *testing.T) {
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("east").RefuseEventPages()
		sim.VCenter("west").RefuseEventPages()
		sim.VCenter("east").Fault("SetCollectorPageSize", &types.InvalidArgument{})
	})
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	w.until("asked", func([]inventory.State) bool {
		return east.Requests()["DestroyCollector"] == 1 && west.EventCollectors() == 1
	})
	if n := east.EventCollectors(); n != 0 {
		t.Errorf("%d collectors", n)
	}
}
