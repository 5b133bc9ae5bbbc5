package vcenter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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

// accounts is a CredentialSource that a test can change.
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

// count returns the number of reads of east's credentials.
func (a *accounts) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reads
}

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

func (w *world) east() inventory.State {
	return inventory.StateOf(w.fleet.States(), "east")
}

// often allows more changes of rejected than of accepted credentials in a test.
func often(opts Options) Options {
	opts.LoginLimits.Window = time.Millisecond
	return opts
}

// TestNothingNewEndsNoPause covers notifications about files and Secrets without a change.
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

// hasty are limits with the default's proportions, a thousand times as fast.
var hasty = session.LoginLimits{
	Window: 180 * time.Millisecond, RejectedMin: 300 * time.Millisecond, RejectedMax: 1800 * time.Millisecond,
	UnansweredMin: 120 * time.Millisecond, UnansweredMax: 900 * time.Millisecond,
}

// failures are the times of failed logins at all APIs of a vCenter.
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

// most returns the maximum number within a window.
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

// TestValidCredentialsAreRejectedTemporarily checks that unchanged credentials are accepted again once the
// vCenter's identity source recovers.
func TestValidCredentialsAreRejectedTemporarily(t *testing.T) {
	t.Parallel()
	opts, seen := quick, new(failures)
	opts.LoginLimits, opts.Observer = hasty, seen
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").RejectPassword() })
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.in(w.id("w1"), "west/a")
	east := w.sim.VCenter("east")
	// The simulator counts a login before it decides about it, so the test waits for the daemon's count.
	w.until("rejected three times", func([]inventory.State) bool { _, all := seen.most(hasty.Window); return all >= 3 })
	if err := w.east().Err; !errors.Is(err, session.ErrRejected) || !strings.Contains(err.Error(), "vCenter also rejects valid credentials while its identity source is down or the account is locked; next attempt after ") {
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

// TestWrongCredentialsDoNotLockTheAccount covers both APIs, with repeated changes.
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
	east.FaultREST("POST /com/vmware/cis/tagging/*", http.StatusUnauthorized) // Forces a login to the tagging API.
	failed := func() int { _, all := seen.most(hasty.Window); return all }
	began := time.Now()
	for i := 0; time.Since(began) < 10*hasty.Window || failed() < 4 && time.Since(began) < time.Minute; i++ { // Longer on a busy computer.
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
	if all := failed(); all < 4 {
		t.Errorf("%d logins failed: there is nothing to see", all)
	}
	east.FaultREST("POST /com/vmware/cis/tagging/*", 0)
	a.set(east.User(), "not-in-the-Secret-yet")
	w.fleet.CredentialsChanged()
	w.until("recovery", func([]inventory.State) bool { return w.east().Err == nil && w.zone(w.id("n1")) == "east/a" })
}

// TestASlowLoginDelaysNoOtherVCenter checks that neither shutdown nor a new configuration waits for a login, with and
// without an open session.
func TestASlowLoginDelaysNoOtherVCenter(t *testing.T) {
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
			if took := time.Since(began); took > opts.LoginTimeout/2 {
				t.Errorf("it took %v, as long as the login", took)
			}
		})
	}
}

// swap exchanges the addresses of the two vCenters.
func swap(w *world) {
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	w.sim.VCenter("east").SlowLogin(0)
	w.fleet.Apply(swapped, quick.Requirements)
}

// narrow configures one datacenter of east.
func narrow(w *world) {
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, quick.Requirements)
}

// TestALoginThatAGatewayGivesUp may have opened a session, so the next attempt comes minutes later.
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

func TestAPasswordWithOtherDatacenters(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")})
	w.found(w.id("n3"))
	east := w.sim.VCenter("east")
	east.SetPassword("second-example")
	cfgs := slices.Clone(w.cfgs)
	cfgs[0].Password = config.NewPassword("second-example")
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, slow.Requirements)
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 2 && east.SOAPSessions() == 1 })
	w.until("n3 not found", func(states []inventory.State) bool {
		_, err := w.find(states, w.id("n3"))
		return err != nil
	})
	w.found(w.id("n1"))
}

// delayed forwards a request and delays the answer. began is closed at the first such request.
func delayed(behind http.Handler, late func(*http.Request, string) bool) (instead func(http.ResponseWriter, *http.Request, string) bool, began chan struct{}) {
	began = make(chan struct{})
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !late(r, body) {
			return false
		}
		own := r.Clone(context.WithoutCancel(r.Context()))
		own.Body = io.NopCloser(strings.NewReader(body))
		answer := httptest.NewRecorder()
		behind.ServeHTTP(answer, own)
		once.Do(func() { close(began) })
		time.Sleep(200 * time.Millisecond)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = io.Copy(w, bytes.NewReader(answer.Body.Bytes()))
		return true
	}, began
}

func isLogin(_ *http.Request, body string) bool { return strings.Contains(body, "<Login ") }

func isRESTLogin(r *http.Request, _ string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/session") && r.URL.RawQuery == ""
}

