package vcenter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

func TestReadWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vms  int
		want time.Duration
	}{
		{0, 0},
		{300, 900 * time.Millisecond},
		{20_000, time.Minute},
		{40_000, 2 * time.Minute},
		{1 << 40, 2 * time.Minute},
	} {
		if got := readWindow(c.vms); got != c.want {
			t.Errorf("%d VMs: %v, want %v", c.vms, got, c.want)
		}
	}
}

// large returns a monitor with a read delay.
func large(wait time.Duration) *monitor {
	creds := func(context.Context, *config.VCenter) (Credentials, error) { return Credentials{User: "u"}, nil }
	a := monitorOf(&spec{cfg: config.VCenter{Name: "east"}}, creds, Options{Timeout: time.Second, Observer: unobserved{}}, func(bool) {})
	_ = a.throttle.Offer(Credentials{User: "u"}, Credentials{}, time.Now())
	a.readDelay = readDelay{wait: wait}
	// It was read before, so it is not overdue.
	a.current.state.Snapshot = &inventory.Snapshot{VCenter: "east"}
	a.publish(false)
	return a
}

// waiting runs waitToRead and returns its result.
func waiting(ctx context.Context, a *monitor) <-chan error {
	done := make(chan error, 1)
	go func() { done <- a.waitToRead(ctx) }()
	synctest.Wait()
	return done
}

// TestAReadingThatWaits checks that the snapshot stays with an error. Without a login since the failure, the
// error stays, too.
func TestAReadingThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := large(time.Minute)
		began, snapshot := time.Now(), a.current.state.Snapshot
		a.current.state.Cause, a.current.state.NextLogin, a.loggedInSinceFailure = inventory.CauseRejected, began.Add(time.Hour), true // From the previous outage.
		done := waiting(t.Context(), a)
		if s := a.status.Load().state; s.Err == nil || s.Snapshot != snapshot || !errors.Is(s.Cause, inventory.CausePending) || !s.NextLogin.IsZero() {
			t.Errorf("while it waits: %+v", s)
		}
		a.inbox.Probe() // A probe does not end the wait.
		if err := <-done; err != nil || time.Since(began) != time.Minute {
			t.Fatalf("waited for %v: %v", time.Since(began), err)
		}
		if err := a.waitToRead(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Fatalf("it waits twice: %v", err)
		}
		a = large(time.Minute)
		a.fail(t.Context(), errors.New("no answer within 15s"))
		failed := a.status.Load().state
		done = waiting(t.Context(), a)
		if s := a.status.Load().state; !errors.Is(s.Err, failed.Err) || s.Cause != failed.Cause {
			t.Errorf("%v, cause %v", s.Err, s.Cause)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			do   func(a *monitor, cancel func())
			ends bool
			want error
		}{
			"configuration": {func(a *monitor, _ func()) {
				other := *a.wanted
				other.cfg.Datacenters = []string{"dc1"}
				a.configure(&other)
			}, true, configurationChanged},
			"end":              {func(_ *monitor, cancel func()) { cancel() }, true, context.Canceled},
			"same credentials": {func(a *monitor, _ func()) { a.credentialsChanged.Notify() }, false, nil},
			"other credentials": {func(a *monitor, _ func()) {
				a.credentials = func(context.Context, *config.VCenter) (Credentials, error) { return Credentials{User: "other"}, nil }
				a.credentialsChanged.Notify()
			}, true, nil},
		} {
			a := large(time.Minute)
			ctx, cancel := context.WithCancel(t.Context())
			began, done := time.Now(), waiting(ctx, a)
			c.do(a, cancel)
			err := <-done
			cancel()
			if took := time.Since(began); !errors.Is(err, c.want) || (took == 0) != c.ends {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			if name == "other credentials" && !a.checkCredentials {
				t.Error("the watch does not look for the other credentials")
			}
		}
	})
}

// TestTheFirstReadingDoesNotWait, nor the first read after a change of the configuration.
func TestTheFirstReadingDoesNotWait(t *testing.T) {
	t.Parallel()
	a := large(0)
	if d := newReadDelay(a.memory.VMs(), nil); d.wait != 0 {
		t.Errorf("the first reading waits for %v, want no wait", d.wait)
	}
	a = large(time.Minute)
	a.needsRestart = true
	if a.pause(t.Context(), time.Hour); a.readDelay.wait != 0 {
		t.Errorf("the reading after a change of the configuration waits for %v, want no wait", a.readDelay.wait)
	}
}

// TestAVCenterIsReadLaterAfterARestart checks that, before a restarted vCenter is read, VMs are placed and
// none is absent.
func TestAVCenterIsReadLaterAfterARestart(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters+"  fillers: 3000\n", slow, nil)
	w1 := w.id("w1")
	w.fleet.Follow([]inventory.Identity{w1})
	w.found(w1)
	west := w.sim.VCenter("west")
	west.ResetRequests()
	west.EndSessions()
	w.until("the wait, or the reading after a very short one", func(states []inventory.State) bool {
		return states[1].Err != nil || logins(west) == 1 && west.Requests()["CreateFilter"] > 0
	})
	if states := w.fleet.States(); states[1].Err != nil {
		if _, err := w.find(states, w1); err != nil || !w.outcome(states, identity(t, stranger), topology.ErrUnknown) {
			t.Errorf("w1: %v; or a VM is absent that may have come meanwhile", err)
		}
	}
	w.until("read again", func(states []inventory.State) bool { return states[1].Err == nil })
	if n := west.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}
