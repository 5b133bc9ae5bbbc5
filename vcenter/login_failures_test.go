package vcenter

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
			opts := quick
			opts.Timeout, opts.LoginTimeout = time.Second, 5*time.Minute
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
			w := follow(t, sim, cfg, a.read, quick)
			w.until("a pause", func(states []inventory.State) bool { return time.Until(states[0].NextLogin) > time.Minute })
			asked := a.count()
			w.until("five looks at the credentials", func([]inventory.State) bool { return a.count() >= asked+5 })
			if n := len(f.Requests("/sdk", "<Login ")); n != 2 {
				t.Errorf("%d logins", n)
			}
		})
	}
}
