// Package addresses chooses the addresses of a Node from those of its machine.
//
// It owns the rules and their order: addresses that never count, the order of the others, the
// configuration, the kubelet's --node-ip, the addresses that the Node has, and the claims of other
// Nodes. It owns the rule for the host name too. It records, for each address, the rule that chose or dropped it; the choice follows from
// these records, so the two cannot differ. All functions are pure: they perform no I/O, keep nothing,
// and change neither Nodes nor their arguments. The order in which VMware Tools report decides only
// about addresses that the Node does not have yet.
package addresses

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Select chooses a Node's addresses. An error is ErrNone and says what is missing; the Selection then has
// the results so far.
func Select(in Input) (Selection, error) {
	var out Selection
	if name := in.hostName(); name != "" {
		out.Addresses = append(out.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	}
	provided, err := parseProvided(in.Provided, in.Families)
	out.Results = list(&in)
	for _, family := range in.Families {
		if !slices.ContainsFunc(out.Results, func(v Result) bool { return familyOf(v.Address) == family && v.reported() }) {
			out.Unreported = append(out.Unreported, family)
			if p, ok := provided[family]; ok {
				v := Result{Address: p, Assumed: true}
				v.dropBy(drop(p))
				out.Results = append(out.Results, v)
			}
		}
	}
	out.Results = append(out.Results, in.unreported(out.Results)...)
	if err == nil {
		err = checkNetworks(in.NICs, in.Rules)
	}
	for i := range out.Results {
		v := &out.Results[i]
		claim, claimed := in.claim(v.Address)
		switch {
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
		return out, topology.Errorf(ErrNone, "%s: %w", in.Ref.Located(in.InventoryPath), err)
	}
	out.leaveOut(&in, provided)
	return out, nil
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
			return nil, fmt.Errorf("the kubelet's --node-ip is %s, which is neither an address nor one of each family: correct it", quote.Value(annotation))
		}
		provided[familyOf(a)] = a
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if a, ok := provided[family]; ok && !slices.Contains(families, family) {
			return provided, fmt.Errorf("the kubelet's --node-ip is %s, and ipFamily does not have %s: add it there, or correct --node-ip", a, family)
		}
	}
	return provided, nil
}

// checkNetworks refuses to fall back to just any address when network names are
// configured for both kinds and the machine is on neither network.
func checkNetworks(nics []inventory.NIC, rules *config.AddressRules) error {
	internal := rules.InternalNetwork
	external := rules.ExternalNetwork
	if internal == "" || external == "" {
		return nil
	}
	var names []string
	for _, nic := range nics {
		if nic.DeviceConfigID == -1 || !rules.Considers(nic.Network) {
			continue
		}
		if config.IsNetwork(internal, nic.Network) || config.IsNetwork(external, nic.Network) {
			return nil
		}
		names = append(names, nic.Network)
	}
	if names == nil {
		// There is no address to fall back to.
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		names[i] = quote.Value(name)
	}
	return fmt.Errorf("the machine is on networks %s, neither on %q (internal) nor on %q (external): connect it to one, or correct the names in the configuration",
		quote.Some(names, quote.Most), internal, external)
}

// ErrNone says that the machine has no address that the Node may have, or not the one
// that its kubelet was given.
var ErrNone = errors.New("no address")

// ErrClaimed says that another Node of the cluster claims the address that the Node
// would get. It comes with ErrNone.
var ErrClaimed = errors.New("address of another Node")

// Input is all that the choice depends on.
type Input struct {
	// Machine is the VM as it was found. If its Refused is set, it has no NICs and its addresses are unknown.
	inventory.Machine
	Rules *config.AddressRules
	// Families are "ipv4", "ipv6" or both, each once, the preferred one first.
	Families []string
	// OwnNames are the Hostname that the Node has and the Node's name. The first valid one is its Hostname if
	// the guest reports none.
	OwnNames []string
	// Provided is what the kubelet was given as --node-ip, as it stands in its
	// annotation: an address, two of different families between a comma, or
	// nothing.
	Provided string
	// Has are the addresses that the Node was initialized with, in their order; none
	// while it waits.
	Has []v1.NodeAddress
	// Former are the addresses that the Node had before its machine stopped reporting them. They go back to
	// the Node once they are reported and no rule prefers another one.
	Former []v1.NodeAddress
	// Claims are the claims of other Nodes to addresses of the machine, and to those
	// in Provided.
	Claims map[netip.Addr]Claim
}

