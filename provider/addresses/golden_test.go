package addresses

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/test/fixture"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

var update = flag.Bool("update", false, "write what Select says into the golden files")

// TestGolden selects the addresses of the VMs in testdata. Each file is a txtar archive about a topic:
//
//	-- case NAME --  the purpose; the next sections belong to the case
//	-- vm --  "nic KEY NETWORK: ADDRESS …", one per line, in Tools' order; a
//	               ~ behind an address makes it secondary, a ! unusable;
//	               "static ADDRESS …", "hostname NAME", "own NAME …" for
//	               Input.OwnNames, "has TYPE=ADDRESS …" for an
//	               initialized Node, "claim ADDRESS NODE" for another Node's
//	               claim, with "void" behind it if its VM lacks the address
//	-- rules --    "KEY VALUE" of config.AddressRules, "families" and
//	               "node-ip"; lists are comma-separated
//	-- want --     the Node's addresses or the error, then the results
func TestGolden(t *testing.T) {
	fixture.EachCase(t, "testdata/*.txtar", 159, *update, func(t *testing.T, c fixture.Case) {
		in := readGolden(t, c)
		got := rendered(Select(in))
		want := &c.Sections[len(c.Sections)-1]
		if *update {
			want.Data = []byte(got)
			return
		}
		if d := cmp.Diff(string(want.Data), got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		invariants(t, in)
	})
}

func readGolden(t testing.TB, c fixture.Case) Input {
	t.Helper()
	in := Input{VM: inventory.VM{Ref: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}, InventoryPath: "/dc1/vm/node-1"}, Rules: &config.AddressRules{}, Families: []string{"ipv4"}}
	var names []string
	for _, f := range c.Sections {
		names = append(names, f.Name)
		for line := range strings.Lines(string(f.Data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch f.Name {
			case "vm":
				readVM(t, &in, key, value)
			case "rules":
				readRule(t, &in, key, value)
			}
		}
	}
	if want := []string{"vm", "rules", "want"}; !slices.Equal(names, want) {
		t.Fatalf("has %q, want %q", names, want)
	}
	return in
}

func readVM(t testing.TB, in *Input, key, value string) {
	t.Helper()
	switch key {
	case "hostname":
		in.HostName = value
	case "own":
		in.OwnNames = strings.Fields(value)
	case "static":
		for a := range strings.FieldsSeq(value) {
			in.Static = append(in.Static, netip.MustParseAddr(a))
		}
	case "has":
		for s := range strings.FieldsSeq(value) {
			kind, a, _ := strings.Cut(s, "=")
			in.Current = append(in.Current, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: a})
		}
	case "claim":
		words := strings.Fields(value)
		if in.Claims == nil {
			in.Claims = map[netip.Addr]Claim{}
		}
		in.Claims[netip.MustParseAddr(words[0])] = Claim{Node: words[1], Void: len(words) > 2, Why: "its VM reports it"}
	case "nic":
		head, list, ok := strings.Cut(value, ": ")
		device, network, ok2 := strings.Cut(strings.TrimSuffix(head, ":"), " ")
		number, err := strconv.Atoi(device)
		if err != nil || !ok2 || !ok && list != "" {
			t.Fatalf("no interface: %q", value)
		}
		nic := inventory.NIC{DeviceConfigID: int32(number), Network: network}
		for s := range strings.FieldsSeq(list) {
			a := netip.MustParseAddr(strings.TrimRight(s, "~!"))
			nic.Addresses = append(nic.Addresses, a)
			if strings.HasSuffix(s, "~") {
				nic.Secondary = append(nic.Secondary, a)
			}
			if strings.HasSuffix(s, "!") {
				nic.Unusable = append(nic.Unusable, a)
			}
		}
		in.NICs = append(in.NICs, nic)
	default:
		t.Fatalf("unknown line %q of a VM", key)
	}
}

