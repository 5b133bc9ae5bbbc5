package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"

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

// A change may report the whole option or only its value. Invalid metadata has no addresses.
func TestStaticAddresses(t *testing.T) {
	tree, ref := NewTree(types.ManagedObjectReference{}), VMRef("vm-1")
	whole := func(text string) any { return types.OptionValue{Key: guestinfo.Key, Value: text} }
	const metadata = "network: {ethernets: {a: {addresses: [%s]}}}"
	tree.Add(&types.ObjectContent{Obj: ref, PropSet: []types.DynamicProperty{{Name: GuestMetadata, Val: whole(fmt.Sprintf(metadata, "10.0.0.7"))}}})
	static := func(want ...string) {
		t.Helper()
		if got, _ := tree.objects[ref][GuestMetadata].([]netip.Addr); !slices.Equal(got, addrs(want...)) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	static("10.0.0.7")
	for _, c := range []struct {
		path  string
		value any
		want  []string
	}{
		{GuestMetadata, whole(fmt.Sprintf(metadata, "10.0.0.8, fd00::8")), []string{"10.0.0.8", "fd00::8"}},
		{GuestMetadata, whole("S3cret: ["), nil},
		{GuestMetadata + ".value", fmt.Sprintf(metadata, "10.0.0.9"), []string{"10.0.0.9"}},
		{GuestMetadata, nil, nil},
	} {
		tree.Apply(&types.ObjectUpdate{Obj: ref, ChangeSet: []types.PropertyChange{{Name: c.path, Val: c.value}}})
		static(c.want...)
	}
}

func TestNICs(t *testing.T) {
	ip := func(address, state, origin string, bits int32) types.NetIpConfigInfoIpAddress {
		return types.NetIpConfigInfoIpAddress{IpAddress: address, State: state, Origin: origin, PrefixLength: bits}
	}
	got := guestNetworkOf(types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{
		Network: "VM Network", MacAddress: "00:50:56:00:00:01", DeviceConfigId: 4000,
		IpAddress: []string{"10.0.0.1", "10.0.0.2", "fe80::1%eth0", "nonsense", "fd00::1", "10.0.0.1"},
		IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{
			ip("10.0.0.1", "preferred", "dhcp", 24), ip("10.0.0.2", "preferred", "", 32), ip("fe80::1%eth0", "unknown", "linklayer", 64),
			ip("fd00::1", "preferred", "dhcp", 128), ip("fd00::2", "preferred", "random", 64), ip("fd00::3", "deprecated", "linklayer", 64),
			ip("fd00::4", "tentative", "", 64), ip("fd00::5", "duplicate", "", 64), ip("fd00::6", "invalid", "", 64),
			ip("fd00::7", "inaccessible", "", 64), ip("nonsense", "invalid", "", 64),
			ip("fd00::8", "preferred", "", 128), ip("10.0.0.8", "preferred", "dhcp", 32), ip("::ffff:10.0.0.9", "preferred", "manual", 32),
		}},
	}, {DeviceConfigId: -1, IpAddress: []string{"172.17.0.1"}}}})
	want := []inventory.NIC{{
		Network: "VM Network", MAC: "00:50:56:00:00:01", DeviceConfigID: 4000,
		Addresses: addrs("10.0.0.1", "10.0.0.2", "fe80::1", "fd00::1", "fd00::2", "fd00::3", "fd00::4", "fd00::5", "fd00::6", "fd00::7", "fd00::8", "10.0.0.8", "::ffff:10.0.0.9"),
		Unusable:  addrs("fd00::4", "fd00::5", "fd00::6"),
		Secondary: addrs("10.0.0.2", "fd00::2", "fd00::3", "fd00::7", "fd00::8", "::ffff:10.0.0.9"),
	}, {DeviceConfigID: -1, Addresses: addrs("172.17.0.1")}}
	if diff := cmp.Diff(want, got.nics, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// A report that exceeds a bound is ignored as a whole, because the rest might decide.
func TestReportsAreBounded(t *testing.T) {
	nic := func(device int32, addresses ...string) types.GuestNicInfo {
		return types.GuestNicInfo{DeviceConfigId: device, Network: "VM Network", IpAddress: addresses}
	}
	addresses := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("10.1.%d.%d", i/250, i%250))
		}
		return all
	}
	times := func(n int, one types.GuestNicInfo) []types.GuestNicInfo {
		return slices.Repeat([]types.GuestNicInfo{one}, n)
	}
	inBoth := nic(4000)
	for _, a := range addresses(maxAddresses + 1) {
		if inBoth.IpConfig == nil {
			inBoth.IpConfig = &types.NetIpConfigInfo{}
		}
		inBoth.IpConfig.IpAddress = append(inBoth.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{IpAddress: a})
	}
	for name, c := range map[string]struct {
		nics             []types.GuestNicInfo
		kept             int
		ignored, partial bool
	}{
		"as many addresses as count":     {nics: []types.GuestNicInfo{nic(4000, addresses(maxAddresses)...)}, kept: maxAddresses},
		"one more":                       {nics: []types.GuestNicInfo{nic(4000, addresses(maxAddresses)...), nic(4001, "10.0.0.1")}, ignored: true},
		"one more, as configured":        {nics: []types.GuestNicInfo{inBoth}, ignored: true},
		"many times the same":            {nics: []types.GuestNicInfo{nic(4000, slices.Repeat([]string{"10.0.0.1"}, 100_000)...)}, ignored: true},
		"as many interfaces as count":    {nics: times(maxInterfaces, nic(4000, "10.0.0.1")), kept: maxInterfaces},
		"one interface more":             {nics: times(maxInterfaces+1, nic(4000, "10.0.0.1")), ignored: true},
		"a long name of a network":       {nics: []types.GuestNicInfo{{DeviceConfigId: 4000, Network: strings.Repeat("x", maxNetworkName+1)}}, ignored: true},
		"a long MAC address":             {nics: []types.GuestNicInfo{{DeviceConfigId: 4000, MacAddress: strings.Repeat("x", 1<<20), IpAddress: addresses(1)}}, kept: 1},
		"an address with a long zone":    {nics: []types.GuestNicInfo{nic(4000, "fe80::1%"+strings.Repeat("x", 1<<20), "10.0.0.1")}, kept: 1},
		"thousands that the guest made":  {nics: []types.GuestNicInfo{nic(-1, addresses(5000)...), nic(4000, "10.0.0.1")}, kept: 1, partial: true},
		"interfaces that the guest made": {nics: append(times(5000, nic(-1)), nic(4000, "10.0.0.1")), kept: 1, partial: true},
		"a few that the guest made":      {nics: []types.GuestNicInfo{nic(4000, "10.0.0.1"), nic(-1, addresses(3)...)}, kept: 4},
		"a long name of the guest's own": {nics: []types.GuestNicInfo{{DeviceConfigId: -1, Network: strings.Repeat("x", 1<<20), IpAddress: addresses(2)}}, kept: 2},
	} {
		got := guestNetworkOf(types.ArrayOfGuestNicInfo{GuestNicInfo: c.nics})
		kept := 0
		for _, n := range got.nics {
			kept += len(n.Addresses)
			if len(n.Network) > maxNetworkName || len(n.MAC) > maxMAC {
				t.Errorf("%s: kept a long name", name)
			}
		}
		if kept != c.kept || (got.ignored != nil) != c.ignored || got.partial != c.partial || len(got.nics) > maxInterfaces+maxGuestMade {
			t.Errorf("%s: %d addresses of %d interfaces, partial %t, %v", name, kept, len(got.nics), got.partial, got.ignored)
		}
	}
}

func TestHostNamesOfGuests(t *testing.T) {
	for name, odd := range map[string]bool{
		"": false, "n1": false, "N1.example.com": false, "a_b-c": false, "localhost": true, "...": true, strings.Repeat("x", 1<<20): true,
		"a b": true, "a\nb": true, "\x1b[2J": true, "zürich": true, "a/b": true, "a\x00": true, "\xff": true, "$(reboot)": true,
	} {
		p := properties{}
		p.set(GuestHostName, name)
		if got := p.string(GuestHostName); odd && got != "" || !odd && got != name {
			t.Errorf("guest host name %.40q is kept as %.40q, want it kept only if it is a host name", name, got)
		}
	}
}
