package addresses

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// TestWhatIsNotKnownDecidesNothing: a report that does not count is as none, but for what the error says.
func TestWhatIsNotKnownDecidesNothing(t *testing.T) {
	refused := errors.New("too many of them")
	nics := []inventory.NIC{{Network: "n", DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}}
	input := func() Input {
		return Input{Machine: inventory.Machine{NICs: nics}, Rules: &config.AddressRules{}, Families: []string{"ipv4"}}
	}
	in := input()
	if got, err := Select(in); err != nil || len(got.Addresses) == 0 {
		t.Fatalf("%v, %v", got, err)
	}
	in = input()
	in.NICs, in.Refused = nil, refused
	if got, err := Select(in); !errors.Is(err, ErrNone) || !errors.Is(err, refused) || got.Addresses != nil || len(got.Unreported) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	in.Provided = "10.0.0.9"
	if got, err := Select(in); err != nil || !slices.Contains(got.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.9"}) {
		t.Errorf("a report that does not count keeps --node-ip from being taken: %v, %v", got.Addresses, err)
	}
}

// TestAddressWithoutAnInterface is the last resort of a Node that waits, unless networks decide.
func TestAddressWithoutAnInterface(t *testing.T) {
	m := inventory.Machine{GuestAddress: netip.MustParseAddr("10.0.0.1")}
	const provided = "alpha.kubernetes.io/provided-node-ip"
	waits := func() *v1.Node {
		return &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: v1.TaintEffectNoSchedule}}}}
	}
	withIP, runs := waits(), waits()
	withIP.Annotations = map[string]string{provided: "10.0.0.9"}
	runs.Spec.Taints, runs.Status.Addresses = nil, []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.2"}}
	for name, c := range map[string]struct {
		node       *v1.Node
		rules      config.AddressRules
		want, fail string
	}{
		"waits":            {waits(), config.AddressRules{}, "10.0.0.1", ""},
		"in a subnet":      {waits(), config.AddressRules{ExternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, "10.0.0.1", ""},
		"excluded":         {waits(), config.AddressRules{ExcludeInternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, ExcludeExternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, "", "excluded"},
		"a network":        {waits(), config.AddressRules{InternalNetwork: "red"}, "", "its network is not known"},
		"a network is out": {waits(), config.AddressRules{ExcludeNetworks: []string{"red"}}, "", "its network is not known"},
		"--node-ip":        {withIP, config.AddressRules{}, "10.0.0.9", ""},
		"runs":             {runs, config.AddressRules{}, "", "no ipv4 address"},
	} {
		got, err := Select(For(&m, c.node, &c.rules, []string{"ipv4"}))
		has := slices.ContainsFunc(got.Addresses, func(a v1.NodeAddress) bool { return a.Address == c.want })
		if has != (c.fail == "") || (err == nil) != has || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %v, %v", name, got.Addresses, err)
		}
	}
	if backing, _ := Back(&m, m.GuestAddress); backing != Backed {
		t.Errorf("another Node's claim to it: %v", backing)
	}
}

// TestBackingOfWhatIsNotKnown is unclear.
func TestBackingOfWhatIsNotKnown(t *testing.T) {
	a := netip.MustParseAddr("10.0.0.1")
	others := []inventory.NIC{{DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.2")}}}
	for name, c := range map[string]struct {
		m    inventory.Machine
		want Backing
	}{
		"all is known":                     {inventory.Machine{NICs: others}, Unbacked},
		"a part of the report":             {inventory.Machine{NICs: others, Partial: true}, Unclear},
		"a part, of a machine that is off": {inventory.Machine{NICs: others, Partial: true, Power: inventory.PowerOff}, Unbacked},
		"a report that does not count":     {inventory.Machine{Refused: errors.New("x")}, Unclear},
	} {
		if got, why := Back(&c.m, a); got != c.want || !strings.HasPrefix(why, "its machine") {
			t.Errorf("%s: %d, %q", name, got, why)
		}
	}
}
