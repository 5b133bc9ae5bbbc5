package fleet

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// longPolls are the long polls (WaitForUpdatesEx) of one vCenter. The simulator's own long polls
// ignore the end of their client or session, and read the inventory while it changes. Therefore
// each long poll is a series of immediate polls, repeated after every change.
type longPolls struct {
	mu      sync.Mutex
	waiting map[pollKey]chan struct{}
}

type pollKey struct{ session, collector string }

func newPollKey(r *http.Request, m *simulator.Method) pollKey {
	return pollKey{session: sessionOf(r), collector: m.This.Value}
}

func decode(body []byte) (*simulator.Method, error) {
	return simulator.UnmarshalBody(types.TypeFunc(), body)
}

func encode(operation string, body any) []byte {
	out, err := xml.Marshal(soap.Envelope{Header: &soap.Header{ID: operation}, Body: body})
	if err != nil {
		panic(err) // requests of this package always marshal
	}
	return out
}

func (v *VCenter) poll(r *http.Request, body []byte) *response {
	m, err := decode(body)
	if err != nil {
		// The simulator returns the right fault for an invalid request.
		return v.simulated(r, body)
	}
	req := m.Body.(*types.WaitForUpdatesEx)
	var options types.WaitOptions
	if req.Options != nil {
		options = *req.Options
	}
	var timeout <-chan time.Time
	isImmediate := false
	if s := options.MaxWaitSeconds; s != nil {
		isImmediate = *s <= 0
		t := time.NewTimer(time.Duration(*s) * time.Second)
		defer t.Stop()
		timeout = t.C
	}
	options.MaxWaitSeconds = types.NewInt32(0)
	req.Options = &options
	immediate := encode("", &methods.WaitForUpdatesExBody{Req: req})

	canceled, leave := v.longPolls.enter(newPollKey(r, m))
	defer leave()
	if req.Version == "" {
		v.wait(r.Context(), v.currentConditions().firstPageDelay)
	}
	for {
		woken := v.wake.next()
		v.world.RLock()
		res := v.watchedViews.reportLeft(m.This, v.simulated(r, immediate))
		v.world.RUnlock()
		c := v.currentConditions()
		if c.blindSessions[sessionOf(r)] {
			return v.blindPoll(r)
		}
		if isImmediate || c.drop || !isUnchanged(res) || c.oddAnswer("WaitForUpdatesEx") != nil || c.spoiledSessions[sessionOf(r)] != 0 {
			return res
		}
		select {
		case <-woken:
		case <-timeout:
			return res
		case <-canceled:
			return v.simulated(r, encode(operationCanceled, &methods.WaitForUpdatesExBody{Req: req}))
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

func isUnchanged(res *response) bool {
	return res.status == http.StatusOK && !bytes.Contains(res.body, []byte("<returnval"))
}

func (p *longPolls) enter(key pollKey) (canceled <-chan struct{}, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[pollKey]chan struct{})
	}
	ch := make(chan struct{})
	p.waiting[key] = ch
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiting[key] == ch {
			delete(p.waiting, key)
		}
	}
}

func (p *longPolls) cancel(r *http.Request, body []byte) {
	m, err := decode(body)
	if err != nil {
		return
	}
	key := newPollKey(r, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ch, ok := p.waiting[key]; ok {
		close(ch)
		delete(p.waiting, key)
	}
}

// A watcher wakes all long polls when an object of the registry changes.
type watcher struct{ wake *broadcast }

func (watcher) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "FleetWatcher", Value: "watcher"}
}

func (w watcher) PutObject(*simulator.Context, mo.Reference) { w.wake.notify() }

func (w watcher) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {
	w.wake.notify()
}

func (w watcher) RemoveObject(*simulator.Context, types.ManagedObjectReference) {
	w.wake.notify()
}