func readRule(t testing.TB, in *Input, key, value string) {
	t.Helper()
	elements := strings.Split(value, ",")
	prefixes := func() (out []netip.Prefix) {
		for _, p := range elements {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	r := in.Rules
	switch key {
	case "families":
		in.Families = elements
	case "node-ip":
		in.Provided = value
	case "internal-subnets":
		r.InternalSubnets = prefixes()
	case "external-subnets":
		r.ExternalSubnets = prefixes()
	case "exclude-internal":
		r.ExcludeInternalSubnets = prefixes()
	case "exclude-external":
		r.ExcludeExternalSubnets = prefixes()
	case "internal-network":
		r.InternalNetwork = value
	case "external-network":
		r.ExternalNetwork = value
	case "networks":
		r.Networks = elements
	case "exclude-networks":
		r.ExcludeNetworks = elements
	default:
		t.Fatalf("unknown rule %q", key)
	}
}

func rendered(s Selection, err error) string {
	var b strings.Builder
	switch {
	case err == nil:
		for _, a := range s.Addresses {
			fmt.Fprintf(&b, "%s %s\n", a.Type, a.Address)
		}
	case errors.Is(err, ErrNone):
		fmt.Fprintf(&b, "error: %v\n", err)
	default:
		fmt.Fprintf(&b, "error that is not ErrNone: %v\n", err)
	}
	if s.OmittedErr != nil {
		fmt.Fprintf(&b, "left out: %v\n", s.OmittedErr)
	}
	if len(s.UnreportedFamilies) > 0 {
		fmt.Fprintf(&b, "unreported: %s\n", strings.Join(s.UnreportedFamilies, ", "))
	}
	b.WriteString("\n")
	for _, v := range s.Results {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

// TestWhatIsNotKnownDecidesNothing: an ignored report has the same result as none, except for the text of the error.
func TestWhatIsNotKnownDecidesNothing(t *testing.T) {
	rejected := errors.New("too many of them")
	nics := []inventory.NIC{{Network: "n", DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}}
	input := func() Input {
		return Input{VM: inventory.VM{NICs: nics}, Rules: &config.AddressRules{}, Families: []string{"ipv4"}}
	}
	in := input()
	if got, err := Select(in); err != nil || len(got.Addresses) == 0 {
		t.Fatalf("Select with a usable report: addresses %v, error %v, want some addresses", got.Addresses, err)
	}
	in = input()
	in.NICs = nil
	in.NICsError = rejected
	if got, err := Select(in); !errors.Is(err, ErrNone) || !errors.Is(err, rejected) || got.Addresses != nil || len(got.UnreportedFamilies) != 1 {
		t.Errorf("Select with a refused report: addresses %v, unreported %v, error %v, want one unreported family and the errors %q and %q", got.Addresses, got.UnreportedFamilies, err, ErrNone, rejected)
	}
	in.Provided = "10.0.0.9"
	if got, err := Select(in); err != nil || !slices.Contains(got.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.9"}) {
		t.Errorf("Select with a refused report and --node-ip %s: addresses %v, error %v, want that address", in.Provided, got.Addresses, err)
	}
}

// TestAddressWithoutAnInterface is the last resort of an uninitialized Node, unless networks are configured.
func TestAddressWithoutAnInterface(t *testing.T) {
	m := inventory.VM{GuestAddress: netip.MustParseAddr("10.0.0.1")}
	const provided = "alpha.kubernetes.io/provided-node-ip"
	waits := func() *v1.Node {
		return &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: v1.TaintEffectNoSchedule}}}}
	}
	withIP, runs := waits(), waits()
	withIP.Annotations = map[string]string{provided: "10.0.0.9"}
	runs.Spec.Taints = nil
	runs.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.2"}}
	for name, c := range map[string]struct {
		node       *v1.Node
		rules      config.AddressRules
		want, fail string
	}{
		"waits":            {waits(), config.AddressRules{}, "10.0.0.1", ""},
		"in a subnet":      {waits(), config.AddressRules{ExternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, "10.0.0.1", ""},
		"excluded":         {waits(), config.AddressRules{ExcludeInternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, ExcludeExternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, "", "excluded"},
		"a network":        {waits(), config.AddressRules{InternalNetwork: "red"}, "", "its network is unknown"},
		"a network is out": {waits(), config.AddressRules{ExcludeNetworks: []string{"red"}}, "", "its network is unknown"},
		"--node-ip":        {withIP, config.AddressRules{}, "10.0.0.9", ""},
		"runs":             {runs, config.AddressRules{}, "", "no ipv4 address"},
	} {
		got, err := Select(NewInput(&m, c.node, &c.rules, []string{"ipv4"}))
		has := slices.ContainsFunc(got.Addresses, func(a v1.NodeAddress) bool { return a.Address == c.want })
		if has != (c.fail == "") || (err == nil) != has || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: Select: addresses %v, error %v, want the address %q or an error with %q", name, got.Addresses, err, c.want, c.fail)
		}
	}
	if backing, _ := BackingOf(&m, m.GuestAddress); backing != Backed {
		t.Errorf("another Node's claim to it: %v", backing)
	}
}

func TestBackingOfWhatIsNotKnown(t *testing.T) {
	a := netip.MustParseAddr("10.0.0.1")
	others := []inventory.NIC{{DeviceConfigID: 4000, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.2")}}}
	for name, c := range map[string]struct {
		m    inventory.VM
		want Backing
	}{
		"all is known":                 {inventory.VM{NICs: others}, Unbacked},
		"a part of the report":         {inventory.VM{NICs: others, Partial: true}, Unclear},
		"a part, of a VM that is off":  {inventory.VM{NICs: others, Partial: true, Power: inventory.PowerOff}, Unbacked},
		"a report that does not count": {inventory.VM{NICsError: errors.New("x")}, Unclear},
	} {
		if got, why := BackingOf(&c.m, a); got != c.want || !strings.HasPrefix(why, "its VM") {
			t.Errorf("%s: Back(%s) = %d, %q, want %d and a text about \"its VM\"", name, a, got, why, c.want)
		}
	}
}

// TestUnchanged: package provider tests the same with the framework's own controller.
func TestUnchanged(t *testing.T) {
	host := v1.NodeAddress{Type: v1.NodeHostName, Address: "node-1"}
	in := func(a string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: a} }
	ex := func(a string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeExternalIP, Address: a} }
	type list = []v1.NodeAddress
	for _, c := range []struct {
		name     string
		has      list
		provided string // "" for no annotation
		chosen   list
		want     bool
	}{
		{"the same", list{host, in("10.0.0.1"), ex("10.0.0.1")}, "", list{host, in("10.0.0.1"), ex("10.0.0.1")}, true},
		{"the types in another order", list{in("10.0.0.1"), host, ex("10.0.0.1")}, "", list{host, in("10.0.0.1"), ex("10.0.0.1")}, true},
		{"another address", list{host, in("10.0.0.1")}, "", list{host, in("10.0.0.2")}, false},
		{"one more", list{host, in("10.0.0.1")}, "", list{host, in("10.0.0.1"), in("fd00::1")}, false},
		{"one fewer", list{host, in("10.0.0.1"), ex("10.0.0.1")}, "", list{host, in("10.0.0.1")}, false},
		{"the families in another order", list{in("10.0.0.1"), in("fd00::1")}, "", list{in("fd00::1"), in("10.0.0.1")}, false},
		{"the Node's own host name", list{host, in("10.0.0.1")}, "", list{in("10.0.0.1")}, true},
		{"another host name", list{host, in("10.0.0.1")}, "", list{{Type: v1.NodeHostName, Address: "x"}, in("10.0.0.1")}, false},
		{"the kubelet's alone remains", list{in("10.0.0.1"), host}, "10.0.0.1", list{host, in("10.0.0.1"), in("fd00::1")}, true},
		{"the kubelet's is refused", list{in("10.0.0.1"), host}, "10.0.0.9", list{host, in("10.0.0.1")}, false},
		{"nothing there yet", nil, "", list{host, in("10.0.0.1")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &v1.Node{Status: v1.NodeStatus{Addresses: c.has}}
			if c.provided != "" {
				n.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: c.provided}
			}
			if got := Unchanged(n, c.chosen); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
