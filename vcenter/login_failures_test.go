package vcenter

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// hasty are limits with the proportions of the real ones, a thousand times faster.
var hasty = session.LoginLimits{
	Window: 180 * time.Millisecond, RejectedMin: 300 * time.Millisecond, RejectedMax: 1800 * time.Millisecond,
	UnansweredMin: 120 * time.Millisecond, UnansweredMax: 900 * time.Millisecond,
}

// failures are when logins failed, of all APIs of a vCenter.
type failures struct {
	unobserved
	mu    sync.Mutex
	times []time.Time
}

func (f *failures) LoggedIn(vcenter string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if vcenter == "east" && err != nil {
		f.times = append(f.times, time.Now())
	}
}

// most returns how many there were at most within a window.
func (f *failures) most(window time.Duration) (most, all int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range f.times {
		n := 0
		for _, other := range f.times[i:] {
			if other.Sub(t) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most, len(f.times)
}

// TestRightCredentialsThatAreRejectedForAWhile serve again without a change of them,
// once the vCenter's identity source is back.
func TestRightCredentialsThatAreRejectedForAWhile(t *testing.T) {
	t.Parallel()
	opts, seen := quick, new(failures)
	opts.LoginLimits, opts.Observer = hasty, seen
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").RejectPassword() })
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	if got := w.zone(w.id("w1")); got != "west/a" {
		t.Errorf("w1 is in %s", got)
	}
	east := w.sim.VCenter("east")
	w.until("rejected three times", func([]inventory.State) bool { return logins(east) == 3 })
	if err := w.east().Err; !errors.Is(err, session.ErrRejected) || !strings.Contains(err.Error(), "vCenter also rejects right ones while its identity source is down or the account is locked; next attempt after ") {
		t.Errorf("error is %v", err)
	}
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil && w.zone(w.id("n1")) == "east/a" })
	if s := w.east(); !s.NextLogin.IsZero() {
		t.Errorf("a login waits until %v", s.NextLogin)
	}
	if most, all := seen.most(hasty.Window); most > 2 || all < 3 {
		t.Errorf("%d of %d logins failed within one window", most, all)
	}
}

// TestAnAccountThatAnotherClientLocks: while it is locked and as the other client goes
// on, we never have a part in it, and we are back when it is open.
func TestAnAccountThatAnotherClientLocks(t *testing.T) {
	t.Parallel()
	opts, seen := quick, new(failures)
	opts.LoginLimits, opts.Observer = hasty, seen
	lockout := fleet.Lockout{Failures: 5, Window: hasty.Window, Duration: 5 * time.Second} // a login beside load takes a second
	w := run(t, twoVCenters, opts, nil)
	east := w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	east.SetLockout(lockout)
	for range lockout.Failures {
		east.FailLogin()
	}
	east.EndSessions()
	w.until("locked out", func([]inventory.State) bool { return errors.Is(w.east().Err, session.ErrRejected) })
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil })
	if most, all := seen.most(hasty.Window); most > 2 || all == 0 {
		t.Errorf("%d of %d logins failed within one window", most, all)
	}
	if east.Locked() {
		t.Error("the account is locked still, or again")
	}
}

// TestWrongCredentialsDoNotLockTheAccount: wrong ones, at each API, for long, with
// changes now and then.
func TestWrongCredentialsDoNotLockTheAccount(t *testing.T) {
	t.Parallel()
	opts, seen := quick, new(failures)
	opts.LoginLimits, opts.Observer = hasty, seen
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, nil)
	east := w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.found(w.id("n1"))
	east.SetLockout(fleet.Lockout{Failures: 3, Window: hasty.Window, Duration: time.Hour})
	good := east.Password()
	east.SetPassword("not-in-the-Secret-yet")
	east.FaultREST("POST /com/vmware/cis/tagging/*", http.StatusUnauthorized) // the tagging API is logged in to as well
	began := time.Now()
	for i := 0; time.Since(began) < 10*hasty.Window; i++ {
		a.set(east.User(), []string{good, "wrong-1", "wrong-2", "wrong-3"}[i%4])
		w.fleet.CredentialsChanged()
		if i == 20 {
			east.EndSessions()
		}
		time.Sleep(10 * time.Millisecond)
	}
	if east.Locked() {
		t.Error("three logins failed within one window")
	}
	if _, all := seen.most(hasty.Window); all < 4 {
		t.Errorf("%d logins failed: there is nothing to see", all)
	}
	east.FaultREST("POST /com/vmware/cis/tagging/*", 0)
	a.set(east.User(), "not-in-the-Secret-yet")
	w.fleet.CredentialsChanged()
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil && w.zone(w.id("n1")) == "east/a" })
}

