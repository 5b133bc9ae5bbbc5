package vcenter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
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

// lose makes east's credentials unreadable.
func (a *accounts) lose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of = map[string]Credentials{"east": {}}
	a.broken = errors.New("no such Secret")
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

func TestChangedCredentialsReplaceTheSession(t *testing.T) {
	t.Parallel()
	w, a := renewing(t)
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	east.SetPassword("second")
	a.set(east.User(), "second")
	w.fleet.CredentialsChanged()
	watches := east.Requests()["CreatePropertyCollector"]
	w.until("watched by the new session", func([]inventory.State) bool {
		s := w.east()
		if s.Snapshot == nil || s.Err != nil {
			t.Errorf("on the way there: error %v, snapshot %v", s.Err, s.Snapshot)
		}
		return east.Requests()["CreatePropertyCollector"] > watches
	})
	w.until("the session before ended", func([]inventory.State) bool { return east.SOAPSessions() == 1 })
	if e, w := logins(east), logins(west); e != 2 || w != 1 {
		t.Errorf("%d logins to east, %d to west", e, w)
	}
	for range 3 {
		w.fleet.CredentialsChanged() // nothing has changed
	}
	w.sim.VCenter("east").EndSessions()
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 3 })
}

// often allows more changes of wrong credentials within a test than of right ones.
func often(opts Options) Options {
	opts.LoginLimits.Window = time.Millisecond
	return opts
}

// TestAWrongPasswordIsTriedOnce: the session that is there lives on.
func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	w, a := renewingWith(t, often(slow))
	east := w.sim.VCenter("east")
	good := east.Password()
	for _, wrong := range []string{"wrong-1", "wrong-2"} {
		n := logins(east)
		a.set(east.User(), wrong)
		w.fleet.CredentialsChanged()
		w.until("tried", func([]inventory.State) bool { return logins(east) > n })
		for range 5 {
			w.fleet.CredentialsChanged()
		}
	}
	a.set(east.User(), "wrong-1") // known to be wrong
	w.fleet.CredentialsChanged()
	if err := east.MoveVM("n1", "c2-host-1"); err != nil {
		t.Fatal(err)
	}
	w.until("the move seen", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/b" })
	if failure := w.east().Err; failure != nil {
		t.Error(failure)
	}
	if n := logins(east); n != 3 {
		t.Errorf("%d logins", n)
	}
	// The session ends: what is known to be wrong is not tried for a new one.
	east.EndSessions()
	w.until("error", func([]inventory.State) bool { return w.east().Err != nil })
	if err := w.east().Err; !errors.Is(err, session.ErrRejected) || w.east().Snapshot == nil {
		t.Errorf("error is %v", err)
	}
	a.set(east.User(), good)
	w.fleet.CredentialsChanged()
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil })
	if n := logins(east); n != 4 {
		t.Errorf("%d logins", n)
	}
}

// TestCredentialsThatAreGone: a session that lives needs none.
func TestCredentialsThatAreGone(t *testing.T) {
	t.Parallel()
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	user, good := east.User(), east.Password()
	a.lose()
	w.fleet.CredentialsChanged()
	if err := east.MoveVM("n1", "c2-host-1"); err != nil {
		t.Fatal(err)
	}
	w.until("the move seen", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/b" })
	w.until("missed", func([]inventory.State) bool { return w.fleet.Health()[0].CredentialsErr != nil })
	if h := w.fleet.Health(); h[0].Err != nil || faults.CauseOf(h[0].CredentialsErr) != faults.CauseCredentials || h[1].CredentialsErr != nil {
		t.Errorf("%v with %v, %v", h[0].Err, h[0].CredentialsErr, h[1].CredentialsErr)
	}
	east.EndSessions()
	w.until("error", func([]inventory.State) bool { return w.east().Err != nil })
	if err := w.east().Err; !strings.Contains(err.Error(), "no such Secret") {
		t.Error(err)
	}
	a.set(user, good)
	w.fleet.CredentialsChanged()
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil })
	if n := logins(east); n != 2 {
		t.Errorf("%d logins", n)
	}
	if err := w.fleet.Health()[0].CredentialsErr; err != nil {
		t.Error(err)
	}
}

// TestAVCenterThatIsDownWhenThePasswordChanges is tried again without a change of the configuration.
func TestAVCenterThatIsDownWhenThePasswordChanges(t *testing.T) {
	t.Parallel()
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	east.SetPassword("second")
	east.RejectPassword() // refuses every login, the session lives
	a.set(east.User(), "second")
	w.fleet.CredentialsChanged()
	w.until("tried", func([]inventory.State) bool { return logins(east) == 2 })
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	a.set(east.User(), east.Password())
	east.Refuse()
	w.until("error", func([]inventory.State) bool { return w.east().Err != nil })
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil })
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
