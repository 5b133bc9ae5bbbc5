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

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		machines int
		followed bool
		want     time.Duration
	}{
		{0, false, 0},
		{300, false, 900 * time.Millisecond},
		{20_000, false, time.Minute},
		{40_000, false, 2 * time.Minute},
		{1 << 40, false, 2 * time.Minute},
		{100, true, 2 * time.Second},
		{1 << 40, true, 2 * time.Minute},
	} {
		if got := spread(c.machines, c.followed); got != c.want {
			t.Errorf("%d machines, followed %t: %v, want %v", c.machines, c.followed, got, c.want)
		}
	}
}

// large is a connection whose last watch had an index of that size.
func large(machines int) *connection {
	before := &model{index: map[string]indexed{}}
	for i := range machines {
		before.index[string(rune('a'+i))] = indexed{}
	}
	creds := func(context.Context, *config.VCenter) (Credentials, error) { return Credentials{User: "u"}, nil }
	c := newConnection(&target{cfg: config.VCenter{Name: "east"}}, creds, timing{timeout: time.Second, observer: unobserved{}}, func() {})
	c.remembered, c.read = before, Credentials{User: "u"}
	return c
}

// TestReadingsAreSpread: what connections owe is spread over the whole time, and they
// wait it out with the snapshot that they have, in trouble.
func TestReadingsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const machines, daemons = 1000, 200
		var early, late int
		for range daemons {
			c := large(machines)
			snap := &inventory.Snapshot{VCenter: "east"}
			c.state.Store(&inventory.State{VCenter: "east", Snapshot: snap, Contact: time.Now()})
			c.owe()
			began, owed := time.Now(), c.owed
			done := make(chan error, 1)
			go func() { done <- c.await(t.Context()) }()
			synctest.Wait()
			if s := c.state.Load(); owed > 0 && (s.Trouble == nil || s.Snapshot != snap) {
				t.Fatalf("while it waits: trouble %v, snapshot %v", s.Trouble, s.Snapshot)
			}
			c.probe <- struct{}{} // which does not end it
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			if took != owed || took >= machines*spreadPerMachine {
				t.Fatalf("waited for %v, owed %v", took, owed)
			}
			if took < machines*spreadPerMachine/2 {
				early++
			} else {
				late++
			}
			if err := c.await(t.Context()); err != nil || time.Since(began) != took {
				t.Fatalf("it waits twice: %v", err)
			}
		}
		if early < daemons/4 || late < daemons/4 {
			t.Errorf("%d in the first half, %d in the second", early, late)
		}
	})
}

// TestWhatEndsTheWait: a changed configuration, changed credentials, and the end.
func TestWhatEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			do   func(c *connection, cancel func())
			want error
		}{
			"configuration":    {func(c *connection, _ func()) { token(c.again) }, errReconfigured},
			"end":              {func(_ *connection, cancel func()) { cancel() }, context.Canceled},
			"same credentials": {func(c *connection, _ func()) { token(c.renewed) }, nil},
		} {
			conn := large(1000)
			conn.owed = time.Minute
			ctx, cancel := context.WithCancel(t.Context())
			began, done := time.Now(), make(chan error, 1)
			go func() { done <- conn.await(ctx) }()
			synctest.Wait()
			c.do(conn, cancel)
			err := <-done
			cancel()
			if took := time.Since(began); !errors.Is(err, c.want) || (took == 0) != (c.want != nil) {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		}
		conn := large(1000)
		conn.owed = time.Minute
		began, done := time.Now(), make(chan error, 1)
		go func() { done <- conn.await(t.Context()) }()
		synctest.Wait()
		conn.credentials = func(context.Context, *config.VCenter) (Credentials, error) { return Credentials{User: "other"}, nil }
		token(conn.renewed)
		if err := <-done; err != nil || time.Since(began) != 0 {
			t.Errorf("other credentials: %v after %v", err, time.Since(began))
		}
		if len(conn.renewed) != 1 {
			t.Error("the watch does not hear of the other credentials")
		}
	})
}

// TestTheFirstReadingDoesNotWait, nor one after the configuration has changed.
func TestTheFirstReadingDoesNotWait(t *testing.T) {
	c := large(0)
	c.remembered = nil
	if c.owe(); c.owed != 0 {
		t.Errorf("owes %v", c.owed)
	}
	c = large(100)
	c.owed = time.Minute
	token(c.again)
	if c.pause(t.Context(), time.Hour); c.owed != 0 {
		t.Errorf("owes %v after a change", c.owed)
	}
}

// TestAVCenterIsReadLaterAfterARestart: machines are placed and none is absent while a
// restarted vCenter is not read yet, and nothing is read of it.
func TestAVCenterIsReadLaterAfterARestart(t *testing.T) {
	w := run(t, twoVCenters+"  fillers: 3000\n", slow, nil)
	w1 := w.id("w1")
	w.fleet.Follow([]inventory.Identity{w1})
	w.found(w1)
	west := w.sim.VCenter("west")
	west.ResetRequests()
	west.EndSessions()
	w.until("the wait", func(states []inventory.State) bool { return states[1].Trouble != nil })
	if n := west.Requests()["CreatePropertyCollector"]; n == 0 { // otherwise it was a very short wait
		nobody := identity(t, stranger)
		if states := w.fleet.States(); states[1].Trouble != nil {
			if _, err := inventory.Find(states, w1); err != nil {
				t.Errorf("w1 is not found: %v", err)
			}
			if !outcome(states, nobody, topology.ErrUnknown) {
				t.Error("a machine is absent that may have come meanwhile")
			}
		}
	}
	w.until("read again", func(states []inventory.State) bool { return states[1].Trouble == nil })
	if n := west.Requests()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}
