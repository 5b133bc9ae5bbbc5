package fleet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// An outcome reports whether the error of a request is the expected one.
type outcome func(error) bool

func succeeds(err error) bool { return err == nil }
func fails(err error) bool    { return err != nil }

func is(target error) outcome { return func(err error) bool { return errors.Is(err, target) } }

func faulted(f types.BaseMethodFault) outcome {
	return func(err error) bool { return fault.Is(err, f) }
}

func status(code int) outcome { return func(err error) bool { return rest.IsStatusError(err, code) } }

// TestFaults ensures that each fault takes effect: tests of clients that tolerate a fault pass
// vacuously without it.
func TestFaults(t *testing.T) {
	const readMethod, listKind = "RetrievePropertiesEx", "GET /com/vmware/cis/tagging/category"
	never := is(context.DeadlineExceeded)
	for _, c := range []struct {
		name       string
		begin      func(*VCenter)
		soap, rest outcome
	}{
		{"hang", (*VCenter).Hang, never, never},
		{"refuse", (*VCenter).Refuse, is(syscall.ECONNREFUSED), is(syscall.ECONNREFUSED)},
		{"drop", (*VCenter).Drop, is(io.ErrUnexpectedEOF), is(io.ErrUnexpectedEOF)},
		{"delay", func(v *VCenter) { v.SetDelay(time.Hour) }, never, never},
		{"delay of one kind", func(v *VCenter) { v.DelayMethod(readMethod, time.Hour) }, never, succeeds},
		{"fault", func(v *VCenter) { v.Fault("*", new(types.SystemError)) }, faulted(new(types.SystemError)), succeeds},
		{"fault of one method", func(v *VCenter) { v.Fault("*", new(types.SystemError)); v.Fault(readMethod, new(types.Timedout)) }, faulted(new(types.Timedout)), succeeds},
		{"status", func(v *VCenter) { v.FaultREST("*", 503) }, succeeds, status(503)},
		{"status of some kinds", func(v *VCenter) { v.FaultREST("*", 503); v.FaultREST("GET /com/*", 429) }, succeeds, status(429)},
		{"status of a method", func(v *VCenter) { v.FaultREST(readMethod, 502) }, fails, succeeds},
		{"garbage", func(v *VCenter) {
			_ = errors.Join(v.AnswerOddly(readMethod, OddGarbage), v.AnswerOddly(listKind, OddGarbage))
		}, fails, fails},
		{"slow logins", func(v *VCenter) { v.SlowLogin(time.Hour) }, succeeds, succeeds},
		{"rejected logins", func(v *VCenter) { v.RejectPassword(); v.RejectRESTLogin() }, succeeds, succeeds},
		{"hanging tagging service", (*VCenter).HangTagging, succeeds, never},
		{"starting tagging service", (*VCenter).StartTagging, succeeds, status(503)},
		{"throttling tagging service", (*VCenter).ThrottleTagging, succeeds, status(429)},
		{"no tagging service", func(v *VCenter) { v.ServeREST(false) }, succeeds, status(404)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, cl := start(t)
			limit := func(want outcome) context.Context {
				if want(context.DeadlineExceeded) {
					return within(t, time.Second)
				}
				return within(t, time.Minute)
			}
			check := func(when string, soap, restful outcome) {
				t.Helper()
				cl.CloseIdleConnections() // the first error on a broken connection is a different one
				cl.rest.CloseIdleConnections()
				if _, err := cl.read(limit(soap), v.VMs()[0], "config.uuid"); !soap(err) {
					t.Errorf("%s: SOAP: %v", when, err)
				}
				if _, err := tags.NewManager(cl.rest).ListCategories(limit(restful)); !restful(err) {
					t.Errorf("%s: REST: %v", when, err)
				}
			}
			c.begin(v)
			check("with the fault", c.soap, c.rest)
			if err := v.Recover(); err != nil {
				t.Fatal(err)
			}
			v.RecoverTagging()
			v.ServeREST(true)
			check("afterwards", succeeds, succeeds)
		})
	}
}

