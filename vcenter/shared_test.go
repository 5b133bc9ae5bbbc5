package vcenter

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "github.com/vmware/govmomi/lookup/simulator"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/vcentertest"
)

// TestFleetByClonedSession checks that one session reads VMs and tags, and that a lost session is replaced
// through the session manager.
func TestFleetByClonedSession(t *testing.T) {
	t.Parallel()
	sim, vc, cfg := vcentertest.EastBehindFront(t)
	east := sim.VCenters()[0]
	manager, cfg := vcentertest.SessionManager(t, cfg)
	vcentertest.AcceptClones(vc, east, cfg.User, cfg.Password.Reveal())
	logins := east.Requests()["Login"]
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return vcentertest.SharedCredentials(manager), nil
	}, quick)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	if n := east.Requests()["Login"] - logins; n != 0 {
		t.Errorf("%d logins with a password", n)
	}
	if n := len(manager.Requests("/session", "")); n != 1 {
		t.Errorf("%d requests to the session manager", n)
	}
	before := time.Now()
	east.EndSessions()
	w.until("a newer snapshot of another session", func(states []inventory.State) bool {
		return len(manager.Requests("/session", "")) == 2 && east.Requests()["CreatePropertyCollector"] == 2 && states[0].Err == nil && states[0].Snapshot.ReadAt.After(before) && w.zone(id) == "east/a"
	})
	own := w.fleet.Sessions()[0].Session.NewREST()
	if a := tags.NewReader("east", time.Hour, 1).Through(own).Read(w.ctx, tags.Query{Categories: []string{"zone"}}); a.Err != nil || len(a.Absent) > 0 {
		t.Errorf("another REST session of the same session reads %+v", a)
	}
	if err := own.Close(w.ctx); err != nil {
		t.Error(err)
	}
	sessions := east.SOAPSessions()
	w.stop()
	if n := east.SOAPSessions(); n != sessions-1 {
		t.Errorf("%d sessions are left of %d", n, sessions)
	}
	if n := len(vc.Requests("/rest/com/vmware/cis/session", "")); n != 0 {
		t.Errorf("%d requests for or against a session of the tagging API", n)
	}
}

// TestTagsOfAnOlderVCenter covers a tagging API that rejects SOAP sessions: tags are unknown, with a reason.
func TestTagsOfAnOlderVCenter(t *testing.T) {
	t.Parallel()
	sim, vc, cfg := vcentertest.EastBehindFront(t)
	manager, cfg := vcentertest.SessionManager(t, cfg)
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return vcentertest.SharedCredentials(manager), nil
	}, quick)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	want := "the tagging API of " + strings.TrimPrefix(vc.URL, "https://") + " does not accept the cloned session, which requires vCenter 8.0 U3 or later"
	w.until("tags unknown", func([]inventory.State) bool { return strings.Contains(w.zone(id), want) })
	if err := w.fleet.States()[0].Err; err != nil {
		t.Errorf("error: %v", err)
	}
	if n := len(manager.Requests("/session", "")); n != 1 {
		t.Errorf("%d requests to the session manager", n)
	}
}

// TestFleetByCertificate also checks that a rejected certificate is sent once, like a password.
func TestFleetByCertificate(t *testing.T) {
	t.Parallel()
	for _, isRejected := range []bool{false, true} {
		f, cfg := vcentertest.WithTokens(t)
		if isRejected {
			f.Answer(func(w http.ResponseWriter, r *http.Request, _ string) bool {
				return strings.HasPrefix(r.URL.Path, vcentertest.STSPath) && vcentertest.STSFault(w, "FailedAuthentication", "Invalid credentials")
			})
		}
		vcentertest.CertificateCredentials(t, &cfg)
		w := follow(t, nil, cfg, FromFile, quick)
		if !isRejected {
			w.until("read", func(states []inventory.State) bool { return states[0].Err == nil && states[0].Snapshot != nil })
			continue
		}
		for range 4 {
			w.until("error", func(states []inventory.State) bool { return errors.Is(states[0].Err, session.ErrRejected) })
			<-w.changed
		}
		if n := len(f.Requests(vcentertest.STSPath, "")); n != 1 {
			t.Errorf("the certificate was shown %d times", n)
		}
	}
}
