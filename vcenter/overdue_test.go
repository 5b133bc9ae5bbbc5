package vcenter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// TestOverdue: how long a vCenter that was never read is waited for.
func TestOverdue(t *testing.T) {
	begin := func(t *testing.T) (c *connection, announced *int, end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		announced = new(int)
		opts := NewFleet(nil, FromFile, Options{}).timing
		c = newConnection(&target{cfg: config.VCenter{Name: "east", Server: "10.0.0.1"}}, FromFile, opts, func() { *announced++ })
		done := make(chan struct{})
		go func() { defer close(done); c.overdue(ctx) }()
		return c, announced, func() { cancel(); <-done }
	}
	pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	answers := func(t *testing.T, c *connection) {
		t.Helper()
		_ = c.endpoint.Load().Do(t.Context(), "test", func(context.Context) error { return nil })
	}
	for name, test := range map[string]func(*testing.T, *connection){
		"silent": func(t *testing.T, c *connection) {
			pass(silentTime - time.Nanosecond)
			want(t, c, false)
			pass(time.Nanosecond)
			want(t, c, true)
		},
		"silent after an answer": func(t *testing.T, c *connection) {
			pass(silentTime / 2)
			answers(t, c)
			pass(silentTime - time.Nanosecond)
			want(t, c, false)
			pass(time.Nanosecond)
			want(t, c, true)
		},
		"slow": func(t *testing.T, c *connection) {
			for range 9 {
				pass(readTime / 10)
				answers(t, c)
				want(t, c, false)
			}
			pass(readTime / 10)
			want(t, c, true)
		},
		"another address": func(t *testing.T, c *connection) {
			pass(2 * silentTime)
			want(t, c, true)
			c.retarget(&target{cfg: config.VCenter{Name: "east", Server: "10.0.0.2"}})
			pass(silentTime - time.Nanosecond)
			want(t, c, false)
			pass(time.Nanosecond)
			want(t, c, true)
		},
		"another address while it is waited for": func(t *testing.T, c *connection) {
			pass(silentTime - time.Nanosecond)
			c.retarget(&target{cfg: config.VCenter{Name: "east", Server: "10.0.0.2"}})
			pass(silentTime - time.Nanosecond)
			want(t, c, false)
			pass(time.Nanosecond)
			want(t, c, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, announced, end := begin(t)
				test(t, c)
				end()
				if *announced == 0 {
					t.Error("nobody was told")
				}
			})
		})
	}
	for name, happens := range map[string]func(*connection){
		"read": func(c *connection) {
			c.published(t.Context(), &inventory.Snapshot{VCenter: "east"}, time.Now(), inventory.Named{})
		},
		"failed": func(c *connection) { c.report(t.Context(), context.DeadlineExceeded) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, end := begin(t)
				pass(silentTime / 2)
				happens(c)
				pass(readTime)
				want(t, c, false)
				end()
			})
		})
	}
}

func want(t *testing.T, c *connection, overdue bool) {
	t.Helper()
	if c.state.Load().Overdue != overdue {
		t.Errorf("overdue: %t", !overdue)
	}
}