func TestLogins(t *testing.T) {
	v, c := start(t)
	try := func(d time.Duration) (soap, restful error) {
		_ = errors.Join(c.Logout(within(t, time.Minute)), c.rest.Logout(within(t, time.Minute)))
		return c.Login(within(t, d), v.URL().User), c.rest.Login(within(t, d), v.URL().User)
	}
	want := func(what string, soap, restful outcome) {
		t.Helper()
		if serr, rerr := try(time.Minute); !soap(serr) || !restful(rerr) {
			t.Errorf("%s: the logins ended with the errors %v (SOAP) and %v (REST), want others", what, serr, rerr)
		}
	}
	rejected := faulted(new(types.InvalidLogin))
	before := v.SessionIDs()
	v.RejectRESTLogin()
	want("REST rejected", succeeds, status(http.StatusUnauthorized))
	v.RejectPassword()
	want("all rejected", rejected, status(http.StatusUnauthorized))
	_ = v.Recover()
	v.SetLockout(Lockout{Failures: 2, Window: time.Minute, Duration: time.Hour})
	v.FailLogin()
	want("one failure", succeeds, succeeds)
	v.FailLogin()
	want("two failures", rejected, status(http.StatusUnauthorized))
	if !v.Locked() {
		t.Error("the account is not locked")
	}
	_ = v.Recover()
	want("recovered", succeeds, succeeds)
	// Five logins succeeded: two pairs of SOAP and REST, and SOAP alone.
	if ids := v.SessionIDs(); len(before) != 2 || len(ids) != 7 || !slices.Contains(ids, before[0]) || v.SOAPSessions() != 1 || v.RESTSessions() != 1 {
		t.Errorf("%d session IDs became %d; %d and %d are open", len(before), len(ids), v.SOAPSessions(), v.RESTSessions())
	}
	v.SlowLogin(5 * time.Second)
	if soap, restful := try(time.Second); !errors.Is(soap, context.DeadlineExceeded) || !errors.Is(restful, context.DeadlineExceeded) {
		t.Errorf("slow logins ended with the errors %v (SOAP) and %v (REST), want deadlines exceeded", soap, restful)
	}
	waitFor(t, "the session of a client that has gone", func() bool { return v.SOAPSessions() == 1 })
}

func waitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return happened(), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// A watch follows properties of all VMs, as a client of vCenter does.
type watch struct {
	c       *client
	pc      *property.Collector
	version string
}

func (c *client) watch(t *testing.T, properties ...string) *watch {
	t.Helper()
	return c.watchIn(t, c.ServiceContent.RootFolder, properties...)
}

func (c *client) watchIn(t *testing.T, container types.ManagedObjectReference, properties ...string) *watch {
	t.Helper()
	ctx := within(t, time.Minute)
	cv, err := view.NewManager(c.Client.Client).CreateContainerView(ctx, container, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	pc, err := property.DefaultCollector(c.Client.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: cv.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}}}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: properties}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{c: c, pc: pc}
	if got, err := w.next(ctx); err != nil || len(got) < 2 {
		t.Fatalf("the first update of the watch = %v, %v, want at least 2 objects", got, err)
	}
	return w
}

// next makes one long poll and returns its updates by managed object ID.
func (w *watch) next(ctx context.Context) (map[string]types.ObjectUpdate, error) {
	req := types.WaitForUpdatesEx{This: w.pc.Reference(), Version: w.version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(600)}}
	res, err := methods.WaitForUpdatesEx(ctx, w.c.Client.Client, &req)
	if err != nil || res.Returnval == nil {
		return nil, err
	}
	w.version = res.Returnval.Version
	got := make(map[string]types.ObjectUpdate)
	for _, fs := range res.Returnval.FilterSet {
		for _, o := range fs.ObjectSet {
			got[o.Obj.Value] = o
		}
	}
	return got, nil
}

