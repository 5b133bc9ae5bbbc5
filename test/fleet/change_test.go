package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A watcherClient follows a container view of machines, as a client of vCenter does.
type watcherClient struct {
	c       *govmomi.Client
	pc      *property.Collector
	version string
}

var watched = []string{"name", "parent", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState", "config.uuid", "guest.net", "guest.hostName"}

func watch(t *testing.T, ctx context.Context, c *govmomi.Client, v *VCenter) *watcherClient {
	t.Helper()
	cv, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	traversal := &types.TraversalSpec{Type: "ContainerView", Path: "view"}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: cv.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{traversal}}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: watched}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &watcherClient{c: c, pc: pc}
	if got, err := w.next(ctx); err != nil || len(got) != len(v.Machines()) {
		t.Fatalf("the first updates are %v, %v", got, err)
	}
	return w
}

// next makes one long poll, and returns what it brings by managed object ID.
func (w *watcherClient) next(ctx context.Context) (map[string]types.ObjectUpdate, error) {
	req := types.WaitForUpdatesEx{This: w.pc.Reference(), Version: w.version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(20)}}
	res, err := methods.WaitForUpdatesEx(ctx, w.c.Client, &req)
	if err != nil || res.Returnval == nil {
		return nil, err
	}
	w.version = res.Returnval.Version
	got := make(map[string]types.ObjectUpdate)
	for _, fs := range res.Returnval.FilterSet {
		for _, o := range fs.ObjectSet {
			// An object that changed twice may come twice.
			o.ChangeSet = append(got[o.Obj.Value].ChangeSet, o.ChangeSet...)
			got[o.Obj.Value] = o
		}
	}
	return got, nil
}

// A follower makes changes to node-0000 and looks for them.
type follower struct {
	*testing.T
	ctx  context.Context
	v    *VCenter
	w    *watcherClient
	node Machine
}

func follow(t *testing.T) *follower {
	v, c := startOne(t)
	ctx := deadline(t, 30*time.Second)
	node, err := v.Machine("node-0000")
	if err != nil {
		t.Fatal(err)
	}
	return &follower{t, ctx, v, watch(t, ctx, c, v), node}
}

// sees makes a change and expects the node's property to be pushed.
func (f *follower) sees(what string, change func() error, property string, want any) {
	f.Helper()
	began := time.Now()
	u := f.pushed(what, change, f.node.MoID)
	if d := time.Since(began); d > 15*time.Second { // a poll that nothing is pushed to ends after 20 s
		f.Errorf("%s was seen after %v", what, d)
	}
	for _, c := range u.ChangeSet {
		if c.Name == property && (want == nil && c.Val == nil || fmt.Sprint(c.Val) == fmt.Sprint(want)) {
			return
		}
	}
	f.Errorf("%s: no %s=%v in %+v", what, property, want, u)
}

// pushed makes a change and returns what the next long poll says of a machine.
func (f *follower) pushed(what string, change func() error, moid string) types.ObjectUpdate {
	f.Helper()
	if err := change(); err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	got, err := f.w.next(f.ctx)
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	return got[moid]
}

