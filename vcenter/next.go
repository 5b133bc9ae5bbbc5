package vcenter

import (
	"context"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

type event int

const (
	taskDone event = iota
	watchStarted
	timerFired
	contextDone
	// reconfigured is returned until applySpec, credentialsToCheck until readCredentials.
	reconfigured
	credentialsToCheck
)

type awaited struct {
	task, started, done  <-chan struct{}
	timer                <-chan time.Time
	restart, credentials bool
}

// next handles messages until an awaited event. A monitor waits nowhere else.
func (m *monitor) next(ctx context.Context, w awaited) event {
	for {
		switch {
		case w.restart && m.needsRestart:
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
		case <-w.task:
			return taskDone
		case <-w.started:
			return watchStarted
		case <-w.timer:
			return timerFired
		case <-w.done:
			return contextDone
		}
	}
}

// await handles messages while f runs in another goroutine.
func (m *monitor) await(ctx context.Context, f func()) {
	done, wait := faults.Go(f)
	m.next(ctx, awaited{task: done})
	wait()
}

func (m *monitor) setSpec(s *spec) {
	previous := m.wanted
	m.wanted = s
	d := previous.cfg.Diff(&s.cfg)
	if d.ChangesAddress() {
		m.current.spec = s
		m.current.state = inventory.State{VCenter: m.name}
		m.current.tags = TagsNotRead
		m.current.credentialsErr = nil
		m.readDeadline = deadline{configuredAt: time.Now()}
	}
	if previous.Tags != s.Tags {
		m.current.tags = TagsNotRead
	}
	m.publish(false)
	restart := s.needsRestart(previous, d)
	m.needsRestart = m.needsRestart || restart
	m.inbox.Require(&s.Requirements, !restart)
	m.checkCredentials = true // The account may differ.
}

// An update changes the status in the monitor's goroutine.
type update func(*monitor) (announce bool)

func (m *monitor) update(u update) {
	if m.cfg.Diff(&m.wanted.cfg).ChangesAddress() {
		return
	}
	m.publish(u(m))
}

func (m *monitor) publish(announce bool) {
	s := m.current
	m.status.Store(&s)
	m.onChange(announce)
}