// TestLongPollsEnd covers the end of the session, the vCenter and the client.
func TestLongPollsEnd(t *testing.T) {
	v, _ := start(t)
	gone, leave := context.WithCancel(t.Context())
	for _, c := range []struct {
		name string
		end  func(*watch) error
		want outcome
	}{
		{"canceled", func(w *watch) error { return w.pc.CancelWaitForUpdates(within(t, time.Minute)) }, faulted(new(types.RequestCanceled))},
		{"session ended", func(*watch) error { v.EndSessions(); return nil }, faulted(new(types.NotAuthenticated))},
		{"objects forgotten", func(*watch) error { v.ForgetObjects(); return nil }, faulted(new(types.ManagedObjectNotFound))},
		{"fault", func(*watch) error { v.Fault("WaitForUpdatesEx", new(types.SystemError)); return nil }, faulted(new(types.SystemError))},
		{"dropped", func(*watch) error { v.Drop(); return nil }, is(io.ErrUnexpectedEOF)},
		{"refused", func(*watch) error { v.Refuse(); return nil }, fails},
		{"client gone", func(*watch) error { leave(); return nil }, is(context.Canceled)},
		{"hanging at the end", func(*watch) error { v.Hang(); v.server.close(); return nil }, fails},
	} {
		if err := v.Recover(); err != nil {
			t.Fatal(err)
		}
		w := login(t, v).watch(t, "name")
		v.ResetRequests()
		ctx := t.Context()
		if c.name == "client gone" {
			ctx = gone
		}
		done := make(chan error, 1)
		go func() { _, err := w.next(ctx); done <- err }()
		waitFor(t, "a long poll", func() bool { return v.Requests()["WaitForUpdatesEx"] == 1 && v.longPolls.len() > 0 })
		if err := c.end(w); err != nil {
			t.Errorf("%s: ending the long poll: %v", c.name, err)
		}
		if err := <-done; !c.want(err) {
			t.Errorf("%s: the long poll ended with the error %v, want another", c.name, err)
		}
		waitFor(t, "the end of the long poll", func() bool { return v.longPolls.len() == 0 })
	}
}

// TestViewsFollowVMs covers VMs that leave and enter a container, which the simulator's own
// views do not follow.
func TestViewsFollowVMs(t *testing.T) {
	v, c := start(t)
	ctx := within(t, time.Minute)
	m := v.VMs()[0]
	dc, err := v.Reference("/dc1")
	if err != nil {
		t.Fatal(err)
	}
	w := c.watchIn(t, dc, "config.uuid")
	for _, step := range []struct {
		change func() error
		want   types.ObjectUpdateKind
	}{
		{func() error { return v.MoveVM("node", "c3-host-1") }, types.ObjectUpdateKindLeave},
		{func() error { return v.MoveVM("node", "c1-host-1") }, types.ObjectUpdateKindEnter},
		// A creation between the same two polls makes the simulator lose a deletion.
		{func() error { return errors.Join(v.Create("dc1", VMSpec{Name: "new"}), v.Destroy("node")) }, types.ObjectUpdateKindLeave},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		kind := types.ObjectUpdateKind("")
		for kind == "" {
			got, err := w.next(ctx)
			if err != nil {
				t.Fatalf("waiting for %s: %v", step.want, err)
			}
			kind = got[m.MoID].Kind
		}
		if kind != step.want {
			t.Errorf("%s, want %s", kind, step.want)
		}
	}
}

