package vcenter

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	_ "github.com/vmware/govmomi/lookup/simulator"
	stsim "github.com/vmware/govmomi/sts/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// certified is a fleet whose first vCenter is behind a front that has a token
// service, and takes a certificate.
func certified(t *testing.T, change func(*vcentertest.Front)) *world {
	t.Helper()
	sim, f, cfg := vcentertest.EastBehindFront(t)
	_, tokens := stsim.New(nil, []types.BaseOptionValue{&types.OptionValue{Key: "config.vpxd.sso.sts.uri", Value: f.URL + vcentertest.STSPath}})
	f.Answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
		if r.URL.Path == vcentertest.STSPath {
			r.Body = io.NopCloser(strings.NewReader(body))
			tokens.ServeHTTP(w, r)
			return true
		}
		return false
	})
	if change != nil {
		change(f)
	}
	vcentertest.ByCertificate(t, &cfg)
	return follow(t, sim, cfg, FromFile, quick)
}

func TestFleetByCertificate(t *testing.T) {
	t.Parallel()
	w := certified(t, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	w.stop()
	if n := w.sim.VCenters()[0].Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestRejectedCertificateIsTriedOnce as a password is.
func TestRejectedCertificateIsTriedOnce(t *testing.T) {
	t.Parallel()
	var f *vcentertest.Front
	w := certified(t, func(x *vcentertest.Front) {
		f = x
		f.Answer(func(w http.ResponseWriter, r *http.Request, _ string) bool {
			return r.URL.Path == vcentertest.STSPath && vcentertest.STSFault(w, "FailedAuthentication", "Invalid credentials")
		})
	})
	for range 4 {
		w.until("error", func(states []inventory.State) bool { return states[0].Err != nil })
		<-w.changed
	}
	if n := len(f.Requests(vcentertest.STSPath, "")); n != 1 {
		t.Errorf("the certificate was shown %d times", n)
	}
	if err := w.fleet.States()[0].Err; !errors.Is(err, session.ErrRejected) {
		t.Errorf("%v", err)
	}
}
