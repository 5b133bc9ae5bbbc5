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

// watch runs a watch until it fails or must restart. Meanwhile it logs in with changed credentials; on
// success it ends the watch and returns the new session.
func (m *monitor) watch(ctx context.Context, s *session.Session) (fresh *session.Session, err error) {
	ctx, cancel := context.WithCancel(ctx)
	with := &spec{*m.cfg, m.wanted.Requirements}
	r := &reporter{with: with, name: m.name, observer: m.opts.Observer, updates: m.updates, credentialsChanged: m.credentialsChanged, started: make(chan struct{})}
	w := watch.New(s, m.tags.Through(s.REST()), m.inbox, m.memory, m.watchOptions(with), r)
	var failure error
	over, wait := faults.Go(func() {
		// This also ends a login in progress.
		defer cancel()
		failure = w.Run(ctx)
	})
	defer func() {
		cancel()
		<-over
		m.now.reader.running = false
		m.publish(false)
	}()
	// The previous watch may have ended before checking changed credentials.
	check := time.NewTimer(0)
	defer check.Stop()
	for events := (awaited{ended: over, begun: r.started}); ; {
		switch m.next(ctx, events) {
		case ended:
			wait()
			return nil, failure
		case begun:
			events = awaited{ended: over, timer: check.C, restart: true, credentials: true}
			continue
		case reconfigured:
			cancel()
			m.next(ctx, awaited{ended: over})
			return nil, otherSpec
		}
		fresh, err := m.logInAgain(ctx, s)
		switch {
		case fresh != nil, errors.Is(err, otherSpec):
			cancel()
			m.next(ctx, awaited{ended: over})
			return fresh, err
		case ctx.Err() != nil:
			continue
		case err == nil:
			if lasted, ended := m.unusable.End(); ended {
				klog.FromContext(ctx).Info("The credentials are again those of the open session, which stays in use", "after", lasted.Round(time.Second))
			}
			continue
		}
		check.Reset(max(m.opts.RetryMax, time.Until(session.NextAttempt(err))))
		m.unusable.Log(withNextLogin(klog.FromContext(ctx), err), faults.CauseOf(err), faults.Printable{Err: err},
			"Cannot use the changed credentials; the session that was opened with the previous ones stays in use", "Still cannot use the changed credentials")
	}
}

func withNextLogin(log klog.Logger, err error) klog.Logger {
	if next := session.NextAttempt(err); !next.IsZero() {
		return log.WithValues("nextLoginIn", time.Until(next).Round(time.Second))
	}
	return log
}

// logInAgain returns a new session if the credentials changed, otherwise nil.
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

func (m *monitor) watchOptions(with *spec) watch.Options {
	return watch.Options{
		VCenter: m.name, Datacenters: with.cfg.Datacenters, Requirements: with.Requirements,
		Timeout: m.opts.Timeout, TagRefresh: m.opts.TagRefresh, TagRetry: m.opts.RetryMin,
		PollTime: m.opts.PollTime, FirstPage: m.opts.FirstPage,
		Guard: m.guard, Slots: m.slots,
	}
}

// read adopts a snapshot from the running watch and ends the outage.
func (m *monitor) read(ctx context.Context, with *spec, p watch.Publication) {
	m.now.endpoint.Useful()
	if lasted, ended := m.outage.End(); ended {
		klog.FromContext(ctx).Info("The vCenter can be read again", "after", lasted.Round(time.Second))
	}
	if last := m.now.reading.Reading; last.Since.IsZero() {
		m.now.reading = &reading{Reading: inventory.Reading{Since: time.Now(), AfterBreak: last.AfterBreak}}
	}
	m.now.state = inventory.State{VCenter: m.now.state.VCenter, Snapshot: p.Snapshot, LastContact: p.LastContact, TagNames: p.TagNames}
	m.now.reader = reader{with: with, running: true}
}

// A reporter sends a watch's results to its monitor.
type reporter struct {
	name     string
	observer Observer
	with     *spec
	// updates and credentialsChanged belong to the monitor.
	updates            chan<- update
	credentialsChanged signal.Signal
	// started is closed when the watch has started.
	started chan struct{}
}

func (r *reporter) send(ctx context.Context, u update) {
	select {
	case r.updates <- u:
	case <-ctx.Done():
	}
}

func (r *reporter) Publish(ctx context.Context, p watch.Publication) {
	r.send(ctx, func(m *monitor) bool {
		m.read(ctx, r.with, p)
		return true
	})
}

func (r *reporter) Started() {
	close(r.started)
	r.observer.WatchStarted(r.name)
}

// Contact sends the time of an answer. Only a probe notifies subscribers.
func (r *reporter) Contact(ctx context.Context, at time.Time, probed bool) {
	r.send(ctx, func(m *monitor) bool {
		m.now.endpoint.Useful()
		m.now.state.LastContact = at
		return probed
	})
}

func (r *reporter) TagNames(ctx context.Context, named inventory.TagNames) {
	r.send(ctx, func(m *monitor) bool {
		m.now.state.TagNames = named
		return true
	})
}

func (r *reporter) TagsRead(ctx context.Context, err error) {
	r.send(ctx, func(m *monitor) bool {
		m.now.tags = TagsRead
		if err != nil {
			m.now.tags = TagsFailed
		}
		return false
	})
}

func (r *reporter) CredentialsRejected() { r.credentialsChanged.Notify() }
