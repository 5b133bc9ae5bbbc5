package fleet

import (
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
