package model

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

func TestPropertiesAreBounded(t *testing.T) {
	folder := types.ManagedObjectReference{Type: "Folder", Value: "group-v1"}
	for name, change := range map[string]func(i int) types.PropertyChange{
		"not asked for": func(i int) types.PropertyChange {
			return types.PropertyChange{Name: fmt.Sprint("p", i), Val: strings.Repeat("x", 1<<20)}
		},
		"a long UUID": func(int) types.PropertyChange {
			return types.PropertyChange{Name: "config.uuid", Val: strings.Repeat("x", 1<<20)}
		},
		"a long reference": func(int) types.PropertyChange {
			return types.PropertyChange{Name: "parent", Val: types.ManagedObjectReference{Value: strings.Repeat("x", 1<<20)}}
		},
		"a long state": func(int) types.PropertyChange {
			return types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerState(strings.Repeat("x", 1<<20))}
		},
		"a long name": func(int) types.PropertyChange {
			return types.PropertyChange{Name: "name", Val: strings.Repeat("x", 1<<20)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := NewTree(folder)
			before := heap()
			for i := range 50 {
				ref := folder
				ref.Value += fmt.Sprint("-", i)
				tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref, ChangeSet: []types.PropertyChange{change(i)}})
			}
			if kept := heap() - before; kept > 5<<20 {
				t.Errorf("50 objects with a value of 1 MiB each keep %d KiB, want less than 5 MiB", kept>>10)
			}
			if err := tree.Err(); err != nil {
				t.Errorf("the tree: %v, want no error", err)
			}
			runtime.KeepAlive(tree)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The weight also falls when objects leave.
func TestTreeIsBounded(t *testing.T) {
	ref := func(i int) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: "Folder", Value: fmt.Sprint("group-v", i)}
	}
	name := []types.PropertyChange{{Name: "name", Val: "folder"}}
	tree := NewTree(ref(0))
	for i := range 50_000 {
		tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref(i), ChangeSet: name})
		tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: ref(i), ChangeSet: name})
		tree.Add(&types.ObjectContent{Obj: ref(i)})
		tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref(i)})
	}
	if tree.weight != 0 || tree.Err() != nil {
		t.Fatalf("a tree without objects weighs %d bytes, error %v; want 0 bytes and no error", tree.weight, tree.Err())
	}
	n := 0
	for ; tree.Err() == nil && n < 1_000_000; n++ {
		tree.Add(&types.ObjectContent{Obj: ref(n), PropSet: []types.DynamicProperty{{Name: "name", Val: "folder"}}})
	}
	if !errors.Is(tree.Err(), errWeight) || n < 20_000 || n > 100_000 {
		t.Errorf("after %d folders: %v, want %v after 20,000 to 100,000", n, tree.Err(), errWeight)
	}
}

// A vCenter may report any number of VMs and of changed UUIDs.
func TestIndexIsBounded(t *testing.T) {
	apply := func(m *Model, vm, uuid int) {
		m.ApplyIndex("filter", &types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: VMRef(fmt.Sprint("vm-", vm)),
			ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: fmt.Sprintf("42000000-0000-4000-8000-%012d", uuid)}}})
	}
	m := New("east", types.ServiceContent{}, nil)
	for i := range 5000 {
		apply(m, i%100, i)
	}
	m.refreshByUUID()
	for i := range 5000 {
		apply(m, i%100, 5000+i)
	}
	if n := len(m.touched); n > 2*recentBase {
		t.Errorf("%d UUIDs are kept that were changed, want at most %d", n, 2*recentBase)
	}
	uuid := m.index["vm-99"].uuid
	if got := m.Entries(uuid); len(got) != 1 || got[0].ID != "vm-99" {
		t.Errorf("the VMs with UUID %v after many changes: %v, want vm-99", uuid, got)
	}
	for i := range faults.MaxVMs + 1 {
		if err := m.Err(); err != nil {
			t.Fatalf("with %d VMs: %v, want no error", i, err)
		}
		apply(m, i, i)
	}
	if err := m.Err(); !errors.Is(err, faults.ManyObjects) {
		t.Errorf("with %d VMs: %v, want %v", m.Len(), err, faults.ManyObjects)
	}
}
