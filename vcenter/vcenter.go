package vcenter

import (
	"sync/atomic"
	"time"

	"vzones/config"
	"vzones/internal/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch"
)

// A vCenter is safe for concurrent use.
type vCenter struct {
	name         string
	guard        *faults.Guard
	throttle     *session.LoginThrottle
	slots        watch.Slots
	deletionHold time.Duration

	inbox                           *watch.Inbox
	specChanged, credentialsChanged signal.Signal

	spec   atomic.Pointer[spec]
	status atomic.Pointer[status]
}

func newVCenter(s *spec, opts Options) *vCenter {
	v := &vCenter{
		name: s.cfg.Name, guard: &faults.Guard{}, throttle: session.NewLoginThrottle(opts.LoginLimits, opts.accounts),
		deletionHold: opts.DeletionHold, slots: watch.NewSlots(), inbox: watch.NewInbox(&s.Requirements), specChanged: signal.New(), credentialsChanged: signal.New(),
	}
	v.spec.Store(s)
	v.status.Store(&status{spec: s, state: inventory.State{VCenter: v.name}, endpoint: v.newEndpoint(&s.cfg, opts), reading: &reading{}})
	return v
}

func (v *vCenter) newEndpoint(cfg *config.VCenter, opts Options) *session.Endpoint {
	return session.NewEndpoint(cfg, session.Options{
		Timeout: opts.Timeout, LoginTimeout: opts.LoginTimeout, InFlight: opts.InFlight,
		Throttle: v.throttle, Observer: opts.Observer, Guard: v.guard,
	})
}

func (v *vCenter) newTagReader(opts Options) *tags.Reader {
	// Half of the requests in flight stay free for SOAP if the tagging service hangs.
	return tags.NewReader(v.name, opts.TagRefresh, max(1, opts.InFlight/2))
}

func (v *vCenter) configure(s *spec) {
	v.spec.Store(s)
	v.specChanged.Notify()
}

func (v *vCenter) state() inventory.State {
	published := v.status.Load()
	configured := v.spec.Load()
	s := inventory.State{VCenter: v.name}
	if published.hasAddressOf(configured) {
		s = published.stateFor(configured)
	}
	s.Address = configured.cfg.Address()
	return s
}

// session returns the session with the configured address, or nil.
func (v *vCenter) session() *session.Session { return v.sessionOf(v.status.Load()) }

func (v *vCenter) sessionOf(published *status) *session.Session {
	if published.session == nil || !published.session.IsConnectedTo(&v.spec.Load().cfg) {
		return nil
	}
	return published.session
}

// A spec is an immutable configuration of a vCenter.
type spec struct {
	cfg config.VCenter
	Requirements
}

// needsRestart reports whether a watch with the previous spec must restart. d is the difference.
func (s *spec) needsRestart(previous *spec, d config.Effect) bool {
	return d.Has(config.EffectAddress|config.EffectTrust|config.EffectVMs|config.EffectCalls) ||
		previous.Tags != s.Tags || previous.HostGroups != s.HostGroups || previous.FaultDomains != s.FaultDomains
}
