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

	"vzones/config"
	"vzones/test/golden"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

var update = flag.Bool("update", false, "write what Select says into the golden files")

// TestGolden selects the addresses of the machines in testdata, whose files are txtar archives
// of a topic:
//
//	-- case NAME --  what it shows; what follows is its:
//	-- machine --  "nic KEY NETWORK: ADDRESS …", one a line, in Tools' order; a
//	               ~ behind an address makes it secondary, a ! unusable;
//	               "static ADDRESS …", "hostname NAME", "has TYPE=ADDRESS …" of an
//	               initialized Node, "claim ADDRESS NODE" of another Node, with
//	               "void" behind it if its machine does not have the address
//	-- rules --    "KEY VALUE", those of config.AddressRules, "families" and
//	               "node-ip"; lists have their elements between commas
//	-- want --     the Node's addresses or the error, then the results
func TestGolden(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", 151, *update, func(t *testing.T, c golden.Case) {
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

func readGolden(t testing.TB, c golden.Case) Input {
	t.Helper()
	in := Input{Machine: inventory.Machine{Ref: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}, InventoryPath: "/dc1/vm/node-1"}, Rules: &config.AddressRules{}, Families: []string{"ipv4"}}
	var names []string
	for _, f := range c.Sections {
		names = append(names, f.Name)
		for line := range strings.Lines(string(f.Data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch f.Name {
			case "machine":
				readMachine(t, &in, key, value)
			case "rules":
				readRule(t, &in, key, value)
			}
		}
	}
	if want := []string{"machine", "rules", "want"}; !slices.Equal(names, want) {
		t.Fatalf("has %q, want %q", names, want)
	}
	return in
}

func readMachine(t testing.TB, in *Input, key, value string) {
	t.Helper()
	switch key {
	case "hostname":
		in.HostName = value
	case "static":
		for a := range strings.FieldsSeq(value) {
			in.Static = append(in.Static, netip.MustParseAddr(a))
		}
	case "has":
		for s := range strings.FieldsSeq(value) {
			kind, a, _ := strings.Cut(s, "=")
			in.Has = append(in.Has, v1.NodeAddress{Type: v1.NodeAddressType(kind), Address: a})
		}
	case "claim":
		words := strings.Fields(value)
		if in.Claims == nil {
			in.Claims = map[netip.Addr]Claim{}
		}
		in.Claims[netip.MustParseAddr(words[0])] = Claim{Node: words[1], Void: len(words) > 2, Why: "its machine reports it"}
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
		t.Fatalf("unknown line %q of a machine", key)
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
	if len(s.Unreported) > 0 {
		fmt.Fprintf(&b, "unreported: %s\n", strings.Join(s.Unreported, ", "))
	}
	b.WriteString("\n")
	for _, v := range s.Results {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}
