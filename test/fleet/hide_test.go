package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const twoDatacenters = `
vcenters:
- name: east
  datacenters:
  - {name: dc1, clusters: [{name: c1, hosts: 1, tags: {zone: a}}], vms: [{name: node-0000}, {name: node-0001, folder: a/b}]}
  - {name: dc2, clusters: [{name: c2, hosts: 1}], vms: [{name: other}]}
`

// An eye is a client that looks for a machine in each way there is.
type eye struct {
	*follower
}

func (e *eye) seen(m Machine) (listed, found bool, direct error) {
	e.Helper()
	cv, err := view.NewManager(e.w.c.Client).CreateContainerView(e.ctx, e.w.c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		e.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := cv.Retrieve(e.ctx, []string{"VirtualMachine"}, []string{"name"}, &vms); err != nil {
		e.Fatal(err)
	}
	for _, vm := range vms {
		listed = listed || vm.Self == m.Reference()
	}
	refs, err := object.NewSearchIndex(e.w.c.Client).FindAllByUuid(e.ctx, nil, m.UUID, true, nil)
	if err != nil {
		e.Fatal(err)
	}
	var vm mo.VirtualMachine
	return listed, len(refs) > 0, property.DefaultCollector(e.w.c.Client).RetrieveOne(e.ctx, m.Reference(), []string{"name"}, &vm)
}

// kinds returns what sort of change each is that the next long poll reports of a machine.
func (e *eye) kinds(ctx context.Context) map[string]types.ObjectUpdateKind {
	e.Helper()
	got, err := e.w.next(ctx)
	if err != nil {
		e.Fatal(err)
	}
	kinds := map[string]types.ObjectUpdateKind{}
	for id, u := range got {
		kinds[id] = u.Kind
	}
	return kinds
}

func TestHide(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 30*time.Second)
	c := login(t, v)
	e := &eye{&follower{T: t, ctx: ctx, v: v, w: watch(t, ctx, c, v)}}
	node, _ := f.Machine("node-0000")
	inFolder, _ := f.Machine("node-0001")
	other, _ := f.Machine("other")
	for _, what := range []struct {
		object  string
		hidden  []Machine
		visible []Machine
	}{
		{"/dc1", []Machine{node, inFolder}, []Machine{other}},
		{"b", []Machine{inFolder}, []Machine{node, other}},
		{"node-0000", []Machine{node}, []Machine{inFolder, other}},
		{"c1", nil, []Machine{node, inFolder, other}},
	} {
		if err := v.Hide(what.object); err != nil {
			t.Fatal(err)
		}
		if len(what.hidden) > 0 {
			if kinds := e.kinds(ctx); len(kinds) != len(what.hidden) || kinds[what.hidden[0].MoID] != types.ObjectUpdateKindLeave {
				t.Errorf("hiding %s is seen as %v", what.object, kinds)
			}
		}
		for _, m := range what.hidden {
			if listed, found, direct := e.seen(m); listed || found || !fault.Is(direct, &types.NoPermission{}) {
				t.Errorf("%s hidden, %s: listed %v, found %v, direct %v", what.object, m.Name, listed, found, direct)
			}
		}
		for _, m := range what.visible {
			if listed, found, direct := e.seen(m); !listed || !found || direct != nil {
				t.Errorf("%s hidden, %s: listed %v, found %v, direct %v", what.object, m.Name, listed, found, direct)
			}
		}
		if err := v.Show(what.object); err != nil {
			t.Fatal(err)
		}
		if len(what.hidden) > 0 {
			// The simulator reports all machines of a view to which some are added.
			if kinds := e.kinds(ctx); kinds[what.hidden[0].MoID] != types.ObjectUpdateKindEnter {
				t.Errorf("showing %s is seen as %v", what.object, kinds)
			}
		}
		for _, m := range []Machine{node, inFolder, other} {
			if listed, found, direct := e.seen(m); !listed || !found || direct != nil {
				t.Errorf("%s shown again, %s: listed %v, found %v, direct %v", what.object, m.Name, listed, found, direct)
			}
			if again, err := f.Machine(m.Name); err != nil || again.Path != m.Path || again.MoID != m.MoID {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
	}
}

// TestHiddenObjectsCanBeChanged: what is hidden can be changed and destroyed.
func TestHiddenObjectsCanBeChanged(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	c := login(t, v)
	ctx := deadline(t, 20*time.Second)
	node, _ := f.Machine("node-0000")
	for _, err := range []error{v.Hide("/dc1"), v.PowerOff("node-0000"), v.Destroy("node-0001"), v.Show("/dc1")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	e := &eye{&follower{T: t, ctx: ctx, v: v, w: &watcherClient{c: c}}}
	if listed, found, direct := e.seen(node); !listed || !found || direct != nil {
		t.Errorf("listed %v, found %v, direct %v", listed, found, direct)
	}
	if m, err := f.Machine("node-0000"); err != nil || m.PoweredOn {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := f.Machine("node-0001"); err == nil {
		t.Error("a destroyed machine is back")
	}
	if err := v.Create("dc1", VMSpec{Name: "new"}); err != nil {
		t.Error(err)
	}
	for _, object := range []string{"/", "/dc1/vm", "c1-host-1", "nothing", "Resources"} {
		if err := v.Hide(object); err == nil {
			t.Errorf("%q was hidden", object)
		}
	}
	if err := v.Show("/dc1"); err == nil {
		t.Error("what is not hidden was shown")
	}
}
