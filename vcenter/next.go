package vcenter

import (
	"context"
	"time"

	"vzones/vcenter/inventory"
	"vzones/vcenter/panics"
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
	// credentials that may be others than those that were read.
	reconfigured
	credentialsToCheck
)

// awaited are the events that an actor waits for at a time. Restart and credentials ask for
// reconfigured and credentialsToCheck, which come again until adopt or readCredentials has
// taken care of them.
type awaited struct {
	ended, begun, stop   <-chan struct{}
	timer                <-chan time.Time
	restart, credentials bool
}

// next returns the next event of those that are awaited, and takes up messages until then:
// whatever an actor waits for, it waits here.
func (a *actor) next(ctx context.Context, w awaited) event {
	for {
		switch {
		case w.restart && a.restart:
			return reconfigured
		case w.credentials && a.checkCredentials:
			return credentialsToCheck
		}
		select {
		case t := <-a.targets:
			a.applyTarget(t)
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

// do calls f in another goroutine and returns when that has ended, so that f may block.
func (a *actor) do(ctx context.Context, f func()) {
	over, wait := panics.Go(f)
	a.next(ctx, awaited{ended: over})
	wait()
}

// applyTarget takes over another target. What the change does not concern stays: the session
// unless another address is configured, the watch unless it does not serve the target.
func (a *actor) applyTarget(t *target) {
	before := a.desired
	a.desired = t
	if !sameAddress(&before.cfg, &t.cfg) {
		// It may be another vCenter, of which nothing is known. What the one before
		// still reports is not taken up.
		a.now.cfg, a.now.state, a.now.tags = &t.cfg, inventory.State{VCenter: a.name}, TagsNotRead
		a.configured = time.Now()
	}
	if before.tags != t.tags {
		a.now.tags = TagsNotRead
	}
	a.show()
	a.restart = a.restart || t.needsRestart(before)
	a.inbox.SetTagWants(t.wants, !t.needsRestart(before))
	a.checkCredentials = true // the account may be another
}

// update takes over what was found out of the vCenter, unless another one is configured by
// now.
func (a *actor) update(u update) {
	if !sameAddress(&a.desired.cfg, a.cfg) {
		return
	}
	announce := u(&a.now)
	a.show()
	if announce {
		a.announce()
	}
}

// show publishes the status.
func (a *actor) show() {
	s := a.now
	a.status.Store(&s)
}
