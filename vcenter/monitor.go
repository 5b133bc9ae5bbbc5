package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch"
)

// A monitor connects to and watches one vCenter. Only the goroutine of run uses it.
type monitor struct {
	*vCenter
	credentials CredentialSource
	opts        Options
	onChange    func(announce bool)
	memory      *watch.Memory
	updates     chan update

	current status
	// wanted is the latest spec, cfg the configuration that applySpec applied last.
	wanted           *spec
	cfg              *config.VCenter
	readDeadline     deadline
	needsRestart     bool
	checkCredentials bool
	tags             *tags.Reader
	// credentialsOutage is about changed credentials while a session is open.
	readOutage, credentialsOutage faults.Outage
	loggedInSinceFailure          bool
	readDelay                     readDelay
}

func newMonitor(v *vCenter, credentials CredentialSource, opts Options, changed func(bool)) *monitor {
	first := v.status.Load().spec
	return &monitor{
		vCenter: v, credentials: credentials, opts: opts, onChange: changed,
		memory: watch.NewMemory(), updates: make(chan update),
		current: *v.status.Load(), wanted: first, cfg: &first.cfg, tags: v.newTagReader(opts),
	}
}

func (m *monitor) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vCenter", m.name))
	m.readDeadline = deadline{configuredAt: time.Now()}
	defer m.logout(ctx)
	for ctx.Err() == nil {
		_ = m.guard.Run(ctx, "watching the vCenter repeatedly", func() error {
			m.loop(ctx)
			return nil
		})
		if ctx.Err() == nil {
			// loop panicked; the guard has logged it.
			m.pause(ctx, m.opts.RetryMax)
		}
	}
}

func (m *monitor) loop(ctx context.Context) {
	retries := newBackoff(m.opts.RetryMin, m.opts.RetryMax)
	var serverRestarts restarts
	for ctx.Err() == nil {
		began := time.Now()
		err := m.guard.Run(ctx, "watching the vCenter", func() error {
			m.applySpec(ctx)
			return m.follow(ctx)
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, new(watch.Restart)):
			klog.FromContext(ctx).Info("Restarting the watch of the vCenter", "err", faults.Printable{Err: err})
			m.readDelay = readDelay{}
			if errors.Is(err, watch.DatacentersChanged) && serverRestarts.areTooMany(time.Now()) {
				m.pause(ctx, jittered(retries.next(time.Since(began), true, false)))
			}
			continue
		}
		m.readDelay = newReadDelay(m.memory.VMs(), err)
		m.interrupt()
		lost := faults.SessionLost(err)
		delay := retries.next(time.Since(began), m.current.state.Err == nil, lost)
		if delay == 0 {
			klog.FromContext(ctx).Info("The vCenter ended the session; logging in again")
			continue
		}
		m.fail(ctx, err)
		if !lost {
			delay /= 2 // The next attempt usually needs no login.
		}
		m.pause(ctx, sooner(jittered(delay), session.NextAttempt(err)))
	}
}

func jittered(delay time.Duration) time.Duration { return delay + rand.N(delay/2+1) }

func sooner(delay time.Duration, moment time.Time) time.Duration {
	if left := time.Until(moment); left > 0 {
		return min(delay, left)
	}
	return delay
}

// pause ends early if the configuration or the credentials change.
func (m *monitor) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		switch m.next(ctx, awaited{timer: t.C, done: ctx.Done(), restart: true, credentials: true}) {
		case reconfigured:
			m.readDelay = readDelay{}
		case credentialsToCheck:
			if !m.credentialsDiffer(ctx) {
				continue
			}
			m.readDelay = readDelay{}
		}
		return
	}
}

func (m *monitor) follow(ctx context.Context) error {
	s, err := m.ensureSession(ctx)
	if err != nil {
		return err
	}
	if err := m.waitToRead(ctx); err != nil {
		return err
	}
	fresh, err := m.watch(ctx, s)
	switch {
	case fresh != nil:
		m.replaceSession(ctx, fresh)
		return credentialsReplaced
	case faults.SessionLost(err):
		// The tagging session may still be alive, or the vCenter may know the session but not its objects.
		m.logout(ctx)
	case m.current.endpoint.RenewalDue(err):
		klog.FromContext(ctx).Info("Replacing the session: it has returned nothing useful for minutes, although the vCenter responds")
		m.logout(ctx)
	}
	return err
}

func (m *monitor) applySpec(ctx context.Context) {
	m.needsRestart = false
	d := m.cfg.Diff(&m.wanted.cfg)
	m.cfg = &m.wanted.cfg
	if !d.ChangesAddress() {
		m.current.endpoint.Configure(m.cfg)
		if d.Has(config.EffectTrust) && m.current.session != nil {
			if err := m.current.session.Retrust(); err != nil {
				klog.FromContext(ctx).Error(err, "Cannot apply the configured certificates; still trusting the previous certificates")
			}
		}
		return
	}
	// The address may be another vCenter's. The logout still uses the previous trust.
	klog.FromContext(ctx).Info("Connecting to another address", "server", m.cfg.Server)
	m.logout(ctx)
	m.current.endpoint = m.newEndpoint(m.cfg, m.opts)
	m.current.tags = TagsNotRead
	m.interrupt()
	m.throttle.Reset()
	m.tags = m.newTagReader(m.opts)
	m.readOutage = faults.Outage{}
	m.credentialsOutage = faults.Outage{}
}

// interrupt ends the current reading, because the vCenter may change unnoticed until the next
// snapshot.
func (m *monitor) interrupt() {
	m.current.reading = &reading{Reading: inventory.Reading{AfterInterruption: true}}
	m.publish(false)
}

func (m *monitor) fail(ctx context.Context, err error) {
	m.loggedInSinceFailure = false
	err = fmt.Errorf("vCenter %q: %w", m.name, faults.Printable{Err: err})
	cause := faults.CauseOf(err)
	m.readOutage.Log(withNextLogin(klog.FromContext(ctx), err), cause, err,
		"Cannot read the vCenter; its Nodes stay unchanged", "Still cannot read the vCenter")
	m.update(func(m *monitor) bool {
		if cause != inventory.CausePostponed || m.current.state.Err == nil || m.current.state.Cause == inventory.CauseCredentials {
			m.current.state.Cause = cause // A postponed login keeps an earlier cause, except missing credentials.
		}
		m.current.state.Err = err
		m.current.state.NextLogin = session.NextAttempt(err)
		return true
	})
}
