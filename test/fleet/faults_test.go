package fleet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const oneVCenter = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    clusters:
    - {name: c1, hosts: 2}
    - {name: c2, hosts: 1, pools: [{name: p}]}
    vms: [{name: node, count: 3, cluster: c1}]
`

func startOne(t *testing.T) (*VCenter, *govmomi.Client) {
	v := start(t, oneVCenter).VCenter("east")
	return v, login(t, v)
}

// read makes one SOAP request that needs a session.
func read(ctx context.Context, c *govmomi.Client) error {
	var folder mo.Folder
	return property.DefaultCollector(c.Client).RetrieveOne(ctx, c.ServiceContent.RootFolder, []string{"name"}, &folder)
}

func readREST(ctx context.Context, rc *rest.Client) error {
	_, err := tags.NewManager(rc).ListCategories(ctx)
	return err
}

func recovers(t *testing.T, v *VCenter, c *govmomi.Client) {
	t.Helper()
	if err := v.Recover(); err != nil {
		t.Fatal(err)
	}
	if err := read(deadline(t, 10*time.Second), c); err != nil {
		t.Errorf("after Recover: %v", err)
	}
}

func TestHang(t *testing.T) {
	v, c := startOne(t)
	v.Hang()
	if err := read(deadline(t, 100*time.Millisecond), c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hanging vCenter: %v", err)
	}
	if n := v.Requests()["RetrieveProperties"] + v.Requests()["RetrievePropertiesEx"]; n == 0 {
		t.Error("the request that hung was not counted")
	}
	done := make(chan error, 1)
	ctx := deadline(t, 10*time.Second)
	go func() { done <- read(ctx, c) }()
	recovers(t, v, c)
	if err := <-done; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
	v.Hang() // Close is to cut this off
	go func() { done <- read(ctx, c) }()
	waitFor(t, func() bool { return v.Total() > 0 })
	v.server.close()
	if err := <-done; err == nil {
		t.Error("a hanging request outlived Close")
	}
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

func TestRefuse(t *testing.T) {
	v, c := startOne(t)
	port := v.Port()
	for range 3 {
		v.Refuse()
		v.Refuse()
		c.CloseIdleConnections() // or the first error is that of a broken one
		if err := read(deadline(t, 5*time.Second), c); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a refusing vCenter: %v", err)
		}
		recovers(t, v, c) // in the same session
		if v.Port() != port {
			t.Errorf("port %d became %d", port, v.Port())
		}
	}
}

func TestRefuseBreaksLongPolls(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	w := watch(t, ctx, c, v)
	done := make(chan error, 1)
	go func() { _, err := w.next(ctx); done <- err }()
	waitFor(t, func() bool { return v.Requests()["WaitForUpdatesEx"] == 2 })
	v.Refuse()
	if err := <-done; err == nil {
		t.Error("a long poll outlived Refuse")
	}
}

func TestDrop(t *testing.T) {
	v, c := startOne(t)
	v.Drop()
	if err := read(deadline(t, 5*time.Second), c); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a dropping vCenter: %v", err)
	}
	recovers(t, v, c)

	ctx := deadline(t, 10*time.Second)
	w := watch(t, ctx, c, v)
	done := make(chan error, 1)
	go func() { _, err := w.next(ctx); done <- err }()
	waitFor(t, func() bool { return v.Requests()["WaitForUpdatesEx"] == 2 })
	v.Drop()
	if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a long poll at a dropping vCenter: %v", err)
	}
}

func TestDelay(t *testing.T) {
	v, c := startOne(t)
	v.SetDelay(50 * time.Millisecond)
	began := time.Now()
	if err := read(deadline(t, 5*time.Second), c); err != nil || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	v.SetDelay(time.Hour)
	if err := read(deadline(t, 50*time.Millisecond), c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	recovers(t, v, c)
}

func TestFault(t *testing.T) {
	v, c := startOne(t)
	rc := loginREST(t, v, c)
	ctx := deadline(t, 10*time.Second)
	v.Fault("*", new(types.SystemError))
	v.Fault("CurrentTime", new(types.HostCommunication))
	if err := read(ctx, c); !fault.Is(err, new(types.SystemError)) {
		t.Errorf("%v", err)
	}
	if _, err := methods.GetCurrentTime(ctx, c.Client); !fault.Is(err, new(types.HostCommunication)) {
		t.Errorf("%v", err)
	}
	v.Fault("*", nil)
	if err := read(ctx, c); err != nil {
		t.Error(err)
	}
	recovers(t, v, c)
	if _, err := methods.GetCurrentTime(ctx, c.Client); err != nil {
		t.Error(err)
	}

	v.FaultREST("*", http.StatusServiceUnavailable)
	v.FaultREST("POST /com/vmware/*", http.StatusTooManyRequests)
	if err := readREST(ctx, rc); !rest.IsStatusError(err, http.StatusServiceUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := tags.NewManager(rc).ListAttachedTags(ctx, c.ServiceContent.RootFolder); !rest.IsStatusError(err, http.StatusTooManyRequests) {
		t.Errorf("%v", err)
	}
	if err := read(ctx, c); err != nil {
		t.Errorf("a REST fault reached SOAP: %v", err)
	}
	v.FaultREST("CurrentTime", http.StatusBadGateway)
	if _, err := methods.GetCurrentTime(ctx, c.Client); err == nil {
		t.Error("no bare status for a SOAP method")
	}
	recovers(t, v, c)
	if err := readREST(ctx, rc); err != nil {
		t.Error(err)
	}
}

func TestPassword(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	try := func(user *url.Userinfo) (soap, rests error) {
		t.Helper()
		other, err := connect(t, ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		rc := rest.NewClient(other.Client)
		t.Cleanup(rc.CloseIdleConnections)
		return other.Login(ctx, user), rc.Login(ctx, user)
	}
	refused := func(what string, user *url.Userinfo) {
		t.Helper()
		serr, rerr := try(user)
		if !fault.Is(serr, new(types.InvalidLogin)) || !rest.IsStatusError(rerr, http.StatusUnauthorized) {
			t.Errorf("%s: %v, %v", what, serr, rerr)
		}
	}
	right := v.URL().User
	refused("a wrong password", url.UserPassword(v.User(), "wrong"))
	refused("a wrong user", url.UserPassword("root", v.Password()))
	v.RejectPassword()
	refused("a rejected password", right)
	if err := v.Tag("c1", "zone", "z"); err != nil {
		t.Errorf("this package's own login: %v", err)
	}
	recovers(t, v, c) // whose session never ended
	v.SetPassword("new")
	refused("the old password", right)
	if serr, rerr := try(v.URL().User); serr != nil || rerr != nil {
		t.Errorf("the new password: %v, %v", serr, rerr)
	}
}

func TestSessions(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	count := func(soap, rests int) {
		t.Helper()
		if v.SOAPSessions() != soap || v.RESTSessions() != rests || v.Sessions() != soap+rests {
			t.Errorf("%d + %d = %d sessions, want %d + %d", v.SOAPSessions(), v.RESTSessions(), v.Sessions(), soap, rests)
		}
	}
	count(1, 0)
	rc := loginREST(t, v, c)
	count(1, 1)
	if err := rc.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	count(1, 0)
	rc = loginREST(t, v, c)
	other := login(t, v)
	count(2, 1)
	if err := other.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	count(1, 1)

	v.Fault("*", new(types.SystemError)) // which must not keep sessions from ending
	v.EndSessions()
	recovered := v.Recover()
	count(0, 0)
	if err := read(ctx, c); recovered != nil || !fault.Is(err, new(types.NotAuthenticated)) {
		t.Errorf("%v, %v", recovered, err)
	}
	if _, err := methods.GetCurrentTime(ctx, c.Client); !fault.Is(err, new(types.NotAuthenticated)) {
		t.Errorf("%v", err)
	}
	if err := readREST(ctx, rc); !rest.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("%v", err)
	}
	if s, err := c.SessionManager.UserSession(ctx); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if err := c.Login(ctx, v.URL().User); err != nil {
		t.Error(err)
	}
	if err := rc.Login(ctx, v.URL().User); err != nil {
		t.Error(err)
	}
	count(1, 1)
	if err := v.Retag("c1", "zone", "z"); err != nil {
		t.Errorf("this package's own session: %v", err)
	}
}

func TestRequests(t *testing.T) {
	v, c := startOne(t)
	rc := loginREST(t, v, c)
	ctx := deadline(t, 10*time.Second)
	if err := v.Tag("c1", "zone", "z"); err != nil {
		t.Fatal(err)
	}
	v.ResetRequests()
	if v.Total() != 0 || len(v.Requests()) != 0 {
		t.Errorf("%v", v.Requests())
	}
	ref, _ := v.Reference("c1")
	if got := attached(t, ctx, rc, ref); !slices.Equal(got, []string{"z"}) {
		t.Errorf("%q", got)
	}
	if _, err := methods.GetCurrentTime(ctx, c.Client); err != nil {
		t.Fatal(err)
	}
	_ = v.MoveVM("node-0000", "c1-host-2")
	got, total := v.Requests(), 0
	for kind, n := range got {
		total += n
		if n < 1 {
			t.Errorf("%s: %d", kind, n)
		}
	}
	for _, kind := range []string{
		"CurrentTime",
		"POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects",
		"GET /com/vmware/cis/tagging/tag/id:{id}",
	} {
		if got[kind] != 1 {
			t.Errorf("%s: %d of %v", kind, got[kind], got)
		}
	}
	if v.Total() != total {
		t.Errorf("%d in all, but %v", v.Total(), got)
	}
}
