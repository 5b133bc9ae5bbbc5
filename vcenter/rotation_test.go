package vcenter

import (
	"bytes"
	"context"
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
	"vzones/vcenter/vcentertest"
)

// TestAPasswordWithOtherDatacenters: neither change hides the other.
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

// delayed has the vCenter do what it is asked first, and answer a while later.
// Began is closed when it has been done for the first time.
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

// TestALoginThatIsUnderWayAtTheEnd leaves no session behind.
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
			sim, f, cfg := vcentertest.EastBehindFront(t)
			east := sim.VCenters()[0]
			instead, began := delayed(east, c.login)
			f.Answer(instead)
			w := follow(t, sim, cfg, FromFile, slow)
			w.fleet.Follow([]inventory.Identity{w.id("n1")})
			<-began
			c.end(w)
			w.until("no session left", func([]inventory.State) bool { return east.Sessions() == 0 })
		})
	}
}

// TestTheTaggingAPIRejectsTheFormerPassword: those that are known to be others by
// then are used at once, and the vCenter is not failing.
func TestTheTaggingAPIRejectsTheFormerPassword(t *testing.T) {
	t.Parallel()
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	w.until("tags read", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
	east.SetPassword("second-example")
	a.set(east.User(), "second-example")
	forgetREST(w)
	w.until("logged in again", func([]inventory.State) bool {
		if s := w.east(); s.Err != nil || s.Snapshot == nil {
			t.Fatalf("on the way there: %+v", s)
		}
		return logins(east) == 2 && east.SOAPSessions() == 1
	})
	w.until("tags read again", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
}

// forgetREST has east's tagging API forget its session, tags be read, and credentials
// be looked at, all at once.
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

// TestChangesOfAllKindsAtOnce: whatever comes between what, in the end the vCenters
// are as configured last, with one session each, and with none after the end.
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
	// The tags may be read after the machines are found.
	w.until("n1 and w1 placed", func([]inventory.State) bool {
		return w.zone(w.id("n1")) == "east/a" && w.zone(w.id("w1")) == "west/a"
	})
	w.until("one session each", func([]inventory.State) bool { return east.SOAPSessions() == 1 && west.SOAPSessions() == 1 })
	w.stop()
	if n := east.Sessions() + west.Sessions(); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}
