package vcenter

import (
	"context"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// An event is something that an actor has waited for.
type event int

const (
	// ended and begun are the ends of channels, elapsed is that of a time, stopped that
	// of the actor.
	ended event = iota
	begun
	elapsed
	stopped
	// reconfigured is for a target that calls for a restart, credentialsToCheck for
	// credentials that may have changed since they were read.
	reconfigured
	credentialsToCheck
)

// awaited are the events that an actor waits for at a time. Restart and credentials
// request reconfigured and credentialsToCheck, which repeat until applyTarget or
// readCredentials has handled them.
type awaited struct {
	ended, begun, stop   <-chan struct{}
	timer                <-chan time.Time
	restart, credentials bool
}

// next returns the next of the awaited events, and handles messages until then. It is the
// only place where an actor waits.
func (a *actor) next(ctx context.Context, w awaited) event {
	for {
		switch {
		case w.restart && a.restart:
			return reconfigured
		case w.credentials && a.checkCredentials:
			return credentialsToCheck
		}
		select {
		case <-a.specChanged:
			a.setSpec(a.spec.Load())
		case <-a.credentialsChanged:
			a.checkCredentials = true
		case u := <-a.updates:
			a.update(u)
		case <-a.untilOverdue():
			a.noteOverdue(ctx)
		case <-w.ended:
			return ended
		case <-w.begun:
			return begun
		case <-w.timer:
			return elapsed
		case <-w.stop:
			return stopped
		}
	}
}

// await calls f in another goroutine and returns when that has ended, so that f may block
// while the actor handles messages.
func (a *actor) await(ctx context.Context, f func()) {
	over, wait := faults.Go(f)
	a.next(ctx, awaited{ended: over})
	wait()
}

// setSpec takes up another spec. What the change does not concern stays: the session
// unless another address is configured, the watch unless it does not serve the target.
func (a *actor) setSpec(s *spec) {
	before := a.desired
	a.desired = s
	d := before.cfg.Diff(&s.cfg)
	if d.Address {
		// It may be another vCenter, of which nothing is known. What the previous one
		// still reports is dropped.
		a.now.spec, a.now.state, a.now.tags, a.now.credentialsErr = s, inventory.State{VCenter: a.name}, TagsNotRead, nil
		a.configured = time.Now()
	}
	if before.tags != s.tags {
		a.now.tags = TagsNotRead
	}
	a.publish(false)
	restart := s.needsRestart(before, d)
	a.restart = a.restart || restart
	a.inbox.SetTagRequirements(s.tagRequirements, !restart)
	a.checkCredentials = true // the account may be another
}

// An update changes what an actor knows of its vCenter, and reports whether others are to be
// notified. The actor calls it.
type update func(*actor) (announce bool)

// update publishes what was read of the vCenter, unless another address is configured by
// now.
func (a *actor) update(u update) {
	if a.cfg.Diff(&a.desired.cfg).Address {
		return
	}
	a.publish(u(a))
}

// publish publishes the status, and has others notified of that if they are to know.
func (a *actor) publish(announce bool) {
	s := a.now
	a.status.Store(&s)
	a.changed(announce)
}
