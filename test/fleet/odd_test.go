package fleet

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// TestForgottenObjects are not there, in a session that lives on.
func TestForgottenObjects(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	m := view.NewManager(c.Client)
	cv, err := m.CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms); err != nil || len(vms) != 3 {
		t.Fatalf("%d machines, %v", len(vms), err)
	}
	if n := v.Owned("ContainerView"); n != 1 {
		t.Errorf("%d views", n)
	}
	v.ForgetObjects()
	if err := cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("reading a forgotten view: %v", err)
	}
	if err := cv.Destroy(ctx); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("destroying it: %v", err)
	}
	another, err := m.CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := another.Destroy(ctx); err != nil {
		t.Errorf("another one: %v", err)
	}
	v.EndSessions()
	if n := v.Owned("ContainerView"); n != 0 {
		t.Errorf("%d views of sessions that have ended", n)
	}
}

// TestBlindSessions read nothing, with HTTP 200; new ones do.
func TestBlindSessions(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	read := func(e *eye) *types.ObjectContent {
		res, err := methods.RetrievePropertiesEx(ctx, e.w.c.Client, &types.RetrievePropertiesEx{This: e.w.c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{{
			PropSet:   []types.PropertySpec{{Type: "Folder", PathSet: []string{"name"}}},
			ObjectSet: []types.ObjectSpec{{Obj: e.w.c.ServiceContent.RootFolder}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return &res.Returnval.Objects[0]
	}
	e := watchIn(t, v, "/dc1")
	v.Blind()
	if o := read(e); len(o.PropSet) != 0 || len(o.MissingSet) != 1 {
		t.Errorf("read %+v", o)
	}
	got, err := e.w.next(ctx)
	if err != nil || len(got) == 0 {
		t.Fatalf("the long poll: %v, %v", got, err)
	}
	for id, u := range got {
		if _, ok := u.MissingSet[0].Fault.Fault.(*types.NotAuthenticated); !ok {
			t.Errorf("%s: %+v", id, u)
		}
	}
	if o := read(watchIn(t, v, "/dc1")); len(o.PropSet) != 1 {
		t.Errorf("another session read %+v", o)
	}
}

// TestListsThatRefuse: an object that cannot be listed comes back, or all are refused.
func TestListsThatRefuse(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	lv, err := view.NewManager(c.Client).CreateListView(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := v.Machine("node-0000")
	two, _ := v.Machine("other")
	both := []types.ManagedObjectReference{one.Reference(), two.Reference()}
	if err := v.RefuseListing("other"); err != nil {
		t.Fatal(err)
	}
	back, err := lv.Add(ctx, both)
	if err != nil || len(back) != 1 || back[0] != two.Reference() {
		t.Errorf("came back: %v, %v", back, err)
	}
	v.FaultListing(&types.NoPermission{})
	if _, err := lv.Add(ctx, both); !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("as a whole: %v", err)
	}
	if back, err := lv.Add(ctx, both[:1]); err != nil || len(back) != 0 {
		t.Errorf("alone: %v, %v", back, err)
	}
	if err := v.Recover(); err != nil {
		t.Fatal(err)
	}
	if back, err := lv.Add(ctx, both); err != nil || len(back) != 0 {
		t.Errorf("afterwards: %v, %v", back, err)
	}
}

// TestOddAnswers end with Recover.
func TestOddAnswers(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	now := &types.CurrentTime{This: c.ServiceContent.RootFolder}
	now.This = types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}
	if err := v.AnswerOddly("CurrentTime", OddEmpty); err != nil {
		t.Fatal(err)
	}
	if res, err := methods.CurrentTime(ctx, c.Client, now); err != nil || res != nil {
		t.Errorf("empty: %v, %v", res, err)
	}
	if err := v.AnswerOddly("CurrentTime", OddGarbage); err != nil {
		t.Fatal(err)
	}
	if _, err := methods.CurrentTime(ctx, c.Client, now); err == nil {
		t.Error("garbage is no error")
	}
	if err := v.AnswerOddly("CurrentTime", "else"); err == nil {
		t.Error("a way that there is not")
	}
	if err := v.Recover(); err != nil {
		t.Fatal(err)
	}
	v.DelayMethod("CurrentTime", 300*time.Millisecond)
	began := time.Now()
	if _, err := methods.CurrentTime(ctx, c.Client, now); err != nil || time.Since(began) < 300*time.Millisecond {
		t.Errorf("a delayed one took %v, %v", time.Since(began), err)
	}
}

// TestVApps: their machines have no folder, and are listed, hidden and destroyed as
// others are.
func TestVApps(t *testing.T) {
	f := start(t, `
vcenters:
- name: east
  datacenters:
  - name: dc
    clusters: [{name: c, hosts: 2, pools: [{name: app, vapp: true, tags: {zone: a}}, {name: p}]}, {name: c2, hosts: 1}]
    vms: [{name: in-app, pool: app}, {name: free}]
`)
	v := f.VCenter("east")
	m, err := v.Machine("in-app")
	if err != nil || m.Pool != "app" || m.Cluster != "c" || m.Path != "/dc/host/c/Resources/app/in-app" {
		t.Fatalf("machine %+v, %v", m, err)
	}
	e := watchIn(t, v, "/dc")
	if listed, found, direct := e.seen(m); !listed || !found || direct != nil {
		t.Errorf("listed %v, found %v, read: %v", listed, found, direct)
	}
	var vm mo.VirtualMachine
	ctx := deadline(t, 20*time.Second)
	if err := property.DefaultCollector(e.w.c.Client).RetrieveOne(ctx, m.Reference(), []string{"parent", "parentVApp", "resourcePool"}, &vm); err != nil {
		t.Fatal(err)
	}
	if vm.Parent != nil || vm.ParentVApp == nil || vm.ParentVApp.Type != "VirtualApp" || *vm.ResourcePool != *vm.ParentVApp {
		t.Errorf("parent %v, vApp %v, pool %v", vm.Parent, vm.ParentVApp, vm.ResourcePool)
	}
	if err := v.MoveVM("in-app", "c-host-2"); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"another cluster": v.MoveVM("in-app", "c2-host-1"), "a pool": v.MoveToPool("in-app", "p"), "a folder": v.MoveToFolder("in-app", "/dc/vm"),
	} {
		if err == nil {
			t.Errorf("moved out of its vApp to %s", what)
		}
	}
	if err := v.Destroy("in-app"); err != nil {
		t.Error(err)
	}
	if listed, found, _ := e.seen(m); listed || found {
		t.Errorf("destroyed: listed %v, found %v", listed, found)
	}
	if _, err := Parse([]byte("vcenters: [{name: v, datacenters: [{name: d, clusters: [{name: c, hosts: 1, pools: [{name: a, vapp: true, pools: [{name: b}]}]}]}]}]")); err == nil {
		t.Error("a vApp with pools")
	}
}