// TestALoginThatIsUnderWayAtTheEnd must leave no session behind. The login may take another second. On a busy computer it
// may take longer and fail, so there are three attempts.
func TestALoginThatIsUnderWayAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		login func(*http.Request, string) bool
		end   func(*world)
	}{
		"SOAP, the daemon stops":        {isLogin, func(w *world) { w.stop() }},
		"SOAP, the vCenter is removed":  {isLogin, func(w *world) { w.fleet.Apply(nil, slow.Requirements) }},
		"REST, the daemon stops":        {isRESTLogin, func(w *world) { w.stop() }},
		"REST, the vCenter is removed":  {isRESTLogin, func(w *world) { w.fleet.Apply(nil, slow.Requirements) }},
		"REST, another login fails now": {isRESTLogin, func(w *world) { w.sim.VCenter("east").EndSessions(); w.stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				sim, f, cfg := vcentertest.EastBehindFront(t)
				east := sim.VCenters()[0]
				instead, began := delayed(east, c.login)
				f.Answer(instead)
				opts, calls := slow, new(vcentertest.Counter)
				opts.Observer = calls
				w := follow(t, sim, cfg, FromFile, opts)
				w.fleet.Follow([]inventory.Identity{w.id("n1")})
				<-began
				c.end(w)
				for ended := time.Now(); time.Since(ended) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
					if east.Sessions() == 0 {
						return
					}
				}
				if logins := calls.Logins(); !slices.ContainsFunc(logins, func(err error) bool { return err != nil }) {
					t.Fatalf("a session is left, although all %d logins succeeded", len(logins))
				}
			}
			t.Error("a session is left after each of three attempts")
		})
	}
}

// TestTheTaggingAPIRejectsTheFormerPassword checks that changed credentials are used at once and the vCenter
// is not reported as failing.
func TestTheTaggingAPIRejectsTheFormerPassword(t *testing.T) {
	t.Parallel()
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	w.until("tags read", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
	east.SetPassword("second-example")
	a.set(east.User(), "second-example")
	forgetREST(w)
	w.until("logged in again", func([]inventory.State) bool {
		// The snapshot is not current until the new session has read the vCenter.
		if s := w.east(); s.Err != nil && !s.Outdated || s.Snapshot == nil {
			t.Fatalf("on the way there: %+v", s)
		}
		return logins(east) == 2 && east.SOAPSessions() == 1
	})
	w.until("tags read again", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
}

// forgetREST ends east's tagging session, and triggers reads of the tags and the credentials.
func forgetREST(w *world) {
	w.Helper()
	const list = "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects"
	east := w.sim.VCenter("east")
	east.FaultREST(list, http.StatusUnauthorized)
	before := restLogins(east)
	requirements := slow.Requirements
	requirements.Categories = []string{"zone"}
	w.fleet.Apply(w.cfgs, requirements)
	w.until("logged in to the tagging API", func([]inventory.State) bool { return restLogins(east) > before })
	east.FaultREST(list, 0)
}

func restLogins(v *fleet.VCenter) int { return v.Requests()["POST /com/vmware/cis/session"] }

// TestChangesOfAllKindsAtOnce checks that the vCenters end up with the latest configuration and one session
// each, and with no session after shutdown.
func TestChangesOfAllKindsAtOnce(t *testing.T) {
	t.Parallel()
	w, a := renewingWith(t, often(quick))
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	good := east.Password()
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	narrow := slices.Clone(w.cfgs)
	narrow[0].Datacenters, narrow[0].RoundTrips = []string{"dc1"}, 1
	tagless := quick.Requirements
	tagless.Tags = false
	changes := []func(){
		func() { w.fleet.Apply(w.cfgs, quick.Requirements) },
		func() { w.fleet.Apply(w.cfgs[1:], quick.Requirements) },
		func() { w.fleet.Apply(narrow, quick.Requirements) },
		func() { w.fleet.Apply(swapped, quick.Requirements) },
		func() { w.fleet.Apply(w.cfgs, tagless) },
		func() { a.set(east.User(), "wrong-example"); w.fleet.CredentialsChanged() },
		func() { a.set(east.User(), good); w.fleet.CredentialsChanged() },
		func() { east.EndSessions() },
		func() { west.EndSessions() },
		func() { w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n3")}) },
		func() { w.fleet.Probe("east") },
	}
	var g sync.WaitGroup
	for range 3 {
		g.Go(func() {
			for range 25 {
				changes[rand.N(len(changes))]()
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
	}
	g.Wait()
	a.set(east.User(), good)
	w.fleet.Apply(w.cfgs, quick.Requirements)
	w.fleet.CredentialsChanged()
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	// Tags may arrive after the VMs.
	w.until("n1 and w1 placed", func([]inventory.State) bool {
		return w.zone(w.id("n1")) == "east/a" && w.zone(w.id("w1")) == "west/a"
	})
	w.until("one session each", func([]inventory.State) bool { return east.SOAPSessions() == 1 && west.SOAPSessions() == 1 })
	w.stop()
	if n := east.Sessions() + west.Sessions(); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}
