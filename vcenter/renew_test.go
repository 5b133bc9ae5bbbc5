package vcenter

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// accounts is a CredentialSource whose answers a test changes.
type accounts struct {
	mu     sync.Mutex
	broken error
	reads  int
	of     map[string]Credentials
}

func (a *accounts) read(ctx context.Context, cfg *config.VCenter) (Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cfg.Name == "east" {
		a.reads++
	}
	if c, ok := a.of[cfg.Name]; ok {
		return c, a.broken
	}
	return FromFile(ctx, cfg)
}

// count returns how often east's credentials were read.
func (a *accounts) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reads
}

// set gives east other credentials.
func (a *accounts) set(user, password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]Credentials{}
	}
	a.broken = nil
	a.of["east"] = Credentials{User: user, Password: config.NewPassword(password)}
}

// renewing is a world with accounts, in which n1 and w1 are found.
func renewing(t *testing.T) (*world, *accounts) {
	t.Helper()
	return renewingWith(t, slow)
}

func renewingWith(t *testing.T, opts Options) (*world, *accounts) {
	t.Helper()
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	return w, &a
}

func logins(v *fleet.VCenter) int { return v.Requests()["Login"] }

// east returns the state of the vCenter that is tampered with.
func (w *world) east() inventory.State {
	return inventory.StateOf(w.fleet.States(), "east")
}

// often allows more changes of wrong credentials within a test than of right ones.
func often(opts Options) Options {
	opts.LoginLimits.Window = time.Millisecond
	return opts
}

// TestNothingNewEndsNoPause: that files or Secrets may have changed is said far more
// often than that they have.
func TestNothingNewEndsNoPause(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.RetryMin, opts.RetryMax = 2*time.Second, 2*time.Second
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").RejectPassword() })
	east := w.sim.VCenter("east")
	w.until("rejected", func([]inventory.State) bool { return w.east().Err != nil })
	said := w.east().Err.Error()
	asked := a.count()
	for range 100 {
		w.fleet.CredentialsChanged()
		time.Sleep(time.Millisecond)
	}
	if n := logins(east); n != 1 {
		t.Errorf("%d logins", n)
	}
	if n := a.count(); n == asked {
		t.Error("nobody looked")
	}
	if now := w.east().Err.Error(); now != said || !strings.Contains(now, "; next attempt after ") {
		t.Errorf("error is %s and was %s", now, said)
	}
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	east.SetPassword("second")
	began := time.Now()
	a.set(east.User(), "second")
	w.fleet.CredentialsChanged()
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil && w.east().Snapshot != nil })
	t.Logf("recovered in %v", time.Since(began))
}
