package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// errSecret contains text that no response may show.
var errSecret = errors.New(`vCenter "x": logging in to vc.internal.example.com as admin@vsphere.local: S3cretS3cret`)

// healthOf returns the health of vCenters in these states.
func healthOf(states ...inventory.State) (all []vcenter.Health) {
	for _, s := range states {
		all = append(all, vcenter.Health{State: s})
	}
	return all
}

// askReady requests /readyz?verbose.
func askReady(leads bool, states ...inventory.State) (int, string) {
	return askReadyOf(leads, false, healthOf(states...)...)
}

func askReadyOf(leads, rejected bool, all ...vcenter.Health) (int, string) {
	leading := make(chan struct{})
	if leads {
		close(leading)
	}
	r := &readyHandler{leading: leading, health: func() []vcenter.Health { return all }, isRejected: func() bool { return rejected }}
	w := httptest.NewRecorder()
	r.serveVerbose(w, httptest.NewRequest(http.MethodGet, verboseReadyPath, http.NoBody))
	return w.Code, w.Body.String()
}

// TestReadiness: each condition of a vCenter alone. The response never contains the error.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		read := &inventory.Snapshot{VCenter: "east", ReadAt: now.Add(-time.Hour)}
		partial := &inventory.Snapshot{VCenter: "east", ReadAt: now, Incomplete: errSecret}
		well := inventory.State{Snapshot: read, LastContact: now}
		for _, c := range []struct {
			state vcenter.Health
			code  int
			says  string
		}{
			{vcenter.Health{}, 503, "connecting: no answer yet"},
			{vcenter.Health{Answered: true}, 503, "connecting: its VMs are being read"},
			{vcenter.Health{State: inventory.State{Err: errSecret, Cause: inventory.CauseUnreachable}}, 200, "down, never read: unreachable"},
			{vcenter.Health{State: inventory.State{Err: errSecret, Cause: inventory.CauseUnreachable, LastContact: now}}, 200, "down, never read: unreachable"},
			{vcenter.Health{State: well}, 200, "synced"},
			{vcenter.Health{State: inventory.State{Snapshot: read, LastContact: now.Add(-time.Hour)}}, 200, "synced"},
			{vcenter.Health{State: inventory.State{Snapshot: partial, LastContact: now}}, 200, "synced, but not all of its VMs are visible: datacenter not found"},
			{vcenter.Health{State: inventory.State{Snapshot: read, LastContact: now.Add(-90 * time.Second), Err: errSecret, Cause: inventory.CauseUnreachable}}, 200, "down, last answer 1m30s ago: unreachable"},
			{vcenter.Health{State: inventory.State{Snapshot: partial, LastContact: now.Add(-24 * time.Hour), Err: errSecret, Cause: inventory.CauseUnreachable}}, 200, "down, last answer 24h0m0s ago: unreachable"},
			{vcenter.Health{State: inventory.State{Err: errRejected, Cause: inventory.CauseRejected, NextLogin: now.Add(310*time.Second - time.Millisecond)}}, 200, "down, never read, next login in 5m10s: credentials rejected"},
			{vcenter.Health{State: inventory.State{Err: errRejected, Cause: inventory.CauseRejected, NextLogin: now.Add(-time.Second)}}, 200, "down, never read: credentials rejected"},
			{vcenter.Health{State: inventory.State{Snapshot: read, LastContact: now.Add(-time.Minute), Err: errRejected, Cause: inventory.CauseRejected, NextLogin: now.Add(time.Minute)}}, 200, "down, last answer 1m0s ago, next login in 1m0s: credentials rejected"},
			{vcenter.Health{State: inventory.State{Snapshot: read, LastContact: now.Add(-3 * time.Second), Err: errSecret, Cause: inventory.CausePending, Outdated: true}}, 200, "being read again, last answer 3s ago"},
			{vcenter.Health{State: well, Rejected: true}, 200, "synced, in a session that cannot be renewed: credentials rejected"},
			{vcenter.Health{State: well, Rejected: true, Tags: vcenter.TagsFailed}, 200, "synced, but its tags cannot be read: credentials rejected"},
			{vcenter.Health{State: inventory.State{Snapshot: partial, LastContact: now, Err: errSecret, Cause: inventory.CauseUnreachable}, CredentialsErr: errSecret}, 200, "down, last answer 0s ago: unreachable"},
			{vcenter.Health{State: well, CredentialsErr: errSecret}, 200, "synced, in a session that cannot be renewed: credentials missing or unreadable"},
			{vcenter.Health{State: well, Rejected: true, CredentialsErr: errSecret}, 200, "synced, in a session that cannot be renewed: credentials missing or unreadable"},
		} {
			c.state.VCenter = "east"
			code, body := askReadyOf(true, false, c.state)
			begin := "ok\n"
			if c.code != http.StatusOK {
				begin = "not ready: some vCenters have neither been read nor failed yet\n"
			}
			if want := begin + "vcenter east: " + c.says + "\n"; code != c.code || body != want {
				t.Errorf("%d %q, want %d %q", code, body, c.code, want)
			}
		}
	})
}

