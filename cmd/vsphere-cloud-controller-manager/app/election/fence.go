package election

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// ErrFenced is the error of a write to a Node by an instance that does not lead.
var ErrFenced = errors.New("this instance does not hold the Lease and must not write to Nodes")

// A Fence allows writes to Nodes only while this process leads. Canceling the context is not enough, because some of the
// framework's workers write without it. The zero value rejects writes.
type Fence struct {
	mu       sync.Mutex
	open     bool
	closed   bool
	inFlight int
	// idle is nil before Close, and closed once no write is in flight after it.
	idle chan struct{}
}

// Open allows writes, unless Close was called before: the loss of the Lease may be handled before its acquisition.
func (f *Fence) Open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = !f.closed
}

// Close rejects writes for good. The channel is closed once no write is in flight.
func (f *Fence) Close() (idle <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
	f.closed = true
	if f.idle == nil {
		f.idle = make(chan struct{})
		if f.inFlight == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

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

func (f *Fence) around(next http.RoundTripper) http.RoundTripper { return &fenced{f, next} }

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

// WrappedRoundTripper gives client-go access to the next transport.
func (t *fenced) WrappedRoundTripper() http.RoundTripper { return t.next }

func writesNode(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && strings.Contains(r.URL.Path+"/", "/api/v1/nodes/")
}

// Config returns the configuration of clients behind the fence.
func (f *Fence) Config(base *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(base)
	cfg.Wrap(f.around)
	return cfg
}

// Await waits for a channel to be closed. It returns false if the context is done first.
func Await(ctx context.Context, ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		return false
	}
}
