package fleet

import (
	"maps"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"
)

// watchIn follows the machines in container views, through one collector.
func watchIn(t *testing.T, v *VCenter, containers ...string) *eye {
	t.Helper()
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, container := range containers {
		ref, err := v.Reference(container)
		if err != nil {
			t.Fatal(err)
		}
		cv, err := view.NewManager(c.Client).CreateContainerView(ctx, ref, []string{"VirtualMachine"}, true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{{Obj: cv.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}}}},
			PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.uuid"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	e := &eye{&follower{T: t, ctx: ctx, v: v, w: &watcherClient{c: c, pc: pc}}}
	e.kinds(ctx)
	return e
}

func TestViewsFollowMachinesThatMove(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	node, _ := f.Machine("node-0000")
	move := func(host string) {
		t.Helper()
		if err := v.MoveVM("node-0000", host); err != nil {
			t.Fatal(err)
		}
	}
	one, both := watchIn(t, v, "/dc1"), watchIn(t, v, "/dc1", "/dc2")
	move("c2-host-1")
	if kinds := one.kinds(one.ctx); kinds[node.MoID] != types.ObjectUpdateKindLeave {
		t.Errorf("moved out: %v", kinds)
	}
	if kinds := both.kinds(both.ctx); kinds[node.MoID] != types.ObjectUpdateKindEnter {
		t.Errorf("moved between two that are watched: %v", kinds)
	}
	move("c1-host-1")
	if kinds := one.kinds(one.ctx); kinds[node.MoID] != types.ObjectUpdateKindEnter {
		t.Errorf("moved in: %v", kinds)
	}
}

// TestListViewsReportDestroyedMachines: also if the list was modified since the last poll.
func TestListViewsReportDestroyedMachines(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 20*time.Second)
	c := login(t, v)
	ref := func(vm string) types.ManagedObjectReference {
		m, _ := f.Machine(vm)
		return m.Reference()
	}
	node, other := ref("node-0000"), ref("other")
	list, err := view.NewManager(c.Client).CreateListView(ctx, []types.ManagedObjectReference{node})
	if err != nil {
		t.Fatal(err)
	}
	pc, err := property.DefaultCollector(c.Client).Create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: list.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}}}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.uuid"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := &eye{&follower{T: t, ctx: ctx, v: v, w: &watcherClient{c: c, pc: pc}}}
	if kinds := e.kinds(ctx); kinds[node.Value] != types.ObjectUpdateKindEnter {
		t.Fatalf("at first: %v", kinds)
	}
	if _, err := list.Add(ctx, []types.ManagedObjectReference{other}); err != nil {
		t.Fatal(err)
	}
	if err := v.Destroy("node-0000"); err != nil {
		t.Fatal(err)
	}
	updates := map[string]types.ObjectUpdateKind{}
	for updates[node.Value] == "" || updates[other.Value] == "" {
		kinds := e.kinds(ctx)
		if len(kinds) == 0 {
			break
		}
		maps.Copy(updates, kinds)
	}
	if updates[node.Value] != types.ObjectUpdateKindLeave || updates[other.Value] != types.ObjectUpdateKindEnter {
		t.Errorf("destroyed and added: %v", updates)
	}
}

// TestContainerViewsReportDestroyedMachines: also if a machine was created since the last poll.
func TestContainerViewsReportDestroyedMachines(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	node, _ := f.Machine("node-0000")
	e := watchIn(t, v, "/dc1")
	if err := v.Create("dc1", VMSpec{Name: "new"}); err != nil {
		t.Fatal(err)
	}
	if err := v.Destroy(node.Name); err != nil {
		t.Fatal(err)
	}
	made, err := v.Machine("new")
	if err != nil {
		t.Fatal(err)
	}
	updates := map[string]types.ObjectUpdateKind{}
	for updates[node.MoID] == "" || updates[made.MoID] == "" {
		kinds := e.kinds(e.ctx)
		if len(kinds) == 0 {
			break
		}
		maps.Copy(updates, kinds)
	}
	if updates[node.MoID] != types.ObjectUpdateKindLeave || updates[made.MoID] != types.ObjectUpdateKindEnter {
		t.Errorf("destroyed and created: %v", updates)
	}
}
