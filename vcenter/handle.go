package vcenter

import (
	"sync/atomic"

	"vzones/config"
	"vzones/topology/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch"
)

// A handle is what the fleet has of an actor. Any goroutine may use it: nothing in it changes
// but what is made for that.
type handle struct {
	name string
	// first is the target that the actor begins with.
	first *target
	guard *faults.Guard
	// throttle decides when credentials may be shown to the vCenter.
	throttle *session.LoginThrottle
	// slots bound the requests in flight of searches for single machines.
	slots watch.Slots

	// inbox goes to the watches. targets has the last target that was not received: the
	// fleet sends, the actor receives, it is never closed. credentialsChanged says that the
	// credentials may have changed.
	inbox              *watch.Inbox
	targets            chan *target
	credentialsChanged signal.Signal

	// status is what the actor published last.
	status atomic.Pointer[status]
}

func newHandle(t *target, opts timing) *handle {
	h := &handle{
		name: t.cfg.Name, first: t, guard: &faults.Guard{}, throttle: session.NewLoginThrottle(opts.loginLimits, opts.accounts),
		slots: watch.NewSlots(), inbox: watch.NewInbox(t.tagRequirements), targets: make(chan *target, 1), credentialsChanged: signal.New(),
	}
	h.status.Store(&status{cfg: &t.cfg, state: inventory.State{VCenter: h.name}, endpoint: h.newEndpoint(&t.cfg, opts)})
	return h
}

func (h *handle) newEndpoint(cfg *config.VCenter, opts timing) *session.Endpoint {
	return session.NewEndpoint(cfg, session.Options{
		Timeout: opts.timeout, LoginTimeout: opts.loginTimeout, InFlight: opts.inFlight,
		Throttle: h.throttle, Observer: opts.observer, Guard: h.guard,
	})
}

func (h *handle) newTagReader(opts timing) *tags.Reader {
	// Half of the requests that may be in flight stay free for SOAP, which answers when
	// the tagging service does not.
	return tags.NewReader(h.name, opts.tagRefresh, max(1, opts.inFlight/2))
}

// sendTarget replaces the target. Only one goroutine may call it at a time.
func (h *handle) sendTarget(t *target) {
	select {
	case <-h.targets: // it was not received
	default:
	}
	h.targets <- t
}
