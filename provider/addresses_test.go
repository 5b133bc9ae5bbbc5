package provider

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// nics reads "network@key=address,address; …"; without a key it is 4000.
func nics(s string) []inventory.NIC {
	var out []inventory.NIC
	for one := range strings.SplitSeq(s, ";") {
		name, list, _ := strings.Cut(strings.TrimSpace(one), "=")
		nic := inventory.NIC{Network: name, DeviceConfigID: 4000}
		if network, ok := strings.CutSuffix(name, "@-1"); ok {
			nic = inventory.NIC{Network: network, DeviceConfigID: -1}
		}
		for a := range strings.SplitSeq(list, ",") {
			if a != "" {
				nic.Addresses = append(nic.Addresses, netip.MustParseAddr(a))
			}
		}
		out = append(out, nic)
	}
	return out
}

func cidrs(s ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range s {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

var (
	v4   = []string{"ipv4"}
	v6   = []string{"ipv6"}
	v4v6 = []string{"ipv4", "ipv6"}
	v6v4 = []string{"ipv6", "ipv4"}
)

// TestAddresses: want is "in" for the internal and "ex" for the external IP.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name     string
		nics     string
		rules    config.AddressRules
		families []string
		want     string // "no address" for errNoAddress
	}{
		{"the first address is both", "a=10.0.0.1,10.0.0.2; b=10.0.0.3", config.AddressRules{}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"the first of its family", "a=fd00::1,10.0.0.1", config.AddressRules{}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"IPv6 only", "a=10.0.0.1,fd00::1", config.AddressRules{}, v6, "in fd00::1 ex fd00::1"},
		{"both families", "a=fd00::1,10.0.0.1", config.AddressRules{}, v4v6, "in 10.0.0.1 ex 10.0.0.1 in fd00::1 ex fd00::1"},
		{"both families, the other order", "a=10.0.0.1,fd00::1", config.AddressRules{}, v6v4, "in fd00::1 ex fd00::1 in 10.0.0.1 ex 10.0.0.1"},
		{"a family is missing", "a=10.0.0.1", config.AddressRules{}, v4v6, "no address"},
		{"the only family is missing", "a=10.0.0.1", config.AddressRules{}, v6, "no address"},
		{"no NIC", "", config.AddressRules{}, v4, "no address"},
		{"a NIC without address", "a=; b=10.0.0.2", config.AddressRules{}, v4, "in 10.0.0.2 ex 10.0.0.2"},

		{"the guest's own interfaces", "docker0@-1=172.17.0.1; a=10.0.0.1", config.AddressRules{}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"nothing but the guest's own interfaces", "docker0@-1=172.17.0.1", config.AddressRules{}, v4, "no address"},
		{"the guest's own interface in the subnet", "cni@-1=10.1.0.1; a=10.0.0.1", config.AddressRules{InternalSubnets: cidrs("10.1.0.0/16")}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"loopback", "a=127.0.0.1,::1,10.0.0.1,fd00::1", config.AddressRules{}, v4v6, "in 10.0.0.1 ex 10.0.0.1 in fd00::1 ex fd00::1"},
		{"link-local", "a=169.254.1.1,fe80::1,10.0.0.1,fd00::1", config.AddressRules{}, v4v6, "in 10.0.0.1 ex 10.0.0.1 in fd00::1 ex fd00::1"},
		{"unspecified", "a=0.0.0.0,::,10.0.0.1,fd00::1", config.AddressRules{}, v4v6, "in 10.0.0.1 ex 10.0.0.1 in fd00::1 ex fd00::1"},
		{"multicast", "a=224.0.0.1,ff02::1,10.0.0.1,fd00::1", config.AddressRules{}, v4v6, "in 10.0.0.1 ex 10.0.0.1 in fd00::1 ex fd00::1"},
		{"nothing but link-local", "a=fe80::1,169.254.1.1", config.AddressRules{}, v4, "no address"},
		{"IPv4-mapped is IPv4", "a=::ffff:10.0.0.1", config.AddressRules{}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"IPv4-mapped is not IPv6", "a=::ffff:10.0.0.1", config.AddressRules{}, v6, "no address"},
		{"IPv4-mapped in a subnet", "a=10.0.0.1,::ffff:10.1.0.1", config.AddressRules{InternalSubnets: cidrs("10.1.0.0/16")}, v4, "in 10.1.0.1"},
		{"IPv4-mapped and of no use", "a=::ffff:127.0.0.1,::ffff:169.254.0.1,::ffff:0.0.0.0,::ffff:224.0.0.1,10.0.0.1", config.AddressRules{}, v4, "in 10.0.0.1 ex 10.0.0.1"},

		{"subnets", "a=10.0.0.1; b=192.0.2.1", config.AddressRules{InternalSubnets: cidrs("192.0.2.0/24"), ExternalSubnets: cidrs("10.0.0.0/8")}, v4, "in 192.0.2.1 ex 10.0.0.1"},
		{"one subnet for both", "a=192.0.2.1; b=10.0.0.1", config.AddressRules{InternalSubnets: cidrs("10.0.0.0/8"), ExternalSubnets: cidrs("10.0.0.0/8")}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"the order of the subnets decides", "a=10.0.0.1,10.1.0.1,10.2.0.1", config.AddressRules{InternalSubnets: cidrs("10.9.0.0/16", "10.2.0.0/16", "10.0.0.0/8")}, v4, "in 10.2.0.1"},
		{"the order of the addresses decides within one", "a=10.0.0.2,10.0.0.1", config.AddressRules{InternalSubnets: cidrs("10.0.0.0/8")}, v4, "in 10.0.0.2"},
		{"only the external subnet matches", "a=10.0.0.1,192.0.2.1", config.AddressRules{InternalSubnets: cidrs("172.16.0.0/12"), ExternalSubnets: cidrs("192.0.2.0/24")}, v4, "ex 192.0.2.1"},
		{"no subnet matches", "a=10.0.0.1,10.0.0.2", config.AddressRules{InternalSubnets: cidrs("172.16.0.0/12"), ExternalSubnets: cidrs("192.0.2.0/24")}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"subnets of both families", "a=10.0.0.1,10.1.0.1,fd00::1,fd01::1", config.AddressRules{InternalSubnets: cidrs("10.1.0.0/16", "fd01::/64"), ExternalSubnets: cidrs("10.0.0.0/16", "fd00::/64")}, v4v6, "in 10.1.0.1 ex 10.0.0.1 in fd01::1 ex fd00::1"},
		{"subnets of one family", "a=10.0.0.1,10.1.0.1,fd00::1", config.AddressRules{InternalSubnets: cidrs("10.1.0.0/16")}, v4v6, "in 10.1.0.1 in fd00::1 ex fd00::1"},

		{"networks", "blue=10.0.0.1; red=10.0.0.2", config.AddressRules{InternalNetwork: "red", ExternalNetwork: "blue"}, v4, "in 10.0.0.2 ex 10.0.0.1"},
		{"networks, whatever their case", "VM Network=10.0.0.1; DMZ=10.0.0.2", config.AddressRules{InternalNetwork: "dmz", ExternalNetwork: "vm network"}, v4, "in 10.0.0.2 ex 10.0.0.1"},
		{"one network configured", "blue=10.0.0.1; red=10.0.0.2", config.AddressRules{InternalNetwork: "red"}, v4, "in 10.0.0.2"},
		{"one network configured and absent", "blue=10.0.0.1", config.AddressRules{InternalNetwork: "red"}, v4, "in 10.0.0.1 ex 10.0.0.1"},
		{"both networks configured, on one", "blue=10.0.0.1; red=10.0.0.2", config.AddressRules{InternalNetwork: "red", ExternalNetwork: "green"}, v4, "in 10.0.0.2"},
		{"both networks configured, on neither", "blue=10.0.0.1", config.AddressRules{InternalNetwork: "red", ExternalNetwork: "green"}, v4, "no address"},
		{"both networks configured, only the guest's own on one", "red@-1=10.0.0.1; blue=10.0.0.2", config.AddressRules{InternalNetwork: "red", ExternalNetwork: "green"}, v4, "no address"},
		{"a network without address of the family", "blue=10.0.0.1; red=fd00::2", config.AddressRules{InternalNetwork: "red", ExternalNetwork: "blue"}, v4, "ex 10.0.0.1"},
		{"an unnamed network is not an unconfigured one", "=10.0.0.1; blue=10.0.0.2", config.AddressRules{InternalNetwork: "blue"}, v4, "in 10.0.0.2"},
		{"subnet before network", "red=10.0.0.1; blue=10.1.0.1", config.AddressRules{InternalNetwork: "red", InternalSubnets: cidrs("10.1.0.0/16")}, v4, "in 10.1.0.1"},
		{"network where no subnet matches", "blue=10.0.0.1; red=10.0.0.2", config.AddressRules{InternalNetwork: "red", InternalSubnets: cidrs("10.1.0.0/16")}, v4, "in 10.0.0.2"},

		{"excluded", "a=10.0.0.1,10.1.0.1", config.AddressRules{ExcludeInternalSubnets: cidrs("10.0.0.0/16"), ExcludeExternalSubnets: cidrs("10.0.0.0/16")}, v4, "in 10.1.0.1 ex 10.1.0.1"},
		{"excluded internally only", "a=10.0.0.1,10.1.0.1", config.AddressRules{ExcludeInternalSubnets: cidrs("10.0.0.0/16")}, v4, "in 10.1.0.1 ex 10.0.0.1"},
		{"excluded externally only", "a=10.0.0.1,10.1.0.1", config.AddressRules{ExcludeExternalSubnets: cidrs("10.0.0.0/16")}, v4, "in 10.0.0.1 ex 10.1.0.1"},
		{"all excluded", "a=10.0.0.1", config.AddressRules{ExcludeInternalSubnets: cidrs("10.0.0.0/8"), ExcludeExternalSubnets: cidrs("10.0.0.0/8")}, v4, "no address"},
		{"all excluded internally", "a=10.0.0.1", config.AddressRules{ExcludeInternalSubnets: cidrs("10.0.0.0/8")}, v4, "ex 10.0.0.1"},
		{"excluded in the subnet", "a=10.0.0.1,10.0.1.1", config.AddressRules{InternalSubnets: cidrs("10.0.0.0/16"), ExcludeInternalSubnets: cidrs("10.0.0.1/32", "192.0.2.0/24")}, v4, "in 10.0.1.1"},
		{"excluded on the network", "red=10.0.0.1,10.1.0.1", config.AddressRules{InternalNetwork: "red", ExcludeInternalSubnets: cidrs("10.0.0.0/16")}, v4, "in 10.1.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := addresses(machine(uuidA, func(m *inventory.Machine) { m.NICs = nics(c.nics) }), &c.rules, c.families)
			if c.want == "no address" {
				if got != nil || !errors.Is(err, errNoAddress) {
					t.Fatalf("%v, %v, want errNoAddress", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []v1.NodeAddress{{Type: v1.NodeHostName, Address: "node-1"}}
			fields := strings.Fields(c.want)
			for i := 0; i < len(fields); i += 2 {
				kind := map[string]v1.NodeAddressType{"in": v1.NodeInternalIP, "ex": v1.NodeExternalIP}[fields[i]]
				want = append(want, v1.NodeAddress{Type: kind, Address: fields[i+1]})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAddressesWithoutHostName: the framework keeps kubelet's then.
func TestAddressesWithoutHostName(t *testing.T) {
	m := machine(uuidA, func(m *inventory.Machine) { m.HostName = "" })
	got, err := addresses(m, &config.AddressRules{}, v4)
	want := []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeExternalIP, Address: "10.0.0.1"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestNoAddressSaysWhatIsMissing: an Event shows the error.
func TestNoAddressSaysWhatIsMissing(t *testing.T) {
	m := machine(uuidA, func(m *inventory.Machine) { m.NICs = nics("blue=10.0.0.1") })
	_, err := addresses(m, &config.AddressRules{}, v4v6)
	if err == nil || !strings.Contains(err.Error(), "/dc1/vm/node-1") || !strings.Contains(err.Error(), "ipv6") {
		t.Errorf("family missing: %v", err)
	}
	_, err = addresses(m, &config.AddressRules{InternalNetwork: "red", ExternalNetwork: "green"}, v4)
	if err == nil || !strings.Contains(err.Error(), `"blue"`) || !strings.Contains(err.Error(), `"red"`) || !strings.Contains(err.Error(), `"green"`) {
		t.Errorf("networks missing: %v", err)
	}
}
