package fleet

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

func TestRejectRESTLogin(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	before := loginREST(t, v, c)
	v.RejectRESTLogin()
	rc := rest.NewClient(c.Client)
	if err := rc.Login(ctx, v.URL().User); !rest.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("%v", err)
	}
	if err := readREST(ctx, before); err != nil {
		t.Errorf("the session that was open: %v", err)
	}
	login(t, v) // SOAP
	recovers(t, v, c)
	if err := rc.Login(ctx, v.URL().User); err != nil {
		t.Error(err)
	}
}

func TestLockout(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	right := func() error {
		other, err := connect(t, ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		return other.Login(ctx, v.URL().User)
	}
	v.SetLockout(Lockout{Failures: 3, Window: time.Minute, Duration: 300 * time.Millisecond})
	v.FailLogin()
	v.FailLogin()
	if err := right(); err != nil || v.Locked() {
		t.Errorf("locked by two failures: %v", err)
	}
	v.FailLogin()
	if err := right(); !fault.Is(err, new(types.InvalidLogin)) || !v.Locked() {
		t.Errorf("not locked by three: %v", err)
	}
	rc := rest.NewClient(c.Client)
	if err := rc.Login(ctx, v.URL().User); !rest.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("REST: %v", err)
	}
	waitFor(t, func() bool { return !v.Locked() })
	if err := right(); err != nil {
		t.Error(err)
	}
	// Failures that are long ago do not count.
	v.SetLockout(Lockout{Failures: 2, Window: 50 * time.Millisecond, Duration: time.Hour})
	v.FailLogin()
	v.faults.mu.Lock()
	v.faults.logins.failures[0] = time.Now().Add(-time.Second)
	v.faults.mu.Unlock()
	v.FailLogin()
	if v.Locked() {
		t.Error("locked by failures that are far apart")
	}
}

// TestSlowLogin: only logins are slow, and one whose client has gone leaves a session.
func TestSlowLogin(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	v.SlowLogin(time.Hour)
	if err := read(ctx, c); err != nil {
		t.Errorf("reading is slow too: %v", err)
	}
	const slow = 2 * time.Second
	v.SlowLogin(slow)
	other, err := connect(t, ctx, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Login(deadline(t, slow/2), v.URL().User); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	rc := rest.NewClient(c.Client)
	if err := rc.Login(deadline(t, slow/2), v.URL().User); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	waitFor(t, func() bool { return v.SOAPSessions() == 2 && v.RESTSessions() == 1 })
	began := time.Now()
	if err := rc.Login(ctx, v.URL().User); err != nil || time.Since(began) < slow {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	// What is under way holds nobody up.
	v.SlowLogin(time.Hour)
	const login = "POST /com/vmware/cis/session"
	logins := v.Requests()[login]
	go func() { _ = rest.NewClient(c.Client).Login(ctx, v.URL().User) }()
	waitFor(t, func() bool { return v.Requests()[login] > logins })
	v.server.close()
}
