package fleet

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// TestMachineWithoutRead: its name and its parent are readable, and nothing else; it
// is not found; and clients that watch it get the change.
func TestMachineWithoutRead(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 30*time.Second)
	c := login(t, v)
	w := watch(t, ctx, c, v)
	m, err := f.Machine("node-0000")
	if err != nil {
		t.Fatal(err)
	}
	read := func(properties ...string) (vm mo.VirtualMachine, err error) {
		err = property.DefaultCollector(c.Client).RetrieveOne(ctx, m.Reference(), properties, &vm)
		return vm, err
	}
	check := func(readable bool) {
		t.Helper()
		vm, err := read("name", "parent")
		if err != nil || vm.Name != "node-0000" || vm.Parent == nil {
			t.Errorf("%q in %v, %v", vm.Name, vm.Parent, err)
		}
		if vm, err = read("config.uuid"); readable != (err == nil) || !readable && !fault.Is(err, &types.NoPermission{}) {
			t.Errorf("UUID: %v", err)
		}
		for _, p := range []string{"runtime.host", "summary.config.uuid"} {
			if _, err := read(p); readable != (err == nil) {
				t.Errorf("%s: %v", p, err)
			}
		}
		refs, err := object.NewSearchIndex(c.Client).FindAllByUuid(ctx, nil, m.UUID, true, nil)
		if err != nil || readable != (len(refs) == 1) {
			t.Errorf("found %v, %v", refs, err)
		}
	}
	check(true)
	for _, readable := range []bool{false, true} {
		change := v.DenyRead
		if readable {
			change = v.AllowRead
		}
		if err := change("node-0000"); err != nil {
			t.Fatal(err)
		}
		got, err := w.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		u, reported := got[m.MoID]
		if missing := len(u.MissingSet) > 0; !reported || missing == readable {
			t.Errorf("reported: %+v", got)
		}
		check(readable)
	}
}

// TestLimitPages: the first page has that many objects, and further pages the rest.
func TestLimitPages(t *testing.T) {
	f := start(t, twoDatacenters)
	v := f.VCenter("east")
	ctx := deadline(t, 30*time.Second)
	c := login(t, v)
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}}}
	for _, m := range v.Machines() {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: m.Reference()})
	}
	first := func(n int32) (int, string) {
		t.Helper()
		v.LimitPages(n)
		res, err := methods.RetrievePropertiesEx(ctx, c.Client, &types.RetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec}, Options: types.RetrieveOptions{MaxObjects: 100},
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Returnval.Objects), res.Returnval.Token
	}
	if n, token := first(2); n != 2 || token == "" {
		t.Errorf("%d objects, token %q", n, token)
	}
	if n, token := first(0); n != 3 || token != "" {
		t.Errorf("%d objects without a limit, token %q", n, token)
	}
}