// TestTheTaggingAPIRejectsWhatSOAPAccepts: machines, their moves and absence are read,
// tags are unknown, and both come back without a change of the credentials.
func TestTheTaggingAPIRejectsWhatSOAPAccepts(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.LoginLimits = hasty
	opts.LoginLimits.RejectedMin, opts.LoginLimits.RejectedMax = 2*time.Second, 2*time.Second
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").RejectRESTLogin() })
	east := w.sim.VCenter("east")
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("tags unknown", func([]inventory.State) bool {
		return strings.Contains(w.zone(id), "the tagging API of ") && strings.Contains(w.zone(id), "next attempt after ")
	})
	if err := w.fleet.ConfirmAbsent(w.ctx, identity(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")); err != nil {
		t.Errorf("absence: %v", err)
	}
	if err := east.SetHostName("n1", "another"); err != nil {
		t.Fatal(err)
	}
	w.until("what the guest says", func([]inventory.State) bool { return w.found(id).HostName == "another" })
	if s := w.east(); s.Err != nil {
		t.Error(s.Err)
	}
	if n := restLogins(east); n != 1 {
		t.Errorf("%d logins to the tagging API", n)
	}
	east.EndSessions() // another SOAP session makes the tagging API no more willing
	w.until("another session", func([]inventory.State) bool {
		return logins(east) == 2 && east.SOAPSessions() == 1 && w.east().Err == nil
	})
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("tags read", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	if n := logins(east); n != 2 {
		t.Errorf("%d SOAP logins", n)
	}
	if n := restLogins(east); n != 2 {
		t.Errorf("%d logins to the tagging API", n)
	}
}

// TestAVCenterThatIsLostWhileItsTaggingAPIRejects: that a login was rejected is not why the
// vCenter is not read, and is known all the same.
func TestAVCenterThatIsLostWhileItsTaggingAPIRejects(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").RejectRESTLogin() })
	rejected := func() bool { return w.fleet.Health()[0].Rejected }
	w.fleet.Follow([]inventory.Identity{w.id("n1")})
	w.until("the tagging API rejects", func([]inventory.State) bool { return rejected() && w.east().Err == nil })
	w.sim.VCenter("east").Refuse()
	w.until("error", func([]inventory.State) bool { return w.east().Err != nil })
	time.Sleep(2 * time.Second) // several attempts
	if s := w.east(); s.Err == nil || errors.Is(s.Err, session.ErrRejected) || !rejected() {
		t.Errorf("%v, rejected %v", s.Err, rejected())
	}
}

// TestFaultsOfLogins: each is a rejection that says what to do, and none is repeated
// as other failures are.
func TestFaultsOfLogins(t *testing.T) {
	t.Parallel()
	for says, fault := range map[string]types.BaseMethodFault{
		"password has expired: change it":                       &types.PasswordExpired{},
		"the account may not log in (it lacks the privilege X)": &types.NoPermission{PrivilegeId: "X"},
		"the user name or password is rejected; ":               &types.InvalidLogin{},
		"password is rejected":                                  &types.InvalidClientCertificate{},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			var a accounts
			w := runWith(t, twoVCenters, quick, a.read, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").Fault("Login", fault) })
			w.until("error", func([]inventory.State) bool { return w.east().Err != nil })
			asked := a.count()
			w.until("five looks at the credentials", func([]inventory.State) bool { return a.count() >= asked+5 })
			if err := w.east().Err; !errors.Is(err, session.ErrRejected) || !strings.Contains(err.Error(), says) {
				t.Errorf("error is %v", err)
			}
			if n := logins(w.sim.VCenter("east")); n != 1 {
				t.Errorf("%d logins", n)
			}
		})
	}
}

// unhurried are options under which a login may take longer than another call.
func unhurried() Options {
	opts := quick
	opts.Timeout, opts.LoginTimeout = time.Second, 20*time.Second
	return opts
}

// TestASlowLoginSucceeds, and until then it is known that it is slow: to whoever asks
// whether the vCenter was read or is failing.
func TestASlowLoginSucceeds(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, unhurried(), func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").SlowLogin(4 * time.Second) })
	east := w.sim.VCenter("east")
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	if got := w.zone(w.id("w1")); got != "west/a" || logins(east) != 1 || east.SOAPSessions() != 0 {
		t.Errorf("w1 is in %s", got)
	}
	w.until("told", func([]inventory.State) bool {
		return errors.As(w.east().Err, new(*SlowLoginError)) && strings.Contains(w.east().Err.Error(), "no answer within 1s; waiting for up to 20s")
	})
	// The tagging API is as slow, which does not keep the machines from being read.
	w.until("machines read", func([]inventory.State) bool { return w.east().Err == nil && w.east().Snapshot != nil })
	if n := east.RESTSessions(); n != 0 || !strings.Contains(w.zone(w.id("n1")), "no answer within 1s") {
		t.Errorf("n1 is in %s with %d REST sessions", w.zone(w.id("n1")), n)
	}
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
	if n, m := logins(east), restLogins(east); n != 1 || m != 1 {
		t.Errorf("%d logins, %d to the tagging API", n, m)
	}
	w.stop()
	if n := east.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestALoginThatTimesOutIsNotRepeatedSoon: it leaves one session, and so do others
// after a change, but not the same ones.
func TestALoginThatTimesOutIsNotRepeatedSoon(t *testing.T) {
	t.Parallel()
	opts := unhurried()
	opts.LoginTimeout = 600 * time.Millisecond
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").SlowLogin(900 * time.Millisecond) })
	east := w.sim.VCenter("east")
	timedOut := func(n int) {
		t.Helper()
		w.until("timed out", func([]inventory.State) bool {
			s := w.east()
			return logins(east) == n && s.Err != nil && strings.Contains(s.Err.Error(), "no answer within 600ms") && time.Until(s.NextLogin) > time.Minute
		})
		asked := a.count()
		w.fleet.CredentialsChanged()
		w.until("five looks at the credentials", func([]inventory.State) bool { return a.count() >= asked+5 })
		if got := logins(east); got != n {
			t.Errorf("%d logins, want %d", got, n)
		}
	}
	timedOut(1)
	w.until("the session that is left", func([]inventory.State) bool { return east.SOAPSessions() == 1 })
	right := east.Password()
	a.set("another-user", right)
	timedOut(2)
	a.set(east.User(), right) // as it was
	timedOut(2)
	if n := east.Sessions(); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestASlowLoginHoldsNobodyUp: not the end of the daemon, not a change of the
// configuration, before the first session and beside one.
func TestASlowLoginHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beside bool
		change func(*world)
		met    func(*world) bool
	}{
		"the end":             {false, func(w *world) { w.stop() }, func(*world) bool { return true }},
		"the end, beside":     {true, func(w *world) { w.stop() }, func(*world) bool { return true }},
		"another address":     {false, swap, func(w *world) bool { return w.zone(w.id("w1")) == "west/a" }},
		"datacenters, beside": {true, narrow, func(w *world) bool { return w.sim.VCenter("east").Requests()["CreatePropertyCollector"] > 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			opts := unhurried()
			opts.LoginTimeout = 5 * time.Minute
			var a accounts
			w := runWith(t, twoVCenters, opts, a.read, func(sim *fleet.Fleet, _ []config.VCenter) {
				if !c.beside {
					sim.VCenter("east").SlowLogin(time.Hour)
				}
			})
			east := w.sim.VCenter("east")
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
			before := 0
			if c.beside {
				w.until("placed", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
				before = logins(east)
				east.SlowLogin(time.Hour)
				a.set("another-user", "made-up")
				w.fleet.CredentialsChanged()
			}
			w.until("a login under way", func([]inventory.State) bool { return logins(east) > before })
			began := time.Now()
			c.change(w)
			w.until("met", func([]inventory.State) bool { return c.met(w) })
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// swap gives the two vCenters each other's address.
func swap(w *world) {
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	swapped[0].User, swapped[1].User = w.cfgs[1].User, w.cfgs[0].User
	w.sim.VCenter("east").SlowLogin(0)
	w.fleet.Apply(swapped, quick.Requirements)
}

// narrow leaves one datacenter of east.
func narrow(w *world) {
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, quick.Requirements)
}

// TestALoginThatAGatewayGivesUp may have opened a session: the second is not tried
// for minutes.
func TestALoginThatAGatewayGivesUp(t *testing.T) {
	t.Parallel()
	for name, instead := range map[string]func(http.ResponseWriter){
		"504":             func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
		"a broken answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			sim, f, cfg := vcentertest.EastBehindFront(t)
			f.Answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
				if !isLogin(r, body) {
					return false
				}
				instead(w)
				return true
			})
			var a accounts
			w := follow(t, sim, cfg, func(ctx context.Context, c *config.VCenter) (Credentials, error) { return a.read(ctx, c) }, quick)
			w.until("a pause", func(states []inventory.State) bool { return time.Until(states[0].NextLogin) > time.Minute })
			asked := a.count()
			w.until("five looks at the credentials", func([]inventory.State) bool { return a.count() >= asked+5 })
			if n := len(f.Requests("/sdk", "<Login ")); n != 2 {
				t.Errorf("%d logins", n)
			}
		})
	}
}