func TestChangesAreSeen(t *testing.T) {
	f := follow(t)
	v := f.v
	ref := func(object string) types.ManagedObjectReference {
		t.Helper()
		r, err := v.Reference(object)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const id = "422e4956-ad22-1139-6d59-68cc8f26bc90"
	f.sees("a move", func() error { return v.MoveVM("node-0000", "c1-host-2") }, "runtime.host", ref("c1-host-2"))
	f.sees("a move to another cluster", func() error { return v.MoveVM("node-0000", "c2-host-1") }, "resourcePool", ref("/dc1/host/c2/Resources"))
	f.sees("a move to a pool", func() error { return v.MoveToPool("node-0000", "p") }, "resourcePool", ref("p"))
	f.sees("power off", func() error { return v.PowerOff("node-0000") }, "runtime.powerState", types.VirtualMachinePowerStatePoweredOff)
	if m, _ := v.Machine("node-0000"); m.PoweredOn || len(m.IPs) != 0 || m.HostName == "" {
		t.Errorf("%+v", m)
	}
	f.sees("power on", func() error { return v.PowerOn("node-0000") }, "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	f.sees("suspension", func() error { return v.Suspend("node-0000") }, "runtime.powerState", types.VirtualMachinePowerStateSuspended)
	f.sees("a host name", func() error { return v.SetHostName("node-0000", "other") }, "guest.hostName", "other")
	f.sees("a UUID", func() error { return v.SetUUID("node-0000", strings.ToUpper(id)) }, "config.uuid", id)
	f.sees("losing access", func() error { return v.SetConnection("node-0000", "inaccessible") }, "config.uuid", nil)
	f.sees("regaining it", func() error { return v.SetConnection("node-0000", "connected") }, "config.uuid", id)
	f.sees("a new name", func() error { return v.Rename("node-0000", "renamed") }, "name", "renamed")
	if _, err := v.Machine("node-0000"); err == nil {
		t.Error("the old name is still known")
	}
	f.sees("power on", func() error { return v.PowerOn("renamed") }, "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	u := f.pushed("an address", func() error { return v.SetIPs("renamed", "10.1.1.1") }, f.node.MoID)
	if m, _ := v.Machine("renamed"); len(u.ChangeSet) == 0 || !slices.Equal(m.IPs, []string{"10.1.1.1"}) {
		t.Errorf("%+v, %+v", u, m)
	}
}

func TestMachinesComeAndGo(t *testing.T) {
	f := follow(t)
	v := f.v
	u := f.pushed("Destroy", func() error { return v.Destroy("node-0000") }, f.node.MoID)
	if u.Kind != types.ObjectUpdateKindLeave {
		t.Errorf("%+v", u)
	}
	if err := v.Create("dc1", VMSpec{Name: "node-0000", Host: "c2-host-1"}); err != nil {
		t.Fatal(err)
	}
	m, err := v.Machine("node-0000")
	if err != nil || m.Cluster != "c2" || m.MoID == f.node.MoID || m.UUID != f.node.UUID || m.IPs[0] == f.node.IPs[0] {
		t.Errorf("%+v, %v", m, err)
	}
	if u := f.pushed("Create", func() error { return nil }, m.MoID); u.Kind != types.ObjectUpdateKindEnter {
		t.Errorf("%+v", u)
	}
	for what, vm := range map[string]VMSpec{"a taken name": {Name: "node-0000"}, "an unknown host": {Name: "x", Host: "y"}} {
		if err := v.Create("dc1", vm); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

func TestMoveHost(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	if err := v.MoveHost("c1-host-1", "c2"); err != nil {
		t.Fatal(err)
	}
	m, _ := v.Machine("node-0000")
	if m.Cluster != "c2" || m.Host != "c1-host-1" || m.Pool != "Resources" {
		t.Errorf("%+v", m)
	}
	var cluster mo.ClusterComputeResource
	ref, _ := v.Reference("c2")
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, ref, []string{"host"}, &cluster); err != nil || len(cluster.Host) != 2 {
		t.Errorf("%v, %v", cluster.Host, err)
	}
	if err := v.Create("dc1", VMSpec{Name: "new", Cluster: "c2", Host: "c1-host-1"}); err != nil {
		t.Error(err)
	}
	if err := v.MoveHost("c1-host-2", "c3"); err == nil {
		t.Error("a host moved to a cluster that does not exist")
	}
}

func TestMoveToFolderAndDatacenter(t *testing.T) {
	f := start(t, `
vcenters:
- name: v
  datacenters:
  - {name: a, hosts: [h1], vms: [{name: node}], vmFolders: [{path: x/y}]}
  - {name: b, hosts: [h2]}
`)
	v := f.VCenter("v")
	path := func(want string) {
		t.Helper()
		if m, err := v.Machine("node"); err != nil || m.Path != want {
			t.Errorf("%s, %v; want %s", m.Path, err, want)
		}
	}
	if err := v.MoveToFolder("node", "y"); err != nil {
		t.Error(err)
	}
	path("/a/vm/x/y/node")
	if err := v.MoveVM("node", "/b/host/h2/h2"); err != nil {
		t.Error(err)
	}
	path("/b/vm/node")
	if m, _ := v.Machine("node"); m.Datacenter != "b" || m.Host != "h2" {
		t.Errorf("%+v", m)
	}
	if err := v.MoveToFolder("node", "/a/host"); err == nil {
		t.Error("a machine moved to a host folder")
	}
}

func TestUnreadableMachineIsFoundByNothing(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 10*time.Second)
	m, _ := v.Machine("node-0000")
	if err := v.SetConnection("node-0000", "orphaned"); err != nil {
		t.Fatal(err)
	}
	refs, err := object.NewSearchIndex(c.Client).FindAllByUuid(ctx, nil, m.UUID, true, nil)
	if err != nil || len(refs) != 0 {
		t.Errorf("%v, %v", refs, err)
	}
	if err := v.SetConnection("node-0000", "absent"); err == nil {
		t.Error("an unknown state was accepted")
	}
}

func TestLongPollEnds(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 20*time.Second)
	w := watch(t, ctx, c, v)
	longPolls := 1
	begin := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() { _, err := w.next(ctx); done <- err }()
		longPolls++
		waitFor(t, func() bool { return v.Requests()["WaitForUpdatesEx"] == longPolls })
		return done
	}
	going, cancel := context.WithCancel(ctx)
	done := begin(going)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("client gone: %v", err)
	}
	waitFor(t, func() bool {
		v.longPolls.mu.Lock()
		defer v.longPolls.mu.Unlock()
		return len(v.longPolls.waiting) == 0
	})

	done = begin(ctx)
	waitFor(t, func() bool {
		v.longPolls.mu.Lock()
		defer v.longPolls.mu.Unlock()
		return len(v.longPolls.waiting) == 1
	})
	if err := w.pc.CancelWaitForUpdates(ctx); err != nil {
		t.Error(err)
	}
	if err := <-done; !fault.Is(err, new(types.RequestCanceled)) {
		t.Errorf("canceled: %v", err)
	}

	done = begin(ctx)
	v.Fault("WaitForUpdatesEx", new(types.SystemError))
	if err := <-done; !fault.Is(err, new(types.SystemError)) {
		t.Errorf("fault: %v", err)
	}
	if err := v.Recover(); err != nil {
		t.Error(err)
	}
	done = begin(ctx)
	v.EndSessions()
	if err := <-done; !fault.Is(err, new(types.NotAuthenticated)) {
		t.Errorf("session ended: %v", err)
	}
}

