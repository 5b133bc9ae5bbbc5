package model

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

const stranger = "11111111-2222-3333-4444-555555555555"

// entries returns the number of VMs with the UUID stranger.
func entries(m *Model) int {
	u, _ := inventory.ParseUUID(stranger)
	return len(m.Entries(u))
}

// Both orders of reports leave the VM in the index.
func TestMoveBetweenFilters(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	report := func(filter string, kind types.ObjectUpdateKind) {
		u := &types.ObjectUpdate{Kind: kind, Obj: VMRef("vm-1")}
		if kind == types.ObjectUpdateKindEnter {
			u.ChangeSet = []types.PropertyChange{{Name: "config.uuid", Val: stranger}}
		}
		m.ApplyIndex(filter, u)
	}
	report("dc1", types.ObjectUpdateKindEnter)
	report("dc2", types.ObjectUpdateKindEnter)
	report("dc1", types.ObjectUpdateKindLeave)
	if entries(m) != 1 {
		t.Error("left dc1 after it had come to dc2, and is gone")
	}
	report("dc2", types.ObjectUpdateKindLeave)
	report("dc1", types.ObjectUpdateKindEnter)
	if entries(m) != 1 {
		t.Error("left dc2 before it came to dc1, and is gone")
	}
	report("dc1", types.ObjectUpdateKindLeave)
	if entries(m) != 0 || len(m.index) != 0 {
		t.Error("it never goes")
	}
}

// Only VMs without a UUID are affected.
func TestSetAnnotated(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	for _, id := range []string{"vm-1", "vm-2"} {
		m.ApplyIndex("f", &types.ObjectUpdate{Obj: VMRef(id)})
	}
	m.ApplyIndex("f", &types.ObjectUpdate{Obj: VMRef("vm-3"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
	for i, c := range []struct {
		annotated map[string]bool
		changed   bool
		want      int
	}{
		{nil, false, 0},
		{map[string]bool{"vm-1": true, "vm-9": true}, true, 1},
		{map[string]bool{"vm-1": true}, false, 1},
		{map[string]bool{"vm-1": true, "vm-3": true}, false, 1},
		{map[string]bool{"vm-1": true, "vm-2": true}, true, 2},
		{nil, true, 0},
	} {
		if changed := m.SetNamedByNodes(c.annotated); changed != c.changed || len(m.namedByNodes) != c.want {
			t.Errorf("%d: news %v, told %v", i, changed, m.namedByNodes)
		}
		if m.refreshByUUID(); len(m.sharedWithoutUUID()) != 2 || len(m.byUUID) != 1 {
			t.Errorf("%d: what a Node says is in the index: %v, %v", i, m.byUUID, m.sharedWithoutUUID())
		}
	}
}

// New VMs without a UUID are watched in detail at once, the newest first, while any of them may be a
// Node's VM that was registered again.
func TestNewVMsAfterALostVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New("east", types.ServiceContent{}, nil)
		u, err := inventory.ParseUUID(stranger)
		if err != nil {
			t.Fatal(err)
		}
		wanted := func(nodes ...inventory.UUID) []string {
			uuids := map[inventory.UUID]bool{}
			for _, u := range nodes {
				uuids[u] = true
			}
			return m.Wanted(uuids, nil)
		}
		enter := func(id string) {
			m.ApplyIndex("f", &types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: VMRef(id)})
		}
		m.ApplyIndex("f", &types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: VMRef("vm-0"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
		m.EndInitialRead()
		enter("vm-1")
		if got := wanted(u); !slices.Equal(got, []string{"vm-0"}) {
			t.Errorf("while the VM is there %v are followed", got)
		}
		if got := wanted(u, inventory.UUID{7}); !slices.Equal(got, []string{"vm-0"}) {
			t.Errorf("for a VM that never was here %v are followed", got)
		}
		m.ApplyIndex("f", &types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: VMRef("vm-0")})
		if got := wanted(u); !slices.Equal(got, []string{"vm-1"}) {
			t.Errorf("once it is gone %v are followed", got)
		}
		time.Sleep(time.Second)
		for i := range withoutUUIDMax {
			enter(fmt.Sprint("vm-2", i))
		}
		if got := wanted(u); len(got) != withoutUUIDMax || slices.Contains(got, "vm-1") {
			t.Errorf("beside many that came later %v are followed", got)
		}
		if got := wanted(); len(got) > 0 {
			t.Errorf("without the Node %v are followed", got)
		}
	})
}

