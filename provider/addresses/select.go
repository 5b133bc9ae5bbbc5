package addresses

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// ErrNone says that the machine has no address that the Node may have, or not the one
// that its kubelet was given.
var ErrNone = errors.New("no address")

// ErrClaimed says that another Node of the cluster claims the address that the Node
// would get. It comes with ErrNone.
var ErrClaimed = errors.New("address of another Node")

var errPending = errors.New("its guestinfo.metadata has changed and is not read yet")

// Input is all that the choice depends on.
type Input struct {
	// Machine names the machine in errors.
	Machine  string
	HostName string
	// NICs and Static are those of inventory.Machine.
	NICs   []inventory.NIC
	Static []netip.Addr
	// Refused and Pending are those of inventory.Machine too: NICs and Static are not
	// known then.
	Refused error
	Pending bool
	Rules   *config.AddressRules
	// Families are "ipv4", "ipv6" or both, each once, the preferred one first.
	Families []string
	// Provided is what the kubelet was given as --node-ip, as it stands in its
	// annotation: an address, two of different families between a comma, or
	// nothing.
	Provided string
	// Has are the addresses that the Node was initialized with, in their order; none
	// while it waits.
	Has []v1.NodeAddress
	// Claims are the claims of other Nodes to addresses of the machine, and to those
	// in Provided.
	Claims map[netip.Addr]Claim
}

// Selection is what was chosen, and why.
type Selection struct {
	// Addresses are those of the Node: the host name, if the guest has one, and
	// an internal and an external IP for each family in order, of which one may
	// be missing. There are none if Select has returned an error.
	Addresses []v1.NodeAddress
	// Verdicts are on all addresses, those that do not count included, in the
	// order in which they come into question.
	Verdicts []Verdict
	// Unreported are the families of which VMware Tools report no address, as
	// they do while the machine starts or where they are missing.
	Unreported []string
}

// For returns the input for a machine and its Node, which may be nil.
func For(m *inventory.Machine, node *v1.Node, rules *config.AddressRules, families []string) Input {
	in := Input{
		Machine:  fmt.Sprintf("vCenter %q %s", m.Ref.VCenter, quote.Name(m.InventoryPath)),
		HostName: m.HostName,
		NICs:     m.NICs,
		Static:   m.Static,
		Refused:  m.Refused,
		Pending:  m.Pending,
		Rules:    rules,
		Families: families,
	}
	if node != nil {
		in.Provided = node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
		in.Has = had(node)
	}
	return in
}

// Select chooses a Node's addresses. An error is ErrNone and says what is
// missing; the verdicts are there then too, as far as it came. While metadata is not
// read nothing is chosen, since it might decide.
func Select(in Input) (Selection, error) {
	var out Selection
	if in.HostName != "" {
		out.Addresses = append(out.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: in.HostName})
	}
	provided, err := parseProvided(in.Provided, in.Families)
	out.Verdicts = list(&in)
	for _, family := range in.Families {
		if !slices.ContainsFunc(out.Verdicts, func(v Verdict) bool { return familyOf(v.Address) == family && v.reported() }) {
			out.Unreported = append(out.Unreported, family)
			if p, ok := provided[family]; ok {
				v := Verdict{Address: p, Assumed: true}
				v.dropBy(drop(p))
				out.Verdicts = append(out.Verdicts, v)
			}
		}
	}
	out.Verdicts = append(out.Verdicts, in.unreported(out.Verdicts)...)
	if err == nil && in.Pending {
		err = errPending
	}
	if err == nil {
		err = checkNetworks(in.NICs, in.Rules)
	}
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		switch claim, claimed := in.claim(v.Address); {
		case v.Internal.Rule != NotChosen:
		case !slices.Contains(in.Families, familyOf(v.Address)):
			v.dropBy(OtherFamily)
		case claimed && !claim.Void:
			v.dropBy(Claimed)
		}
	}
	for _, family := range in.Families {
		if err != nil {
			break
		}
		f := newChoice(&out, &in, family, provided[family])
		out.Addresses = append(out.Addresses, f.choose()...)
		err = f.check(in.Refused)
	}
	if err != nil {
		out.Addresses = nil
		return out, fmt.Errorf("%w: %s: %w", ErrNone, in.Machine, err)
	}
	return out, nil
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// parseProvided returns what the kubelet was given, by family. What the
// framework would refuse is an error.
func parseProvided(annotation string, families []string) (map[string]netip.Addr, error) {
	if annotation == "" {
		return nil, nil
	}
	provided := make(map[string]netip.Addr, 2)
	for part := range strings.SplitSeq(annotation, ",") {
		a, ok := parse(part)
		_, twice := provided[familyOf(a)]
		if !ok || twice {
			return nil, fmt.Errorf("the kubelet's --node-ip is %s, which is neither an address nor one of each family", quote.Value(annotation))
		}
		provided[familyOf(a)] = a
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if a, ok := provided[family]; ok && !slices.Contains(families, family) {
			return provided, fmt.Errorf("the kubelet's --node-ip is %s, and ipFamily does not have %s", a, family)
		}
	}
	return provided, nil
}

// checkNetworks refuses to fall back to just any address when network names are
// configured for both kinds and the machine is on neither network.
func checkNetworks(nics []inventory.NIC, rules *config.AddressRules) error {
	internal, external := rules.InternalNetwork, rules.ExternalNetwork
	if internal == "" || external == "" {
		return nil
	}
	var names []string
	for _, nic := range nics {
		if nic.DeviceConfigID == -1 || !rules.Considers(nic.Network) {
			continue
		}
		if strings.EqualFold(nic.Network, internal) || strings.EqualFold(nic.Network, external) {
			return nil
		}
		names = append(names, nic.Network)
	}
	if names == nil {
		return nil // no address is there to fall back to
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		names[i] = quote.Value(name)
	}
	return fmt.Errorf("the machine is on networks %s, neither on %q (internal) nor on %q (external)",
		quote.Some(names, quote.Most), internal, external)
}
