package vcenter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
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

// readPending reads what the tree has to be read, as readMetadata does, and returns how
// much that was.
func readPending(t *tree) (n int) {
	for ref := range t.pending {
		s := t.objects[ref].static()
		if delete(t.pending, ref); !s.pending() {
			continue
		}
		n++
		addresses, err := guestinfo.Addresses(s.text)
		t.takeMetadata(metadataRead{ref, s.digest, addresses, err})
	}
	return n
}

// TestMetadataIsReadOnce: a text that is told of again is not read again, not by the
// next watch either, and what cannot be read is remarked on once while it is so.
func TestMetadataIsReadOnce(t *testing.T) {
	w := &watch{c: newConnection(&target{cfg: config.VCenter{Name: "east"}}, nil, timing{}, func() {}), model: newModel("east", types.ServiceContent{}, nil)}
	tree := w.model.tree
	ref := machineRef("vm-1")
	object := func(text string) *types.ObjectContent {
		return &types.ObjectContent{Obj: ref, PropSet: []types.DynamicProperty{
			{Name: guestMetadata, Val: types.OptionValue{Key: guestinfo.Key, Value: text}}}}
	}
	const good = "network: {ethernets: {a: {addresses: [10.0.0.7]}}}"
	tree.add(object(good))
	if s := tree.objects[ref].static(); !s.pending() || s.known || !tree.unknownMetadata() {
		t.Errorf("not to be read: %+v", s)
	}
	if n := readPending(tree); n != 1 || tree.unknownMetadata() {
		t.Errorf("%d read", n)
	}
	tree.add(object(good))
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata, Val: object(good).PropSet[0].Val}}})
	if s := tree.objects[ref].static(); len(s.addresses) != 1 || s.text != "" || readPending(tree) != 0 {
		t.Errorf("to be read again: %+v", s)
	}
	tree.add(object("S3cret: ["))
	tree.add(object(good)) // it was so before
	if s := tree.objects[ref].static(); s.pending() || len(s.addresses) != 1 || readPending(tree) != 0 {
		t.Errorf("to be read again: %+v", s)
	}
	next := newModel("east", types.ServiceContent{}, w.model).tree
	next.add(object(good))
	if s := next.objects[ref].static(); len(s.addresses) != 1 || readPending(next) != 0 {
		t.Errorf("read again by the next watch: %+v", s)
	}
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(2)))
	for i := range 6 {
		tree.add(object(fmt.Sprint("S3cret: [", i/2)))
		w.remarkOnGuests(klog.NewContext(t.Context(), log))
		readPending(tree)
		w.remarkOnGuests(klog.NewContext(t.Context(), log))
		if s := tree.objects[ref].static(); s.addresses != nil || s.unreadable == nil {
			t.Errorf("%+v", s)
		}
	}
	tree.add(object(strings.Repeat("S3cret: [", guestinfo.MaxEncoded)))
	if s := tree.objects[ref].static(); s.pending() || s.text != "" || !errors.Is(s.unreadable, guestinfo.ErrSize) {
		t.Errorf("kept: %d bytes, %v", len(s.text), s.unreadable)
	}
	w.remarkOnGuests(klog.NewContext(t.Context(), log))
	told := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(told, "vm-1") != 1 || strings.Contains(told, "S3cret") {
		t.Errorf("logged: %s", told)
	}
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata + ".value", Val: good}}})
	readPending(tree)
	if s := tree.objects[ref].static(); len(s.addresses) != 1 || s.unreadable != nil {
		t.Errorf("its value alone was told of: %v", s)
	}
	tree.apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: guestMetadata}}})
	if s := tree.objects[ref].static(); s.pending() || s.addresses != nil || s.unreadable != nil {
		t.Errorf("taken away, and still %v", s)
	}
}