// Managed object IDs of another vCenter refer to other VMs.
func TestAnotherVCenterUnderTheSameName(t *testing.T) {
	about := func(instance string) types.ServiceContent {
		return types.ServiceContent{About: types.AboutInfo{InstanceUuid: instance}}
	}
	enter := func(m *Model, uuid string) {
		u := &types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: VMRef("vm-1")}
		if uuid != "" {
			u.ChangeSet = []types.PropertyChange{{Name: "config.uuid", Val: uuid}}
		}
		m.ApplyIndex("filter-1", u)
		m.refreshByUUID()
	}
	first := New("east", about("one"), nil)
	enter(first, stranger)
	same := New("east", about("one"), first)
	enter(same, "")
	if len(same.sharedWithoutUUID()) > 0 || len(same.byUUID) != 1 {
		t.Errorf("the same vCenter: %v, %v", same.byUUID, same.sharedWithoutUUID())
	}
	other := New("east", about("two"), first)
	enter(other, "")
	if len(other.sharedWithoutUUID()) != 1 || len(other.byUUID) > 0 {
		t.Errorf("another vCenter: %v, %v", other.byUUID, other.sharedWithoutUUID())
	}
}

// So are the objects above them.
func TestSnapshotsShareUnchangedVMs(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	report := func(id string, changes ...types.PropertyChange) {
		m.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: VMRef(id), ChangeSet: changes})
	}
	cluster := types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c1"}
	m.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: cluster, ChangeSet: []types.PropertyChange{{Name: "name", Val: "c1"}}})
	for _, id := range []string{"vm-1", "vm-2"} {
		report(id, types.PropertyChange{Name: "config.uuid", Val: stranger}, types.PropertyChange{Name: "name", Val: id},
			types.PropertyChange{Name: "parent", Val: cluster})
	}
	view := View{VMs: []string{"vm-1", "vm-2"}}
	before := m.Snapshot(view).VMs
	report("vm-2", types.PropertyChange{Name: "name", Val: "renamed"})
	now := m.Snapshot(view).VMs
	if before["vm-1"] == nil || now["vm-1"] != before["vm-1"] {
		t.Errorf("vm-1 was %p and is %p", before["vm-1"], now["vm-1"])
	}
	if now["vm-2"] == before["vm-2"] || now["vm-2"].Name != "renamed" || before["vm-2"].Name != "vm-2" {
		t.Errorf("vm-2 was %+v and is %+v", before["vm-2"], now["vm-2"])
	}
	m.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: cluster, ChangeSet: []types.PropertyChange{{Name: "name", Val: "c2"}}})
	if then := m.Snapshot(view).VMs; len(now["vm-1"].Paths) > 0 && (then["vm-1"] == now["vm-1"] || then["vm-1"].InventoryPath == now["vm-1"].InventoryPath) {
		t.Errorf("the cluster's new name is not in %s, %+v", then["vm-1"].InventoryPath, then["vm-1"].Paths)
	} else if len(now["vm-1"].Paths) == 0 {
		t.Error("no paths to compare")
	}
}

