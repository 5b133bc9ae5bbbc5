package vcenter

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
)

// TestOverdue checks the deadline for a vCenter that was never read.
func TestOverdue(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (a *monitor, announced *int, end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		announced = new(int)
		opts := (&Options{}).withDefaults()
		a = monitorOf(&spec{cfg: config.VCenter{Name: "east", Server: "10.0.0.1"}}, FromFile, opts, func(announce bool) {
			if announce {
				*announced++
			}
		})
		a.readDeadline = deadline{configuredAt: time.Now()}
		done := make(chan struct{})
		go func() { defer close(done); a.next(ctx, awaited{done: ctx.Done()}) }()
		return a, announced, func() { cancel(); <-done }
	}
	pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	answers := func(ctx context.Context, a *monitor) {
		_ = a.status.Load().endpoint.Do(ctx, "test", func(context.Context) error { return nil })
	}
	another := func(_ context.Context, a *monitor) {
		a.configure(&spec{cfg: config.VCenter{Name: "east", Server: "10.0.0.2"}})
	}
	for name, c := range map[string]struct {
		before time.Duration
		then   func(context.Context, *monitor)
		left   time.Duration // Until it is overdue; 0 means never.
	}{
		"silent":                   {0, nil, maxSilence},
		"silent after an answer":   {maxSilence / 2, answers, maxSilence},
		"another address":          {2 * maxSilence, another, maxSilence},
		"another address, in time": {maxSilence - time.Nanosecond, another, maxSilence},
		"slow": {0, func(ctx context.Context, a *monitor) {
			for range 9 {
				pass(maxReadTime / 10)
				answers(ctx, a)
				want(t, a, false)
			}
		}, maxReadTime / 10},
		"read": {maxSilence / 2, func(ctx context.Context, a *monitor) {
			(&reporter{updates: a.updates}).Publish(ctx, watch.Publication{Snapshot: &inventory.Snapshot{VCenter: "east"}, LastContact: time.Now()})
		}, 0},
		"failed": {maxSilence / 2, func(_ context.Context, a *monitor) {
			a.updates <- func(a *monitor) bool { a.current.state.Err = context.DeadlineExceeded; return true }
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, announced, end := begin(t)
				pass(c.before)
				if c.then != nil {
					c.then(t.Context(), a)
				}
				pass(cmp.Or(c.left, maxReadTime) - time.Nanosecond)
				want(t, a, false)
				pass(time.Nanosecond)
				want(t, a, c.left > 0)
				end()
				if c.left > 0 && *announced == 0 {
					t.Error("nobody was notified")
				}
			})
		})
	}
}

func monitorOf(t *spec, credentials CredentialSource, opts Options, changed func(bool)) *monitor {
	return newMonitor(newVCenter(t, opts), credentials, opts, changed)
}

func want(t *testing.T, a *monitor, overdue bool) {
	t.Helper()
	if a.status.Load().state.Overdue != overdue {
		t.Errorf("overdue: %t", !overdue)
	}
}
