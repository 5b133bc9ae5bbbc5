package vcenter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
)

// TestOverdue: how long a vCenter that was never read is waited for.
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
		a.configured = time.Now()
		done := make(chan struct{})
		go func() { defer close(done); a.next(ctx, awaited{stop: ctx.Done()}) }()
		return a, announced, func() { cancel(); <-done }
	}
	pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	answers := func(t *testing.T, a *monitor) {
		t.Helper()
		_ = a.status.Load().endpoint.Do(t.Context(), "test", func(context.Context) error { return nil })
	}
	for name, test := range map[string]func(*testing.T, *monitor){
		"silent": func(t *testing.T, a *monitor) {
			pass(silentTime - time.Nanosecond)
			want(t, a, false)
			pass(time.Nanosecond)
			want(t, a, true)
		},
		"silent after an answer": func(t *testing.T, a *monitor) {
			pass(silentTime / 2)
			answers(t, a)
			pass(silentTime - time.Nanosecond)
			want(t, a, false)
			pass(time.Nanosecond)
			want(t, a, true)
		},
		"slow": func(t *testing.T, a *monitor) {
			for range 9 {
				pass(readTime / 10)
				answers(t, a)
				want(t, a, false)
			}
			pass(readTime / 10)
			want(t, a, true)
		},
		"another address": func(t *testing.T, a *monitor) {
			pass(2 * silentTime)
			want(t, a, true)
			a.configure(&spec{cfg: config.VCenter{Name: "east", Server: "10.0.0.2"}})
			pass(silentTime - time.Nanosecond)
			want(t, a, false)
			pass(time.Nanosecond)
			want(t, a, true)
		},
		"another address while it is waited for": func(t *testing.T, a *monitor) {
			pass(silentTime - time.Nanosecond)
			a.configure(&spec{cfg: config.VCenter{Name: "east", Server: "10.0.0.2"}})
			pass(silentTime - time.Nanosecond)
			want(t, a, false)
			pass(time.Nanosecond)
			want(t, a, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, announced, end := begin(t)
				test(t, a)
				end()
				if *announced == 0 {
					t.Error("nobody was notified")
				}
			})
		})
	}
	for name, happens := range map[string]func(context.Context, *monitor){
		"read": func(ctx context.Context, a *monitor) {
			(&reporter{updates: a.updates}).Publish(ctx, watch.Publication{Snapshot: &inventory.Snapshot{VCenter: "east"}, LastContact: time.Now()})
		},
		"failed": func(_ context.Context, a *monitor) {
			a.updates <- func(a *monitor) bool { a.now.state.Err = context.DeadlineExceeded; return true }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _, end := begin(t)
				pass(silentTime / 2)
				happens(t.Context(), a)
				pass(readTime)
				want(t, a, false)
				end()
			})
		})
	}
}

// monitorOf is a monitor that follows a spec.
func monitorOf(t *spec, credentials CredentialSource, opts Options, changed func(bool)) *monitor {
	return newMonitor(newVCenter(t, opts), credentials, opts, changed)
}

func want(t *testing.T, a *monitor, overdue bool) {
	t.Helper()
	if a.status.Load().state.Overdue != overdue {
		t.Errorf("overdue: %t", !overdue)
	}
}