// The vCenter reports the last known power state. A VM that was off is not treated as running.
func TestPowerOfAVMThatIsNotConnected(t *testing.T) {
	const (
		on, off, suspended = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended
		connected          = types.VirtualMachineConnectionStateConnected
	)
	for _, c := range []struct {
		uuid       string
		connection any
		power      types.VirtualMachinePowerState
		want       inventory.Power
		wasOff     bool
	}{
		{stranger, connected, on, inventory.PowerOn, false},
		{stranger, connected, off, inventory.PowerOff, false},
		{stranger, connected, suspended, inventory.PowerSuspended, false},
		{stranger, types.VirtualMachineConnectionStateDisconnected, on, inventory.PowerUnknown, false},
		{stranger, types.VirtualMachineConnectionStateDisconnected, off, inventory.PowerUnknown, true},
		{stranger, types.VirtualMachineConnectionStateInaccessible, suspended, inventory.PowerUnknown, true},
		{stranger, types.VirtualMachineConnectionStateOrphaned, off, inventory.PowerUnknown, true},
		{stranger, nil, on, inventory.PowerUnknown, false},
		{stranger, nil, off, inventory.PowerUnknown, true},
		{"", connected, on, inventory.PowerUnknown, false},
		{"", connected, off, inventory.PowerUnknown, true},
	} {
		m := New("east", types.ServiceContent{}, nil)
		m.Tree.Apply(&types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: VMRef("vm-1"), ChangeSet: []types.PropertyChange{
			{Name: "config.uuid", Val: c.uuid}, {Name: "runtime.connectionState", Val: c.connection}, {Name: "runtime.powerState", Val: c.power},
		}})
		vm := m.Snapshot(View{VMs: []string{"vm-1"}}).VMs["vm-1"]
		if vm == nil || vm.Power != c.want || vm.WasOff != c.wasOff {
			t.Errorf("UUID %q, connection %v, %s: got %+v, want power %q, was off: %t", c.uuid, c.connection, c.power, vm, c.want, c.wasOff)
		}
	}
}

// A VM keeps its Fault Tolerance role while its configuration cannot be read.
func TestRoleWithoutAConfiguration(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	check := func(what string, want bool, uuid any, role any) {
		t.Helper()
		changes := []types.PropertyChange{{Name: "config.uuid", Val: uuid}, {Name: faultTolerance, Val: role}}
		m.ApplyIndex("f", &types.ObjectUpdate{Obj: VMRef("vm-1"), ChangeSet: changes[:1]})
		m.Tree.Apply(&types.ObjectUpdate{Obj: VMRef("vm-1"), ChangeSet: changes})
		if vm := m.Snapshot(View{VMs: []string{"vm-1"}}).VMs["vm-1"]; vm == nil || vm.Secondary != want {
			t.Errorf("%s: got %+v, want secondary: %t", what, vm, want)
		}
	}
	check("alone", false, stranger, nil)
	check("alone, configuration not readable", false, nil, nil)
	check("secondary", true, stranger, types.FaultToleranceConfigInfo{Role: 2})
	check("secondary, configuration not readable", true, nil, nil)
	check("primary", false, stranger, types.FaultToleranceConfigInfo{Role: 1})
	check("primary, configuration not readable", false, nil, nil)
}

// guest.ipAddress applies only if VMware Tools report no interface.
func TestGuestAddress(t *testing.T) {
	nic := func(device int32, addresses ...string) types.GuestNicInfo {
		return types.GuestNicInfo{DeviceConfigId: device, IpAddress: addresses}
	}
	for name, c := range map[string]struct {
		nics []types.GuestNicInfo
		want bool
	}{
		"no interface":                   {nil, true},
		"an interface without address":   {[]types.GuestNicInfo{nic(4000)}, false},
		"too many interfaces":            {slices.Repeat([]types.GuestNicInfo{nic(4000, "10.0.0.2")}, maxInterfaces+1), false},
		"too many that the guest made":   {[]types.GuestNicInfo{nic(-1, slices.Repeat([]string{"10.0.0.2"}, maxGuestMade+1)...)}, false},
		"one with another address":       {[]types.GuestNicInfo{nic(4000, "10.0.0.2")}, false},
		"one that the guest made itself": {[]types.GuestNicInfo{nic(-1, "10.0.0.2")}, false},
	} {
		m := New("east", types.ServiceContent{}, nil)
		m.Tree.Apply(&types.ObjectUpdate{Obj: VMRef("vm-1"), ChangeSet: []types.PropertyChange{
			{Name: "config.uuid", Val: stranger}, {Name: guestAddress, Val: "10.0.0.1"}, {Name: guestNet, Val: types.ArrayOfGuestNicInfo{GuestNicInfo: c.nics}},
		}})
		want := netip.Addr{}
		if c.want {
			want = netip.MustParseAddr("10.0.0.1")
		}
		if vm := m.Snapshot(View{VMs: []string{"vm-1"}}).VMs["vm-1"]; vm == nil || vm.GuestAddress != want {
			t.Errorf("%s: got %+v, want guest address %v", name, vm, want)
		}
	}
}