// TestRemarksAreFew: a guest that goes back and forth is not remarked on each time.
func TestRemarksAreFew(t *testing.T) {
	r, now, said := remarks{}, time.Now(), 0
	for range 100 {
		for _, holds := range []bool{true, true, false} {
			if now = now.Add(time.Second); r.due(remark{"vm-1", ofReport}, holds, now) {
				said++
			}
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}
	if r.due(remark{"vm-1", ofHostName}, true, now) != true || r.due(remark{"vm-2", ofReport}, true, now) != true {
		t.Error("another subject, or another machine, is not remarked on")
	}
	r.due(remark{"vm-2", ofReport}, false, now)
	now = now.Add(remarkAgain + time.Second)
	if !r.due(remark{"vm-1", ofReport}, true, now) {
		t.Error("not said again after a while")
	}
	if r.due(remark{"vm-3", ofReport}, true, now); len(r) != 3 {
		t.Errorf("what is long over is not forgotten: %v", r)
	}
}

// TestNICs: what the guest says of its addresses is kept where it matters.
func TestNICs(t *testing.T) {
	ip := func(address, state, origin string, bits int32) types.NetIpConfigInfoIpAddress {
		return types.NetIpConfigInfoIpAddress{IpAddress: address, State: state, Origin: origin, PrefixLength: bits}
	}
	got := reportOf(types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{
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
	if diff := cmp.Diff(want, got.nics, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// TestReportsAreBounded: more than is looked at is not looked at in part, where it could
// decide.
func TestReportsAreBounded(t *testing.T) {
	nic := func(device int32, addresses ...string) types.GuestNicInfo {
		return types.GuestNicInfo{DeviceConfigId: device, Network: "VM Network", IpAddress: addresses}
	}
	some := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("10.1.%d.%d", i/250, i%250))
		}
		return all
	}
	times := func(n int, one types.GuestNicInfo) []types.GuestNicInfo {
		return slices.Repeat([]types.GuestNicInfo{one}, n)
	}
	inBoth := nic(4000)
	for _, a := range some(maxAddresses + 1) {
		if inBoth.IpConfig == nil {
			inBoth.IpConfig = &types.NetIpConfigInfo{}
		}
		inBoth.IpConfig.IpAddress = append(inBoth.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{IpAddress: a})
	}
	for name, c := range map[string]struct {
		nics             []types.GuestNicInfo
		kept             int
		refused, partial bool
	}{
		"as many addresses as count":     {nics: []types.GuestNicInfo{nic(4000, some(maxAddresses)...)}, kept: maxAddresses},
		"one more":                       {nics: []types.GuestNicInfo{nic(4000, some(maxAddresses)...), nic(4001, "10.0.0.1")}, refused: true},
		"one more, as configured":        {nics: []types.GuestNicInfo{inBoth}, refused: true},
		"many times the same":            {nics: []types.GuestNicInfo{nic(4000, slices.Repeat([]string{"10.0.0.1"}, 100_000)...)}, refused: true},
		"as many interfaces as count":    {nics: times(maxInterfaces, nic(4000, "10.0.0.1")), kept: maxInterfaces},
		"one interface more":             {nics: times(maxInterfaces+1, nic(4000, "10.0.0.1")), refused: true},
		"a long name of a network":       {nics: []types.GuestNicInfo{{DeviceConfigId: 4000, Network: strings.Repeat("x", maxNetworkName+1)}}, refused: true},
		"a long MAC address":             {nics: []types.GuestNicInfo{{DeviceConfigId: 4000, MacAddress: strings.Repeat("x", 1<<20), IpAddress: some(1)}}, kept: 1},
		"an address with a long zone":    {nics: []types.GuestNicInfo{nic(4000, "fe80::1%"+strings.Repeat("x", 1<<20), "10.0.0.1")}, kept: 1},
		"thousands that the guest made":  {nics: []types.GuestNicInfo{nic(-1, some(5000)...), nic(4000, "10.0.0.1")}, kept: 1, partial: true},
		"interfaces that the guest made": {nics: append(times(5000, nic(-1)), nic(4000, "10.0.0.1")), kept: 1, partial: true},
		"a few that the guest made":      {nics: []types.GuestNicInfo{nic(4000, "10.0.0.1"), nic(-1, some(3)...)}, kept: 4},
		"a long name of the guest's own": {nics: []types.GuestNicInfo{{DeviceConfigId: -1, Network: strings.Repeat("x", 1<<20), IpAddress: some(2)}}, kept: 2},
	} {
		got := reportOf(types.ArrayOfGuestNicInfo{GuestNicInfo: c.nics})
		kept := 0
		for _, n := range got.nics {
			kept += len(n.Addresses)
			if len(n.Network) > maxNetworkName || len(n.MAC) > maxMAC {
				t.Errorf("%s: kept a long name", name)
			}
		}
		if kept != c.kept || (got.refused != nil) != c.refused || got.partial != c.partial || len(got.nics) > maxInterfaces+maxGuestMade {
			t.Errorf("%s: %d addresses of %d interfaces, partial %t, %v", name, kept, len(got.nics), got.partial, got.refused)
		}
	}
}

// TestHostNamesOfGuests: what is no host name is not one, nor is it none.
func TestHostNamesOfGuests(t *testing.T) {
	for name, odd := range map[string]bool{
		"": false, "n1": false, "N1.example.com": false, "a_b-c": false, strings.Repeat("x", maxHostName): false,
		strings.Repeat("x", maxHostName+1): true, strings.Repeat("x", 1<<20): true,
		"a b": true, "a\nb": true, "\x1b[2J": true, "zürich": true, "a/b": true, "a\x00": true, "\xff": true, "$(reboot)": true,
	} {
		p := properties{}
		p.set(guestHostName, name)
		got, is := p.hostName()
		if is != odd || odd && got != "" || !odd && got != name {
			t.Errorf("%.40q: %.40q, odd %t", name, got, is)
		}
		for _, o := range p.oddities() {
			if o.err != nil && (!odd || o.subject != ofHostName || len(o.err.Error()) > 200 || name != "" && strings.Contains(o.err.Error(), name)) {
				t.Errorf("%.40q: %s: %v", name, o.subject, o.err)
			}
		}
	}
}

// TestHostileGuests: what a guest says in excess is refused with one remark, its other
// properties stay, and other machines are as ever.
func TestHostileGuests(t *testing.T) {
	var many strings.Builder
	for i := range maxAddresses + 1 {
		fmt.Fprintf(&many, "172.16.%d.%d,", i/250, 1+i%250)
	}
	w := run(t, fmt.Sprintf(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east, zone: a}
    clusters: [{name: c1, hosts: 1}]
    vms:
    - name: n1
      hostname: "n 1"
      nics: [{ips: [%s]}]
      extraConfig: {guestinfo.metadata: %q}
    - name: n2
      nics: [{ips: [10.0.0.2]}, {deviceConfigId: -1, ips: [%[1]s]}]
      extraConfig: {guestinfo.metadata: "network: {ethernets: {a: {addresses: [10.0.0.2]}}}"}
`, many.String(), costly(t, 250<<10)), slow, nil)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	hostile, honest := w.found(n1), w.found(n2)
	if hostile.Refused == nil || hostile.NICs != nil || hostile.Static != nil || hostile.Pending || hostile.HostName != "" || hostile.Name != "n1" {
		t.Errorf("of the hostile guest: %+v", hostile)
	}
	if honest.Refused != nil || !honest.Partial || len(honest.NICs) != 1 || !slices.Equal(honest.Static, addrs("10.0.0.2")) || honest.HostName != "n2" {
		t.Errorf("of the honest guest: %+v", honest)
	}
	if got := w.zone(n1) + " " + w.zone(n2); got != "east/a east/a" {
		t.Errorf("zones %s", got)
	}
	if err := w.sim.VCenter("east").Rename("n1", "n1\nI1122 made up\u202e"); err != nil {
		t.Fatal(err)
	}
	w.until("the path is on one line", func([]inventory.State) bool {
		return strings.HasSuffix(w.found(n1).InventoryPath, `/n1\nI1122 made up\u202e`)
	})
}
