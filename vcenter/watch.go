package vcenter

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"vzones/internal/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// watch returns a new session if it logs in with changed credentials, which ends the watch.
func (m *monitor) watch(ctx context.Context, s *session.Session) (fresh *session.Session, err error) {
	ctx, cancel := context.WithCancel(ctx)
	watchSpec := &spec{*m.cfg, m.wanted.Requirements}
	r := &reporter{spec: watchSpec, name: m.name, observer: m.opts.Observer, updates: m.updates, credentialsChanged: m.credentialsChanged, started: make(chan struct{})}
	w := watch.New(s, m.tags.Through(s.REST()), m.inbox, m.memory, m.watchOptions(watchSpec), r)
	var failure error
	done, wait := faults.Go(func() {
		// This also ends a login in progress.
		defer cancel()
		failure = w.Run(ctx)
	})
	defer func() {
		cancel()
		<-done
		m.current.reader.running = false
		m.publish(false)
	}()
	// Check at once: the previous watch may have ended before checking changed credentials.
	checkTimer := time.NewTimer(0)
	defer checkTimer.Stop()
	for events := (awaited{task: done, started: r.started}); ; {
		switch m.next(ctx, events) {
		case taskDone:
			wait()
			return nil, failure
		case watchStarted:
			events = awaited{task: done, timer: checkTimer.C, restart: true, credentials: true}
			continue
		case reconfigured:
			cancel()
			m.next(ctx, awaited{task: done})
			return nil, configurationChanged
		}
		fresh, err := m.logInAgain(ctx, s)
		switch {
		case fresh != nil, errors.Is(err, configurationChanged):
			cancel()
			m.next(ctx, awaited{task: done})
			return fresh, err
		case ctx.Err() != nil:
			continue
		case err == nil:
			if lasted, ended := m.credentialsOutage.End(); ended {
				klog.FromContext(ctx).Info("The credentials match the open session again; it stays in use", "after", lasted.Round(time.Second))
			}
			continue
		}
		checkTimer.Reset(max(m.opts.RetryMax, time.Until(session.NextAttempt(err))))
		m.credentialsOutage.Log(withNextLogin(klog.FromContext(ctx), err), faults.CauseOf(err), faults.Printable{Err: err},
			"Cannot use the changed credentials; the session opened with the previous credentials stays in use", "Still cannot use the changed credentials")
	}
}

func withNextLogin(log klog.Logger, err error) klog.Logger {
	if next := session.NextAttempt(err); !next.IsZero() {
		return log.WithValues("nextLoginIn", time.Until(next).Round(time.Second))
	}
	return log
}

func (m *monitor) logInAgain(ctx context.Context, s *session.Session) (*session.Session, error) {
	creds, err := m.readCredentials(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.throttle.Offer(creds, s.Credentials(), time.Now()); err != nil || creds.Equal(s.Credentials()) {
		return nil, err
	}
	return m.logIn(ctx, creds, nil)
}

func (m *monitor) watchOptions(watchSpec *spec) watch.Options {
	return watch.Options{
		VCenter: m.name, Datacenters: watchSpec.cfg.Datacenters, Requirements: watchSpec.Requirements,
		Timeout: m.opts.Timeout, TagRefresh: m.opts.TagRefresh, TagRetry: m.opts.RetryMin,
		PollTime: m.opts.PollTime, FirstPage: m.opts.FirstPage,
		Guard: m.guard, Slots: m.slots,
	}
}

func (m *monitor) read(ctx context.Context, watchSpec *spec, p watch.Publication) {
	m.current.endpoint.RecordUseful()
	if lasted, ended := m.readOutage.End(); ended {
		klog.FromContext(ctx).Info("The vCenter can be read again", "after", lasted.Round(time.Second))
	}
	if last := m.current.reading.Reading; last.Since.IsZero() {
		m.current.reading = &reading{Reading: inventory.Reading{Since: time.Now(), AfterInterruption: last.AfterInterruption}}
	}
	m.current.state = inventory.State{
		VCenter: m.current.state.VCenter, Snapshot: p.Snapshot, LastContact: p.LastContact, TagNames: p.TagNames, WatchedSince: m.current.reading.Since,
	}
	m.current.reader = reader{spec: watchSpec, running: true}
}

type reporter struct {
	name               string
	observer           Observer
	spec               *spec
	updates            chan<- update
	credentialsChanged signal.Signal
	started            chan struct{}
}

func (r *reporter) send(ctx context.Context, u update) {
	select {
	case r.updates <- u:
	case <-ctx.Done():
	}
}

// Publish returns once the snapshot is stored, because Inbox.CatchUp promises that it then contains each reported change.
func (r *reporter) Publish(ctx context.Context, p watch.Publication) {
	r.send(ctx, func(m *monitor) bool {
		m.read(ctx, r.spec, p)
		return true
	})
	// The monitor receives this update after it has handled the first.
	r.send(ctx, func(*monitor) bool { return false })
}

func (r *reporter) Started() {
	close(r.started)
	r.observer.WatchStarted(r.name)
}

func (r *reporter) Contact(ctx context.Context, answered time.Time, probed bool) {
	r.send(ctx, func(m *monitor) bool {
		m.current.endpoint.RecordUseful()
		m.current.state.LastContact = answered
		return probed
	})
}

func (r *reporter) TagNames(ctx context.Context, named inventory.TagNames) {
	r.send(ctx, func(m *monitor) bool {
		m.current.state.TagNames = named
		return true
	})
}

func (r *reporter) TagsRead(ctx context.Context, err error) {
	r.send(ctx, func(m *monitor) bool {
		m.current.tags = TagsRead
		if err != nil {
			m.current.tags = TagsFailed
		}
		return false
	})
}

func (r *reporter) CredentialsRejected() { r.credentialsChanged.Notify() }
