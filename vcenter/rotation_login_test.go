package vcenter

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/test/fleet"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

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