// TestOutOfSight ensures that hidden VMs are invisible: tests of clients that must not delete a
// Node pass vacuously otherwise.
func TestOutOfSight(t *testing.T) {
	node := func(f func(*VCenter, string) error) func(*VCenter) error {
		return func(v *VCenter) error { return f(v, "node") }
	}
	denied := faulted(new(types.NoPermission))
	for _, c := range []struct {
		name       string
		hide, show func(*VCenter) error
		// listed: a view contains the VM; found: a search finds it; named: its name is readable.
		listed, found bool
		named, read   outcome
	}{
		{"VM hidden", node((*VCenter).Hide), node((*VCenter).Show), false, false, denied, denied},
		{"datacenter hidden", func(v *VCenter) error { return v.Hide("/dc1") }, func(v *VCenter) error { return v.Show("/dc1") }, false, false, denied, denied},
		{"cluster hidden", func(v *VCenter) error { return v.Hide("c1") }, func(v *VCenter) error { return v.Show("c1") }, true, true, succeeds, succeeds},
		{"not readable", node((*VCenter).DenyRead), node((*VCenter).AllowRead), true, false, succeeds, denied},
		{"orphaned", func(v *VCenter) error { return v.SetConnection("node", "orphaned") },
			func(v *VCenter) error { return v.SetConnection("node", "connected") }, true, false, succeeds, succeeds},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, cl := start(t)
			ctx := within(t, time.Minute)
			m := v.VMs()[0]
			w := cl.watch(t, "config.uuid")
			check := func(when string, listed, found bool, named, read outcome) {
				t.Helper()
				cv, err := view.NewManager(cl.Client.Client).CreateContainerView(ctx, cl.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
				if err != nil {
					t.Fatal(err)
				}
				var vms []mo.VirtualMachine
				if err := cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms); err != nil {
					t.Fatal(err)
				}
				refs, err := object.NewSearchIndex(cl.Client.Client).FindAllByUuid(ctx, nil, m.UUID, true, nil)
				if err != nil {
					t.Fatal(err)
				}
				has := slices.ContainsFunc(vms, func(vm mo.VirtualMachine) bool { return vm.Self == m.Reference() })
				_, nerr := cl.read(ctx, m, "name")
				_, rerr := cl.read(ctx, m, "config.uuid")
				if has != listed || len(refs) > 0 != found || !named(nerr) || !read(rerr) {
					t.Errorf("%s: listed %v, found %v, name: %v, UUID: %v", when, has, refs, nerr, rerr)
				}
			}
			for _, step := range []struct {
				when   string
				change func(*VCenter) error
				check  func()
			}{
				{"hidden", c.hide, func() { check("hidden", c.listed, c.found, c.named, c.read) }},
				{"shown again", c.show, func() { check("shown again", true, true, succeeds, succeeds) }},
			} {
				if err := step.change(v); err != nil {
					t.Fatal(err)
				}
				step.check()
				if c.found {
					continue // nothing has changed
				}
				if got, err := w.next(ctx); err != nil || got[m.MoID].Obj.Value == "" {
					t.Errorf("%s: the watch gets %v, %v, want an update of VM %s", step.when, got, err, m.MoID)
				}
			}
		})
	}
}

// TestTagsOfUnknownObjects: the tagging service returns 403 for an object that does not exist and
// for a batch that contains it.
func TestTagsOfUnknownObjects(t *testing.T) {
	v, c := start(t)
	ctx := within(t, time.Minute)
	m := tags.NewManager(c.rest)
	known, err := v.Reference("c1")
	if err != nil {
		t.Fatal(err)
	}
	node := v.VMs()[0].Reference()
	ask := func(when string, want outcome, refs ...mo.Reference) {
		t.Helper()
		if _, err := m.ListAttachedTagsOnObjects(ctx, refs); !want(err) {
			t.Errorf("%s, a batch: %v", when, err)
		}
		if _, err := m.ListAttachedTags(ctx, refs[0]); !want(err) {
			t.Errorf("%s, one object: %v", when, err)
		}
	}
	ask("both exist", succeeds, node, known)
	if err := v.Destroy("node"); err != nil {
		t.Fatal(err)
	}
	ask("deleted", status(http.StatusForbidden), node, known)
	ask("the other one", succeeds, known)
	if err := c.rest.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	ask("no session", status(http.StatusUnauthorized), node)
}

// TestGuests covers guest changes that clients are expected to ignore.
func TestGuests(t *testing.T) {
	v, c := start(t)
	w := c.watch(t, "runtime.powerState", "guest.net", "config.extraConfig")
	for i, change := range []func() error{
		func() error { return v.ReverseNICs("node") },
		func() error { return v.SetExtraConfig("node", metadataKey, "x") },
		func() error { return v.HidePower("node") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got, err := w.next(within(t, time.Minute)); err != nil || len(got) != 1 {
			t.Errorf("the update after change %d = %v, %v, want one object", i, got, err)
		}
	}
	m, err := v.VM("node")
	vm, rerr := c.read(within(t, time.Minute), m, "runtime.powerState")
	if err != nil || rerr != nil || !slices.Equal(m.IPs, []string{"10.0.0.2", "10.0.0.1"}) || vm.Runtime.PowerState != "" {
		t.Errorf("the VM has the addresses %q (error %v) and the power state %q (error %v), want 10.0.0.2, 10.0.0.1 and no power state",
			m.IPs, err, vm.Runtime.PowerState, rerr)
	}
}

func (p *longPolls) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
