package vcenter

import (
	"context"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// An event is something that a monitor has waited for.
type event int

const (
	// ended and begun are the ends of channels, elapsed is that of a time, stopped that
	// of the monitor.
	ended event = iota
	begun
	elapsed
	stopped
	// reconfigured is for a spec that calls for a restart, credentialsToCheck for
	// credentials that may have changed since they were read.
	reconfigured
	credentialsToCheck
)

// awaited are the events that a monitor waits for at a time. Restart and credentials
// request reconfigured and credentialsToCheck, which repeat until applySpec or
// readCredentials has handled them.
type awaited struct {
	ended, begun, stop   <-chan struct{}
	timer                <-chan time.Time
	restart, credentials bool
}

// next returns the next of the awaited events, and handles messages until then. It is the
// only place where a monitor waits.
func (m *monitor) next(ctx context.Context, w awaited) event {
	for {
		switch {
		case w.restart && m.restart:
			return reconfigured
		case w.credentials && m.checkCredentials:
			return credentialsToCheck
		}
		select {
		case <-m.specChanged:
			m.setSpec(m.spec.Load())
		case <-m.credentialsChanged:
			m.checkCredentials = true
		case u := <-m.updates:
			m.update(u)
		case <-m.untilOverdue():
			m.publishOverdue(ctx)
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
// while the monitor handles messages.
func (m *monitor) await(ctx context.Context, f func()) {
	over, wait := faults.Go(f)
	m.next(ctx, awaited{ended: over})
	wait()
}

// setSpec takes up another spec. What the change does not concern stays: the session
// unless another address is configured, the watch unless it does not serve the spec.
func (m *monitor) setSpec(s *spec) {
	before := m.wanted
	m.wanted = s
	d := before.cfg.Diff(&s.cfg)
	if d.ChangesAddress() {
		// It may be another vCenter, of which nothing is known. What the previous one
		// still reports is dropped.
		m.now.spec = s
		m.now.state = inventory.State{VCenter: m.name}
		m.now.tags = TagsNotRead
		m.now.credentialsErr = nil
		m.overdue = deadline{configuredAt: time.Now()}
	}
	if before.Tags != s.Tags {
		m.now.tags = TagsNotRead
	}
	m.publish(false)
	restart := s.needsRestart(before, d)
	m.restart = m.restart || restart
	m.inbox.Require(&s.Requirements, !restart)
	m.checkCredentials = true // the account may be another
}

// An update changes what a monitor knows of its vCenter, and reports whether others are to be
// notified. The monitor calls it.
type update func(*monitor) (announce bool)

// update publishes what was read of the vCenter, unless another address is configured by
// now.
func (m *monitor) update(u update) {
	if m.cfg.Diff(&m.wanted.cfg).ChangesAddress() {
		return
	}
	m.publish(u(m))
}

// publish publishes the status, and has others notified of that if they are to know.
func (m *monitor) publish(announce bool) {
	s := m.now
	m.status.Store(&s)
	m.changed(announce)
}
