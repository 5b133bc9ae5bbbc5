package addresses

import (
	"fmt"
	"math/rand"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/cloud-provider/node/helpers"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// invariants checks properties of every selection.
func invariants(t *testing.T, in Input) {
	t.Helper()
	got, err := Select(in)
	if err != nil && got.Addresses != nil {
		t.Errorf("addresses %v beside the error %v", got.Addresses, err)
	}
	if diff := cmp.Diff(oracle(in), got.Addresses, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("not what the oracle says (-want +got):\n%s%s", diff, rendered(got, err))
	}
	if in.Provided != "" && err == nil {
		if _, rejected := helpers.GetNodeAddressesFromNodeIP(in.Provided, got.Addresses); rejected != nil {
			t.Errorf("the framework refuses %v: %v", got.Addresses, rejected)
		}
	}
	agree(t, in, got, err)

	// The Node keeps the addresses that it was initialized with, in any order of the report.
	again := in
	again.Current = nil
	if got, err = Select(again); err != nil {
		return
	}
	again.Current = got.Addresses
	again.NICs = slices.Clone(in.NICs)
	random := rand.New(rand.NewSource(1))
	for range 3 {
		random.Shuffle(len(again.NICs), func(i, j int) { again.NICs[i], again.NICs[j] = again.NICs[j], again.NICs[i] })
		for i := range again.NICs {
			all := slices.Clone(again.NICs[i].Addresses)
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			again.NICs[i].Addresses = all
		}
		kept, err := Select(again)
		if diff := cmp.Diff(got.Addresses, kept.Addresses, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("what the Node has does not stay: %v (-want +got):\n%s", err, diff)
		}
	}
}

// agree checks that results and addresses are consistent, and that each result is about an address of the input.
func agree(t *testing.T, in Input, got Selection, err error) {
	t.Helper()
	chosen := map[v1.NodeAddress]int{}
	for _, v := range got.Results {
		if v.Internal.Chosen() {
			chosen[v1.NodeAddress{Type: v1.NodeInternalIP, Address: v.Address.String()}]++
		}
		if v.External.Chosen() {
			chosen[v1.NodeAddress{Type: v1.NodeExternalIP, Address: v.Address.String()}]++
		}
		known := v.Assumed && (in.Provided != "" || v.Static)
		for _, nic := range in.NICs {
			known = known || !v.Assumed && nic.Network == v.Network && nic.DeviceConfigID == v.Device &&
				slices.Contains(unmapped(nic.Addresses), v.Address)
		}
		if !known {
			t.Errorf("a result on what is not there: %v", v)
		}
	}
	for _, nic := range in.NICs {
		for _, a := range nic.Addresses {
			if !slices.ContainsFunc(got.Results, func(v Result) bool { return v.Address == a.Unmap() && v.Network == nic.Network }) {
				t.Errorf("no result on %v", a)
			}
		}
	}
	if err != nil {
		return
	}
	for _, a := range got.Addresses {
		if a.Type != v1.NodeHostName {
			chosen[a]--
		}
	}
	for a, n := range chosen {
		if n != 0 {
			t.Errorf("%v is chosen by result and address %d times more than the other way round", a, n)
		}
	}
}

// pool contains the addresses of generated VMs. They are few, so that rules interact.
var pool = []netip.Addr{
	netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2"),
	netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:10.0.0.3"), netip.MustParseAddr("169.254.0.1"), netip.MustParseAddr("127.0.0.1"),
	netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), netip.MustParseAddr("fd01::1"), netip.MustParseAddr("2001:db8::1"),
	netip.MustParseAddr("fe80::1"), netip.MustParseAddr("::1"), netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("ff02::1"),
}

// generated builds an input from bytes, followed by zeros.
func generated(data []byte) Input {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b) % n
	}
	some := func(most int) (out []netip.Addr) {
		for range next(most + 1) {
			out = append(out, pool[next(len(pool))])
		}
		return out
	}
	networks := []string{"", "blue", "Red", "red", "green", "storage-1"}
	in := Input{
		VM:       inventory.VM{HostName: []string{"node-1", ""}[next(2)]},
		Families: [][]string{{"ipv4"}, {"ipv6"}, {"ipv4", "ipv6"}, {"ipv6", "ipv4"}}[next(4)],
		Rules:    &config.AddressRules{},
	}
	subnets := func() (out []netip.Prefix) {
		for range next(3) {
			out = append(out, netip.MustParsePrefix([]string{"10.0.0.0/16", "10.1.0.0/16", "10.0.0.0/8", "192.0.2.0/24", "10.0.0.1/32", "fd00::/64", "fd00::/8", "::/0"}[next(8)]))
		}
		return out
	}
	r := in.Rules
	r.InternalSubnets, r.ExternalSubnets, r.ExcludeInternalSubnets, r.ExcludeExternalSubnets = subnets(), subnets(), subnets(), subnets()
	r.InternalNetwork, r.ExternalNetwork = networks[next(len(networks))], networks[next(len(networks))]
	r.Networks = [][]string{nil, nil, {"*e*"}, {"red", "green"}}[next(4)]
	r.ExcludeNetworks = [][]string{nil, nil, {"storage-*"}, {"red"}}[next(4)]
	in.Provided = []string{"", "", "10.0.0.1", "fd00::1", "10.0.0.1,fd00::1", "fd00::2,10.1.0.1", "10.9.9.9", "127.0.0.1", "x", "10.0.0.1,10.0.0.2", "0.0.0.0", "fe80::1%a"}[next(12)]
	in.Static = some(3)
	for i := range next(5) {
		nic := inventory.NIC{Network: networks[next(len(networks))], DeviceConfigID: []int32{-1, 4000, 4001, 4000 + int32(i)}[next(4)], MAC: fmt.Sprint(next(3))}
		nic.Addresses = some(5)
		for _, a := range nic.Addresses {
			switch next(6) {
			case 4:
				nic.Secondary = append(nic.Secondary, a)
			case 5:
				nic.Unusable = append(nic.Unusable, a)
			}
		}
		in.NICs = append(in.NICs, nic)
	}
	for range next(5) {
		kind := []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP}[next(2)]
		in.Current = append(in.Current, v1.NodeAddress{Type: kind, Address: pool[next(len(pool))].Unmap().String()})
	}
	for _, a := range some(3) {
		if in.Claims == nil {
			in.Claims = map[netip.Addr]Claim{}
		}
		in.Claims[a.Unmap()] = Claim{Node: "other", Void: next(2) == 1}
	}
	names := []string{"", "localhost", "10.0.0.1", "own", "..."}
	if had := names[next(len(names))]; had != "" {
		in.Current = append(in.Current, v1.NodeAddress{Type: v1.NodeHostName, Address: had})
	}
	in.OwnNames = []string{names[next(len(names))], names[next(len(names))]}
	return in
}

// FuzzSelect checks that Select does not panic, agrees with the oracle, and keeps a Node's addresses.
func FuzzSelect(f *testing.F) {
	for seed := range 300 {
		data := make([]byte, 120)
		_, _ = rand.New(rand.NewSource(int64(seed))).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { invariants(t, generated(data)) })
}

// TestSelectChangesNothing: the input belongs to a snapshot.
func TestSelectChangesNothing(t *testing.T) {
	for seed := range 200 {
		data := make([]byte, 120)
		_, _ = rand.New(rand.NewSource(int64(seed))).Read(data)
		in, same := generated(data), generated(data)
		_, _ = Select(in)
		if diff := cmp.Diff(same, in, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
			t.Fatal(diff)
		}
	}
}
