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

// An actor follows one vCenter. It is made by the goroutine that calls run, which alone has it:
// it logs in, starts watches one after the other, and owns the vCenter's state. Other
// goroutines have the vCenter.
type actor struct {
	*vCenter
	credentials CredentialSource
	opts        timing
	// changed is called after each change of the status, and says whether others are to be notified.
	changed func(announce bool)
	// memory is what a watch leaves to the next.
	memory *watch.Memory
	// updates come from the watch that runs.
	updates chan update

	// now is what is published next.
	now status
	// desired is the spec that was last taken up, cfg the configuration that is followed: that of
	// the spec when the actor last began to follow it.
	desired *spec
	cfg     *config.VCenter
	// configured is since when nothing was known of the vCenter.
	configured time.Time
	// restart reports whether the target calls for a restart, checkCredentials whether
	// the credentials may have changed since they were read.
	restart, checkCredentials bool
	// tags reads tags, for the watch that runs.
	tags *tags.Reader
	// outage is since when the vCenter cannot be read, and what of that was logged. Unusable is
	// the same of changed credentials, while a session is open.
	outage, unusable faults.Outage
	// answered reports whether a login has succeeded since the last failure.
	answered bool
	// readDelay is how long the next watch has to wait before it reads the vCenter, and broken
	// why.
	readDelay time.Duration
	broken    error
}

func newActor(v *vCenter, credentials CredentialSource, opts timing, changed func(bool)) *actor {
	first := v.status.Load().spec

	return &actor{
		vCenter: v, credentials: credentials, opts: opts, changed: changed,
		memory: watch.NewMemory(), updates: make(chan update),
		now: *v.status.Load(), desired: first, cfg: &first.cfg, tags: v.newTagReader(opts),
	}
}

// run follows the vCenter until the context is done, and logs out then. After a failure it
// tries again with a growing, jittered delay.
func (a *actor) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vCenter", a.name))
	a.configured = time.Now()
	defer a.logout(ctx)
	for ctx.Err() == nil {
		_ = a.guard.Run(ctx, "following the vCenter again and again", func() error {
			a.loop(ctx)
			return nil
		})
		if ctx.Err() == nil {
			a.pause(ctx, a.opts.retryMax) // it has panicked, which the guard has logged
		}
	}
}

func (a *actor) loop(ctx context.Context) {
	retries := newBackoff(a.opts.retryMin, a.opts.retryMax)
	for ctx.Err() == nil {
		began := time.Now()
		err := a.guard.Run(ctx, "following the vCenter", func() error {
			a.applyTarget(ctx)
			return a.follow(ctx)
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, new(watch.Restart)):
			klog.FromContext(ctx).Info("Restarting the watch of the vCenter", "err", faults.Printable{Err: err})
			a.readDelay = 0
			continue
		}
		a.readDelay, a.broken = a.newReadDelay(), err
		a.interrupt()
		lost := faults.SessionLost(err)
		delay := retries.after(time.Since(began), a.now.state.Err == nil, lost)
		if delay == 0 {
			// Nothing is wrong yet: vCenters end sessions.
			klog.FromContext(ctx).Info("The vCenter has ended the session, logging in again")
			continue
		}
		a.fail(ctx, err)
		if !lost {
			delay /= 2 // no login has to be spared
		}
		a.pause(ctx, sooner(delay+rand.N(delay/2+1), session.NextAttempt(err)))
	}
}

// sooner returns the delay, or the time until a moment that comes before.
func sooner(delay time.Duration, moment time.Time) time.Duration {
	if left := time.Until(moment); left > 0 {
		return min(delay, left)
	}
	return delay
}

// pause waits, unless the configuration or the credentials change before.
func (a *actor) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		switch a.next(ctx, awaited{timer: t.C, stop: ctx.Done(), restart: true, credentials: true}) {
		case reconfigured:
			a.readDelay = 0
		case credentialsToCheck:
			if !a.credentialsDiffer(ctx) {
				continue
			}
			a.readDelay = 0
		}
		return
	}
}

// follow logs in, where there is no session, and watches until that fails. The
// session is kept unless the server has ended it or another takes its place.
func (a *actor) follow(ctx context.Context) error {
	s, err := a.ensureSession(ctx)
	if err != nil {
		return err
	}
	if err := a.waitToRead(ctx); err != nil {
		return err
	}
	fresh, err := a.watch(ctx, s)
	switch {
	case fresh != nil:
		a.replaceSession(ctx, fresh)
		return watch.Restart{Reason: otherCredentials}
	case faults.SessionLost(err):
		// What is left of it may still be alive: the session of the tagging API, or all
		// of it where the vCenter has only forgotten what was created through it.
		a.logout(ctx)
	case a.now.endpoint.RenewalDue(err):
		klog.FromContext(ctx).Info("Replacing the session: nothing useful came through it for minutes, although the vCenter answers")
		a.logout(ctx)
	}
	return err
}

// applyTarget begins to follow the target, between two watches.
func (a *actor) applyTarget(ctx context.Context) {
	a.restart = false
	d := a.cfg.Diff(&a.desired.cfg)
	a.cfg = &a.desired.cfg
	if !d.Address {
		a.now.endpoint.Configure(a.cfg)
		if d.Trust {
			a.retrust(ctx)
		}
		return
	}
	// It may be another vCenter, of which nothing is known. The previous one is
	// logged out of as it was trusted.
	klog.FromContext(ctx).Info("Connecting to another address", "server", a.cfg.Server)
	a.logout(ctx)
	a.now.endpoint, a.now.tags = a.newEndpoint(a.cfg, a.opts), TagsNotRead
	a.interrupt()
	a.throttle.Moved()
	a.tags = a.newTagReader(a.opts)
	a.outage, a.unusable = faults.Outage{}, faults.Outage{}
}

// interrupt notes that the vCenter may not be what it was before.
func (a *actor) interrupt() {
	a.now.interrupted = true
	a.publish(false)
}

// retrust replaces the connections of the session by ones with the certificates that are
// trusted now.
func (a *actor) retrust(ctx context.Context) {
	if a.now.session == nil {
		return
	}
	if err := a.now.session.Retrust(); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot trust the certificates that are configured now; still trusting the previous ones")
	}
}

// stateCause returns the Cause of a State with an error.
func stateCause(err error) error {
	switch CauseOf(err) {
	case CauseUntrusted:
		return inventory.ErrUntrusted
	case CauseCredentials, CausePostponed, faults.CauseRejected:
		return inventory.ErrLogin
	case faults.CauseDenied:
		return inventory.ErrDenied
	case faults.CauseFault:
		return inventory.ErrFault
	}
	return nil
}

// fail publishes why the vCenter cannot be read and logs it once in an outage for each cause.
func (a *actor) fail(ctx context.Context, err error) {
	a.answered = false
	err = fmt.Errorf("vCenter %q: %w", a.name, faults.Printable{Err: err})
	log := klog.FromContext(ctx)
	log = withNextLogin(log, err)
	cause := CauseOf(err)
	// That a login waits follows from the failures before.
	if (cause != CausePostponed || !a.outage.Lasts()) && a.outage.Begins(cause) {
		log.Error(err, "Cannot read the vCenter; its Nodes keep what they have")
	} else {
		log.V(4).Info("Still cannot read the vCenter", "err", err)
	}
	a.update(func(a *actor) bool {
		of := stateCause(err)
		if cause == CausePostponed && a.now.state.Err != nil {
			of = a.now.state.Cause // what it waits after
		}
		a.now.state.Err, a.now.state.Cause, a.now.state.NextLogin = err, of, session.NextAttempt(err)
		return true
	})
}