// Selection is what was chosen, and why.
type Selection struct {
	// Addresses are those of the Node: the host name, if there is a valid one, and
	// an internal and an external IP for each family in order, of which one may
	// be missing. There are none if Select has returned an error.
	Addresses []v1.NodeAddress
	// LeftOut reports the addresses that the rules choose and the Node does not get, because the framework leaves
	// them out: see leaveOut. It is nil if there are none.
	LeftOut error
	// Results are on all addresses, those that do not count included, in the
	// order in which they come into question.
	Results []Result
	// Unreported are the families of which VMware Tools report no address, as
	// they do while the machine starts or where they are missing.
	Unreported []string
}

// For returns the input for a machine and its Node, which may be nil. If VMware Tools report an
// address and no interface, a Node that waits and has no --node-ip may have that address.
func For(m *inventory.Machine, node *v1.Node, rules *config.AddressRules, families []string) Input {
	in := Input{Machine: *m, Rules: rules, Families: families}
	if node != nil {
		in.OwnNames = []string{hostNameIn(node.Status.Addresses), node.Name}
		in.Provided = node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
		if !nodeinfo.IsUninitialized(node) {
			in.Has = node.Status.Addresses
			in.Former = formerOf(node)
		}
	}
	switch {
	case !m.GuestAddress.IsValid():
	case rules.NameNetworks():
		in.Refused = fmt.Errorf("VMware Tools report the address %s and no interface, so its network is not known: restart them in the guest", m.GuestAddress)
	case in.Provided == "" && in.Has == nil:
		// The last resort of a Node that has no address yet.
		in.NICs = []inventory.NIC{{Addresses: []netip.Addr{m.GuestAddress}}}
	}
	return in
}

// list returns the machine's addresses in the order in which they come into
// question: configured ones first, in the order of the configuration; then in the
// order of the report, within an interface those that it is known by before the
// others. Addresses that do not count have their result already.
func list(in *Input) []Result {
	var all []Result
	for i := range in.NICs {
		nic := &in.NICs[i]
		rule := NotChosen
		switch {
		case nic.DeviceConfigID == -1:
			rule = GuestMade
		case !in.Rules.Considers(nic.Network):
			rule = LeftOut
		}
		for _, a := range in.addressesOf(nic) {
			v := Result{Address: a, Network: nic.Network, Device: nic.DeviceConfigID}
			v.dropBy(cmp.Or(rule, drop(a)))
			if v.Internal.Rule == NotChosen && has(nic.Unusable, a) {
				v.dropBy(Unusable)
			}
			all = append(all, v)
		}
	}
	for i := range all {
		v := &all[i]
		v.order = len(in.Static)
		if i := slices.IndexFunc(in.Static, func(s netip.Addr) bool { return s.Unmap() == v.Address }); i >= 0 {
			v.Static = true
			v.order = i
		}
	}
	if len(in.Static) > 0 {
		slices.SortStableFunc(all, func(a, b Result) int { return cmp.Compare(a.order, b.order) })
	}
	return all
}

func (v *Result) dropBy(r Rule) {
	v.Internal = Reason{Rule: r}
	v.External = Reason{Rule: r}
}

// addressesOf returns the addresses of an interface in order, each once. Those that
// another Node claims in vain come after the others too: they float.
func (in *Input) addressesOf(nic *inventory.NIC) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range nic.Addresses {
		a = a.Unmap()
		_, claimed := in.claim(a)
		switch {
		case !a.IsValid() || has(first, a) || has(second, a):
		case claimed || has(nic.Secondary, a):
			second = append(second, a)
		default:
			first = append(first, a)
		}
	}
	return append(first, second...)
}

func has(all []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(one netip.Addr) bool { return one.Unmap() == a })
}