func TestInventoryIsNotChangedBySOAP(t *testing.T) {
	v, c := startOne(t)
	m, _ := v.Machine("node-0000")
	_, err := object.NewVirtualMachine(c.Client, m.Reference()).PowerOff(deadline(t, 10*time.Second))
	if !fault.Is(err, new(types.NotSupported)) {
		t.Errorf("%v", err)
	}
}

// Clients and changes at once, for the race detector.
func TestConcurrently(t *testing.T) {
	v, c := startOne(t)
	ctx := deadline(t, 60*time.Second)
	w := watch(t, ctx, c, v)
	other := login(t, v)
	var changing, reading sync.WaitGroup
	changing.Go(func() {
		for i := range 20 {
			name := fmt.Sprintf("extra-%d", i)
			err := errors.Join(
				v.MoveVM("node-0000", fmt.Sprintf("c1-host-%d", i%2+1)),
				v.Create("dc1", VMSpec{Name: name}),
				v.Retag("c1", "zone", name),
				v.Destroy(name),
			)
			if err != nil {
				t.Error(err)
			}
		}
	})
	stop := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				listAll(t, ctx, other)
				_ = v.Machines()
			}
		}
	})
	reading.Go(func() {
		defer close(stop)
		awaitName(t, ctx, w, "last")
	})
	changing.Wait()
	if err := v.Rename("node-0000", "last"); err != nil {
		t.Error(err)
	}
	reading.Wait()
}

func listAll(t *testing.T, ctx context.Context, c *govmomi.Client) {
	cv, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ManagedEntity"}, true)
	if err != nil {
		t.Error(err)
		return
	}
	var all []mo.ManagedEntity
	// A machine may go between the view and the read.
	if err := cv.Retrieve(ctx, []string{"ManagedEntity"}, []string{"name", "parent"}, &all); err != nil && !fault.Is(err, new(types.ManagedObjectNotFound)) {
		t.Error(err)
	}
	if err := cv.Destroy(ctx); err != nil {
		t.Error(err)
	}
}

func awaitName(t *testing.T, ctx context.Context, w *watcherClient, name string) {
	for {
		got, err := w.next(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		for _, u := range got {
			for _, c := range u.ChangeSet {
				if c.Name == "name" && c.Val == name {
					return
				}
			}
		}
	}
}