// errRejected is the error of a rejected login.
var errRejected = fmt.Errorf("%w, %w", errSecret, session.ErrRejected)

// TestReadinessNamesTheCause: every failure ends with its cause.
func TestReadinessNamesTheCause(t *testing.T) {
	for want, err := range map[string]error{
		"certificate not trusted":                            &session.UntrustedError{},
		"login postponed, so that the account is not locked": session.LockoutError{},
		"permission denied":                                  vcentertest.SOAPFault(types.NoPermission{}),
		"answers with an error":                              vcentertest.SOAPFault(types.SystemError{}),
		"unreachable":                                        errSecret,
		"credentials rejected":                               errRejected,
	} {
		if _, body := askReady(true, inventory.State{VCenter: "east", Err: err, Cause: faults.CauseOf(err)}); body != "ok\nvcenter east: down, never read: "+want+"\n" {
			t.Errorf("%q, want %s", body, want)
		}
	}
}

// TestReadinessOfAFleet: a vCenter that was neither read nor failed keeps the daemon unready. A failed
// vCenter does not, and neither does a rejected configuration, since the previous one is in force.
func TestReadinessOfAFleet(t *testing.T) {
	west := inventory.State{VCenter: "west", Err: errSecret, Cause: inventory.CauseUnreachable}
	north := inventory.State{VCenter: "north", Snapshot: &inventory.Snapshot{}}
	const (
		ofWest  = "vcenter west: down, never read: unreachable\n"
		ofNorth = "vcenter north: synced\n"
	)
	for _, c := range []struct {
		states   []inventory.State
		rejected bool
		code     int
		want     string
	}{
		{[]inventory.State{{VCenter: "east"}, west, north}, false, 503,
			"not ready: some vCenters have neither been read nor failed yet\nvcenter east: connecting: no answer yet\n" + ofWest + ofNorth},
		{[]inventory.State{west, north}, false, 200, "ok\n" + ofWest + ofNorth},
		// A restart would help none of them.
		{[]inventory.State{west, west, west}, false, 200, "ok\n" + ofWest + ofWest + ofWest},
		{[]inventory.State{north}, true, 200,
			"ok\n" + ofNorth + "configuration: the changed configuration is rejected, the previous one stays in force\n"},
	} {
		if code, body := askReadyOf(true, c.rejected, healthOf(c.states...)...); code != c.code || body != c.want {
			t.Errorf("%d %q, want %d %q", code, body, c.code, c.want)
		}
	}
}

// TestReadinessWhileStandingBy: a standby reads no vCenter.
func TestReadinessWhileStandingBy(t *testing.T) {
	code, body := askReady(false, inventory.State{VCenter: "east"}, inventory.State{VCenter: "west"})
	if code != http.StatusOK || !strings.HasPrefix(body, "ok: standing by") || strings.Contains(body, "vcenter east") {
		t.Errorf("while standing by: %d %q, want 200 %q", code, body, "ok: standing by …")
	}
}

// TestReadinessIsPlain: a client without the permission for more gets only the first line.
func TestReadinessIsPlain(t *testing.T) {
	east := inventory.State{VCenter: "east"}
	for _, c := range []struct {
		leads  bool
		states []inventory.State
	}{
		{false, []inventory.State{east}},
		{true, []inventory.State{east}},
		{true, []inventory.State{{VCenter: "east", Err: errSecret, Cause: inventory.CauseUnreachable}, {VCenter: "west", Snapshot: &inventory.Snapshot{}}}},
	} {
		leading := make(chan struct{})
		if c.leads {
			close(leading)
		}
		r := &readyHandler{leading: leading, health: func() []vcenter.Health { return healthOf(c.states...) }}
		plain := httptest.NewRecorder()
		verbose := httptest.NewRecorder()
		r.ServeHTTP(plain, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		r.serveVerbose(verbose, httptest.NewRequest(http.MethodGet, verboseReadyPath, http.NoBody))
		first, _, _ := strings.Cut(verbose.Body.String(), "\n")
		if plain.Code != verbose.Code || plain.Body.String() != first+"\n" {
			t.Errorf("%+v: %d %q, verbose %d %q", c, plain.Code, plain.Body, verbose.Code, verbose.Body)
		}
	}
}

// TestReadinessHeaders: no browser renders the response as a page.
func TestReadinessHeaders(t *testing.T) {
	w := httptest.NewRecorder()
	r := &readyHandler{leading: make(chan struct{}), health: func() []vcenter.Health { return healthOf(inventory.State{VCenter: "<script>"}) }}
	r.serveVerbose(w, httptest.NewRequest(http.MethodGet, verboseReadyPath, http.NoBody))
	if h := w.Header(); !strings.HasPrefix(h.Get("Content-Type"), "text/plain") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the headers are %v", h)
	}
}
