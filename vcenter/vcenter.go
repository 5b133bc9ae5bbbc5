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

// A vCenter is one of a fleet. Any goroutine may use it; its monitor follows it.
type vCenter struct {
	name  string
	guard *faults.Guard
	// throttle decides when credentials may be shown to the vCenter.
	throttle *session.LoginThrottle
	// slots bound the requests in flight of searches for single machines.
	slots watch.Slots
	// absenceHold is Options.AbsenceHold.
	absenceHold time.Duration

	// inbox goes to the watches. specChanged says that spec has changed, credentialsChanged
	// that the credentials may have.
	inbox                           *watch.Inbox
	specChanged, credentialsChanged signal.Signal

	// spec is the configuration. The fleet sets it, the monitor reads it.
	spec atomic.Pointer[spec]
	// status is what the monitor published last.
	status atomic.Pointer[status]
}

func newVCenter(s *spec, opts Options) *vCenter {
	v := &vCenter{
		name: s.cfg.Name, guard: &faults.Guard{}, throttle: session.NewLoginThrottle(opts.LoginLimits, opts.accounts),
		absenceHold: opts.AbsenceHold, slots: watch.NewSlots(), inbox: watch.NewInbox(&s.Requirements), specChanged: signal.New(), credentialsChanged: signal.New(),
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
	// Half of the requests that may be in flight stay free for SOAP, which answers when
	// the tagging service does not.
	return tags.NewReader(v.name, opts.TagRefresh, max(1, opts.InFlight/2))
}

// configure replaces the configuration.
func (v *vCenter) configure(s *spec) {
	v.spec.Store(s)
	v.specChanged.Notify()
}

// state returns what is known of the vCenter at the address that is configured now.
func (v *vCenter) state() inventory.State {
	published := v.status.Load()
	configured := v.spec.Load()
	s := inventory.State{VCenter: v.name}
	if published.isOf(configured) {
		s = published.stateFor(configured)
	}
	s.Address = configured.cfg.Address()
	return s
}

// session returns the session with the vCenter at the address that is configured now, nil if there is none.
func (v *vCenter) session() *session.Session { return v.sessionOf(v.status.Load()) }

// sessionOf returns the session in a status, nil if it is with another address than the configured one.
func (v *vCenter) sessionOf(published *status) *session.Session {
	if published.session == nil || !published.session.Serves(&v.spec.Load().cfg) {
		return nil
	}
	return published.session
}

// A spec is how a vCenter is configured at a time. It is never changed.
type spec struct {
	cfg config.VCenter
	Requirements
}

// needsRestart reports whether a watch by another spec does not serve this one, where
// the difference of their configurations has these effects. Other credentials are tried beside the watch,
// and the families of addresses concern no vCenter.
func (s *spec) needsRestart(before *spec, d config.Effect) bool {
	return d.Has(config.EffectAddress|config.EffectTrust|config.EffectMachines|config.EffectCalls) ||
		before.Tags != s.Tags || before.HostGroups != s.HostGroups || before.FaultDomains != s.FaultDomains
}