// VMs without details are neither outside nor recorded.
func TestOutsideAndRecordedHaveDetails(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	m.Tree.Apply(&types.ObjectUpdate{Obj: VMRef("vm-1"), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: stranger}}})
	both := []string{"vm-1", "vm-2"}
	snap := m.Snapshot(View{VMs: both, Outside: both, AnnotatedOnly: both})
	recorded := slices.Collect(maps.Keys(snap.Recorded))
	if want := both[:1]; !slices.Equal(snap.Outside, want) || !slices.Equal(recorded, want) || len(snap.VMs) != 1 {
		t.Errorf("outside %v, recorded %v, details of %d; want %v in each", snap.Outside, recorded, len(snap.VMs), want)
	}
}

// Snapshots share the tags, so equal tags are not replaced.
func TestEqualTagsAreKept(t *testing.T) {
	m := New("east", types.ServiceContent{}, nil)
	first, second := errors.New("unavailable"), errors.New("unavailable")
	if !m.SetTags(tags.Attachments{Err: first}) || m.SetTags(tags.Attachments{Err: second}) {
		t.Error("not a change, or one though nothing is different")
	}
	if !errors.Is(m.tags.Err, first) {
		t.Error("replaced by what reads the same")
	}
}

// Between two pages a host may be in a cluster not read yet, while its old cluster still lists it.
func TestGroupsOfAnotherCluster(t *testing.T) {
	ref := func(kind, id string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: id}
	}
	host, before, now := ref("HostSystem", "host-1"), ref("ClusterComputeResource", "domain-c1"), ref("ClusterComputeResource", "domain-c2")
	tree := NewTree(ref("Folder", "group-d1"))
	set := func(ref types.ManagedObjectReference, name string, value any) {
		tree.Apply(&types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindModify, ChangeSet: []types.PropertyChange{{Name: name, Val: value}}})
	}
	group := func(name string) session.ClusterGroups {
		return session.ClusterGroups{Group: []types.BaseClusterGroupInfo{
			&types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Host: []types.ManagedObjectReference{host}},
			&types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}, Vm: []types.ManagedObjectReference{host}},
		}}
	}
	groups := func() *topology.Membership {
		got, _ := (&Memberships{Facts: HostFacts{Groups: true}}).Of(tree, host)
		return got
	}
	set(host, "name", "h")
	if got := groups(); got != nil {
		t.Errorf("without a parent: %v", got)
	}
	set(host, "parent", before)
	set(before, ClusterConfig, group("site-a"))
	if got := groups(); got == nil || got.Err != nil || !slices.Equal(got.Names, []string{"site-a"}) {
		t.Errorf("in the first cluster: %v", got)
	}
	set(host, "parent", now)
	if got := groups(); got != nil {
		t.Errorf("in one that is not read: %v", got)
	}
	set(now, "name", "c2")
	if got := groups(); got == nil || got.Err != nil || got.Names != nil {
		t.Errorf("in one without groups: %v", got)
	}
	set(now, ClusterConfig, group("site-b"))
	if got := groups(); got == nil || !slices.Equal(got.Names, []string{"site-b"}) {
		t.Errorf("in the second cluster: %v", got)
	}
	set(now, ClusterConfig, nil)
	if got := groups(); got == nil || got.Err != nil || got.Names != nil {
		t.Errorf("without groups again: %v", got)
	}
	if domain := (&Memberships{}).groupsOf(tree, before); domain != nil {
		t.Errorf("of what is not in a cluster: %v", domain)
	}
}
