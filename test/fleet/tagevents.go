package fleet

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The tagging service logs these events.
const (
	tagAttached = "com.vmware.cis.tagging.attach"
	tagDetached = "com.vmware.cis.tagging.detach"
)

const (
	defaultEventPage = 10
	maxEventPage     = 1000
	maxEventHistory  = 1000
	// maxEventCollectors is vCenter's default limit for one session.
	maxEventCollectors = 32
)

// tagEvents are the tagging events of one vCenter and the collectors of events,
// which the simulator's own event manager cannot serve: it deadlocks where an event
// is posted while a property collector waits.
type tagEvents struct {
	mu         sync.Mutex
	key        int32
	history    []types.BaseEvent
	collectors []*eventCollector
}

// eventManager is what the simulator calls in the place of its own.
type eventManager struct {
	mo.EventManager
	v *VCenter
}

// An eventCollector belongs to one session.
type eventCollector struct {
	mo.EventHistoryCollector
	events *tagEvents
	filter types.EventFilterSpec
	size   int
}

// eventManagerRef is the event manager that is called in the place of the simulator's.
var eventManagerRef = types.ManagedObjectReference{Type: "EventManager", Value: "FleetEventManager"}

// serveEvents puts the event manager into the registry.
func (v *VCenter) serveEvents() {
	e := &eventManager{v: v}
	e.Self = eventManagerRef
	v.registry().Put(e)
}

// redirect leads a request for a collector of events to the event manager that makes
// one.
func (v *VCenter) redirect(m *simulator.Method) {
	if mayRedirect(m.Name) && m.This == *v.content().AuthorizationManager {
		m.This = authorizationRef
	}
	if own := v.content().EventManager; m.Name == "CreateCollectorForEvents" && own != nil && m.This == *own {
		m.This = eventManagerRef
	}
}

// CreateCollectorForEvents makes a collector of tagging events.
func (e *eventManager) CreateCollectorForEvents(ctx *simulator.Context, req *types.CreateCollectorForEvents) soap.HasFault {
	body := new(methods.CreateCollectorForEventsBody)
	size := int(req.Filter.MaxCount)
	if size == 0 {
		size = defaultEventPage
	}
	e.v.faults.mu.Lock()
	refused := e.v.faults.plainEvents && req.Filter.MaxCount != 0
	e.v.faults.mu.Unlock()
	if refused || size < 0 || size > maxEventPage {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "maxCount"})
		return body
	}
	t := &e.v.events
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.collectors) >= maxEventCollectors {
		body.Fault_ = simulator.Fault("Too many event collectors", new(types.InvalidState))
		return body
	}
	c := &eventCollector{events: t, filter: req.Filter, size: size}
	c.Self.Type = "EventHistoryCollector"
	c.Filter = req.Filter
	c.LatestPage = c.page()
	ref := ctx.Session.Put(c).Reference()
	t.collectors = append(t.collectors, c)
	body.Res = &types.CreateCollectorForEventsResponse{Returnval: ref}
	return body
}

// DestroyCollector ends the collector.
func (c *eventCollector) DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault {
	c.events.mu.Lock()
	c.events.collectors = slices.DeleteFunc(c.events.collectors, func(o *eventCollector) bool { return o == c })
	c.events.mu.Unlock()
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyCollectorBody{Res: new(types.DestroyCollectorResponse)}
}

// SetCollectorPageSize sets how many events the latest page has at most.
func (c *eventCollector) SetCollectorPageSize(_ *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault {
	body := new(methods.SetCollectorPageSizeBody)
	if req.MaxCount <= 0 || req.MaxCount > maxEventPage {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "maxCount"})
		return body
	}
	c.events.mu.Lock()
	defer c.events.mu.Unlock()
	c.size = int(req.MaxCount)
	c.LatestPage = c.page()
	body.Res = new(types.SetCollectorPageSizeResponse)
	return body
}

// page returns the latest events that the collector is for, oldest first.
func (c *eventCollector) page() []types.BaseEvent {
	var page []types.BaseEvent
	for _, e := range c.events.history {
		if c.wants(e) {
			page = append(page, e)
		}
	}
	return slices.Clone(page[max(0, len(page)-c.size):])
}

func (c *eventCollector) wants(e types.BaseEvent) bool {
	if t := c.filter.Time; t != nil && t.BeginTime != nil && e.GetEvent().CreatedTime.Before(*t.BeginTime) {
		return false
	}
	x, ok := e.(*types.EventEx)
	return ok && (len(c.filter.EventTypeId) == 0 || slices.Contains(c.filter.EventTypeId, x.EventTypeId))
}

// logTagging logs n tagging events about an object. As on vCenter 7 and 8 they name tag,
// object and user, and nothing else says which object it is.
func (v *VCenter) logTagging(kind, tag string, e mo.Entity, n int) {
	t := &v.events
	t.mu.Lock()
	defer t.mu.Unlock()
	for range n {
		t.key++
		t.history = append(t.history, &types.EventEx{
			Event:       types.Event{Key: t.key, ChainId: t.key, CreatedTime: time.Now(), UserName: v.user},
			EventTypeId: kind, Severity: "info",
			Arguments: []types.KeyAnyValue{{Key: "Tag", Value: tag}, {Key: "Object", Value: e.Entity().Name}, {Key: "User", Value: v.user}},
		})
	}
	t.history = slices.Clone(t.history[max(0, len(t.history)-maxEventHistory):])
	for _, c := range t.collectors {
		v.inv.update(c, changes{{Name: "latestPage", Val: c.page()}})
	}
	v.wake.notify()
}

// forget ends a collector whose session is no more.
func (t *tagEvents) forget(ref types.ManagedObjectReference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collectors = slices.DeleteFunc(t.collectors, func(c *eventCollector) bool { return c.Self == ref })
}

// EventCollectors returns how many collectors of events there are.
func (v *VCenter) EventCollectors() int {
	v.events.mu.Lock()
	defer v.events.mu.Unlock()
	return len(v.events.collectors)
}

// LogTagEvents has Tag, Untag and Retag log the events that the tagging service
// logs, from now on. Otherwise a change of tags is seen at the next reading only.
func (v *VCenter) LogTagEvents() { v.setFault(func(f *faults) { f.events = true }) }

// RefuseEventPages refuses a filter of events with a size of the page, as an older
// vCenter does.
func (v *VCenter) RefuseEventPages() { v.setFault(func(f *faults) { f.plainEvents = true }) }

// TaggingEvents logs n events that say that a tag was attached to an object, which
// happens to many objects that are nothing to the client.
func (v *VCenter) TaggingEvents(n int, object string) error {
	v.world.Lock()
	defer v.world.Unlock()
	e, err := v.inv.find(object)
	if err != nil {
		return err
	}
	v.logTagging(tagAttached, "a-tag", e, n)
	return nil
}

// tagged logs that a tag was attached to an object or detached, where that is to
// be logged.
func (v *VCenter) tagged(ref types.ManagedObjectReference, tag string, on bool) {
	v.faults.mu.Lock()
	log := v.faults.events
	v.faults.mu.Unlock()
	if !log {
		return
	}
	kind := tagAttached
	if !on {
		kind = tagDetached
	}
	v.world.Lock()
	defer v.world.Unlock()
	v.logTagging(kind, tag, v.inv.entity(ref), 1)
}
