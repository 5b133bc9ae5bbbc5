package election

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// ErrFenced is the error of a write to a Node while this process does not lead.
var ErrFenced = errors.New("this instance does not hold the Lease: it writes to no Node")

// A Fence lets writes to Nodes pass only while this process leads. The framework's
// controllers have workers that cannot be waited for, and some of their writes do not
// end with any context. The zero value is closed.
type Fence struct {
	mu   sync.Mutex
	open bool
	// lowered is true once it was closed for good.
	lowered bool
	// inFlight is the number of writes in flight.
	inFlight int
	// idle is closed once a lowered fence has no write in flight; nil before Lower.
	idle chan struct{}
}

// Raise lets writes pass, unless the fence was lowered: the Lease may be lost before the
// process that waits for it has noticed that it leads.
func (f *Fence) Raise() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = !f.lowered
}

// Lower refuses writes from now on, for good. The channel is closed once no write that has
// passed is in flight.
func (f *Fence) Lower() (idle <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
	f.lowered = true
	if f.idle == nil {
		f.idle = make(chan struct{})
		if f.inFlight == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

// enter reports whether a write may pass; exit ends it then.
func (f *Fence) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open {
		f.inFlight++
	}
	return f.open
}

func (f *Fence) exit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	if f.inFlight == 0 && f.idle != nil {
		close(f.idle)
	}
}

// around returns a transport whose writes to Nodes pass the fence.
func (f *Fence) around(next http.RoundTripper) http.RoundTripper { return &fenced{f, next} }

// A fenced transport refuses writes to Nodes while the fence is closed.
type fenced struct {
	fence *Fence
	next  http.RoundTripper
}

func (t *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if !writesNode(r) {
		return t.next.RoundTrip(r)
	}
	if !t.fence.enter() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, ErrFenced
	}
	defer t.fence.exit()
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *fenced) WrappedRoundTripper() http.RoundTripper { return t.next }

// writesNode reports whether a request changes a Node.
func writesNode(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && strings.Contains(r.URL.Path+"/", "/api/v1/nodes/")
}

// Config returns the configuration of clients whose writes to Nodes pass the fence.
func (f *Fence) Config(base *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(base)
	cfg.Wrap(f.around)
	return cfg
}

// Await reports whether a channel is closed before the context is done.
func Await(ctx context.Context, ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		return false
	}
}
