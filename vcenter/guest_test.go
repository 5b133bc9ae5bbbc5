package vcenter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
)

func addrs(s ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// TestStaticAddressesArrive: with the first reading and with each change, and
// nothing else of the extraConfig does.
func TestStaticAddressesArrive(t *testing.T) {
	const metadata = "network: {ethernets: {a: {addresses: [%s]}}}"
	w := run(t, `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east, zone: a}
    clusters: [{name: c1, hosts: 1}]
    vms:
    - name: n1
      extraConfig:
        guestinfo.userdata: S3cret
        guestinfo.metadata: "network: {ethernets: {a: {addresses: [10.0.0.7/24, fd00::7/64]}}}"
    - {name: n2}
`, slow, nil)
	east := w.sim.VCenter("east")
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	static := func(id inventory.Identity, want ...string) {
		t.Helper()
		w.until(fmt.Sprint("static addresses ", want), func([]inventory.State) bool {
			return slices.Equal(w.found(id).Static, addrs(want...))
		})
	}
	static(n1, "10.0.0.7", "fd00::7")
	static(n2)
	set := func(vm, value string) {
		t.Helper()
		if err := east.SetExtraConfig(vm, guestinfo.Key, value); err != nil {
			t.Fatal(err)
		}
	}
	set("n2", fmt.Sprintf(metadata, "10.0.0.8/24"))
	static(n2, "10.0.0.8")
	set("n1", fmt.Sprintf(metadata, "10.0.0.9/24"))
	static(n1, "10.0.0.9")
	set("n1", "S3cret: [") // unreadable
	static(n1)
	set("n1", fmt.Sprintf(metadata, "10.0.0.9/24"))
	static(n1, "10.0.0.9")
	if err := east.SetConnection("n1", "inaccessible"); err != nil {
		t.Fatal(err)
	}
	unreadable := func(states []inventory.State) bool {
		for _, m := range states[0].Snapshot.Machines {
			if m.UUID.IsZero() {
				return true
			}
		}
		return false
	}
	w.until("n1 unreadable", unreadable)
	if err := east.SetConnection("n1", "connected"); err != nil {
		t.Fatal(err)
	}
	w.until("n1 back", func(states []inventory.State) bool { return !unreadable(states) })
	static(n1, "10.0.0.9")
	set("n1", "")
	static(n1)
}

// TestMetadataIsReadOnce: a text that is told of again is not read again, and an
// unreadable one is noted once.
func TestMetadataIsReadOnce(t *testing.T) {
	tree := newTree(types.ManagedObjectReference{})
	ref := machineRef("vm-1")
	object := func(text string) *types.ObjectContent {
		return &types.ObjectContent{Obj: ref, PropSet: []types.DynamicProperty{
			{Name: guestMetadata, Val: types.OptionValue{Key: guestinfo.Key, Value: text}}}}
	}
	const good = "network: {ethernets: {a: {addresses: [10.0.0.7]}}}"
	tree.add(object(good))
	first := tree.objects[ref].static()
	tree.add(object(good))
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata, Val: object(good).PropSet[0].Val}}})
	if again := tree.objects[ref].static(); len(first.addresses) != 1 || &first.addresses[0] != &again.addresses[0] || len(tree.unreadable) != 0 {
		t.Errorf("%v was read again as %v", first, again)
	}
	for range 3 {
		tree.add(object("S3cret: ["))
		if s := tree.objects[ref].static(); s.addresses != nil || s.unreadable == nil || len(tree.unreadable) != 1 {
			t.Errorf("%v, noted %d times", s, len(tree.unreadable))
		}
	}
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(2)))
	tree.tellUnreadable(klog.NewContext(t.Context(), log))
	told := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(told, "vm-1") != 1 || strings.Contains(told, "S3cret") {
		t.Errorf("logged: %s", told)
	}
	tree.add(object("S3cret: ["))
	if len(tree.unreadable) != 0 {
		t.Error("noted again")
	}
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata + ".value", Val: good}}})
	if s := tree.objects[ref].static(); len(s.addresses) != 1 || s.unreadable != nil {
		t.Errorf("its value alone was told of: %v", s)
	}
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata}}})
	if s := tree.objects[ref].static(); s.addresses != nil || s.unreadable != nil {
		t.Errorf("taken away, and still %v", s)
	}
}

// TestNICs: what the guest says of its addresses is kept where it matters.
func TestNICs(t *testing.T) {
	ip := func(address, state, origin string, bits int32) types.NetIpConfigInfoIpAddress {
		return types.NetIpConfigInfoIpAddress{IpAddress: address, State: state, Origin: origin, PrefixLength: bits}
	}
	got := nicsOf(types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{
		Network: "VM Network", MacAddress: "00:50:56:00:00:01", DeviceConfigId: 4000,
		IpAddress: []string{"10.0.0.1", "10.0.0.2", "fe80::1%eth0", "nonsense", "fd00::1", "10.0.0.1"},
		IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{
			ip("10.0.0.1", "preferred", "dhcp", 24), ip("10.0.0.2", "preferred", "", 32), ip("fe80::1%eth0", "unknown", "linklayer", 64),
			ip("fd00::1", "preferred", "dhcp", 128), ip("fd00::2", "preferred", "random", 64), ip("fd00::3", "deprecated", "linklayer", 64),
			ip("fd00::4", "tentative", "", 64), ip("fd00::5", "duplicate", "", 64), ip("fd00::6", "invalid", "", 64),
			ip("fd00::7", "inaccessible", "", 64), ip("nonsense", "invalid", "", 64),
		}},
	}, {DeviceConfigId: -1, IpAddress: []string{"172.17.0.1"}}}})
	want := []inventory.NIC{{
		Network: "VM Network", MAC: "00:50:56:00:00:01", DeviceConfigID: 4000,
		Addresses: addrs("10.0.0.1", "10.0.0.2", "fe80::1", "fd00::1", "fd00::2", "fd00::3", "fd00::4", "fd00::5", "fd00::6", "fd00::7"),
		Unusable:  addrs("fd00::4", "fd00::5", "fd00::6"),
		Secondary: addrs("10.0.0.2", "fd00::2", "fd00::3", "fd00::7"),
	}, {DeviceConfigID: -1, Addresses: addrs("172.17.0.1")}}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}
