// Package addresses chooses the addresses and the host name of a Node from its VM. All its functions are pure.
//
// Three kinds of addresses are dropped: addresses that no Node may have, addresses that another Node claims,
// and addresses in excluded subnets. Of the rest, these decide in order: the configuration, --node-ip, the
// Node's current addresses, the VM's metadata, and the order in which VMware Tools report the addresses.
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

// Select chooses a Node's addresses. After an error, which wraps ErrNone, the Selection has the Results.
func Select(input Input) (Selection, error) {
	var out Selection
	if name := input.hostName(); name != "" {
		out.Addresses = append(out.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	}
	provided, err := parseProvided(input.Provided, input.Families)
	out.Results = listResults(&input)
	for _, family := range input.Families {
		if !slices.ContainsFunc(out.Results, func(v Result) bool { return familyOf(v.Address) == family && v.isReported() }) {
			out.UnreportedFamilies = append(out.UnreportedFamilies, family)
			if p, ok := provided[family]; ok {
				v := Result{Address: p, Assumed: true}
				v.dropBy(forbiddenBy(p))
				out.Results = append(out.Results, v)
			}
		}
	}
	out.Results = append(out.Results, input.unreported(out.Results)...)
	if err == nil {
		err = checkNetworks(input.NICs, input.Rules)
	}
	for i := range out.Results {
		v := &out.Results[i]
		claim, claimed := input.claim(v.Address)
		switch {
		case v.Internal.Rule != NotChosen:
		case !slices.Contains(input.Families, familyOf(v.Address)):
			v.dropBy(OtherFamily)
		case claimed && !claim.Void:
			v.dropBy(Claimed)
		}
	}
	for _, family := range input.Families {
		if err != nil {
			break
		}
		f := newChoice(&out, &input, family, provided[family])
		out.Addresses = append(out.Addresses, f.choose()...)
		err = f.check(input.NICsError)
	}
	if err != nil {
		out.Addresses = nil
		return out, topology.Errorf(ErrNone, "%s: %w", input.Ref.Located(input.InventoryPath), err)
	}
	out.leaveOut(&input, provided)
	return out, nil
}

func parseProvided(annotation string, families []string) (map[string]netip.Addr, error) {
	if annotation == "" {
		return nil, nil
	}
	provided := make(map[string]netip.Addr, 2)
	for part := range strings.SplitSeq(annotation, ",") {
		a, ok := parse(part)
		_, twice := provided[familyOf(a)]
		if !ok || twice {
			return nil, fmt.Errorf("the kubelet's --node-ip is %s, which is neither an address nor an address of each family: correct it", quote.Value(annotation))
		}
		provided[familyOf(a)] = a
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if a, ok := provided[family]; ok && !slices.Contains(families, family) {
			return provided, fmt.Errorf("the kubelet's --node-ip is %s, but ipFamily does not contain %s: add it there, or correct --node-ip", a, family)
		}
	}
	return provided, nil
}

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
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		names[i] = quote.Value(name)
	}
	return fmt.Errorf("the VM is on networks %s, neither on %q (internal) nor on %q (external): connect it to one, or correct the names in the configuration",
		quote.Some(names, quote.Most), internal, external)
}

// ErrNone means that the VM has no address for the Node, or lacks the address in --node-ip.
var ErrNone = errors.New("no address")

// ErrClaimed means that another Node claims the address. Errors that wrap it also wrap ErrNone.
var ErrClaimed = errors.New("address of another Node")

// Input contains everything that the choice depends on.
type Input struct {
	// If NICsError is set, NICs is empty and the VM's addresses are unknown.
	inventory.VM
	Rules *config.AddressRules
	// Families contains "ipv4", "ipv6" or both, the preferred family first.
	Families []string
	// InitialHostName was chosen for an initialized Node that may not show it yet, or is empty.
	InitialHostName string
	// OwnNames are the Node's current Hostname and its name.
	OwnNames []string
	// Provided is the annotation of --node-ip: an address, or an address of each family with a comma between.
	Provided string
	// Current are the addresses of an initialized Node.
	Current []v1.NodeAddress
	// Former are addresses that the VM stopped reporting.
	Former []v1.NodeAddress
	// Claims are other Nodes' claims to the addresses in Candidates().
	Claims map[netip.Addr]Claim
}

// Selection is the result of a choice.
type Selection struct {
	// Addresses are empty after an error.
	Addresses []v1.NodeAddress
	// OmittedErr reports addresses that the framework would drop because of --node-ip, or is nil.
	OmittedErr error
	// Results are in order of precedence and include dropped addresses.
	Results []Result
	// UnreportedFamilies are the families without a reported address.
	UnreportedFamilies []string
}

// NewInput returns the input for a VM and its Node, which may be nil.
func NewInput(m *inventory.VM, node *v1.Node, rules *config.AddressRules, families []string) Input {
	input := Input{VM: *m, Rules: rules, Families: families}
	if node != nil {
		input.OwnNames = []string{HostNameIn(node.Status.Addresses), node.Name}
		input.Provided = node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
		if !nodeinfo.IsUninitialized(node) {
			input.Current = node.Status.Addresses
			input.Former = formerOf(node)
		}
	}
	switch {
	case !m.GuestAddress.IsValid():
	case rules.NameNetworks():
		input.NICsError = fmt.Errorf("VMware Tools report the address %s and no interface, so its network is unknown: restart VMware Tools in the guest", m.GuestAddress)
	case input.Provided == "" && input.Current == nil:
		input.NICs = []inventory.NIC{{Addresses: []netip.Addr{m.GuestAddress}}}
	}
	return input
}

// listResults returns static addresses first, in the order of the metadata.
func listResults(input *Input) []Result {
	var results []Result
	for i := range input.NICs {
		nic := &input.NICs[i]
		rule := NotChosen
		switch {
		case nic.DeviceConfigID == -1:
			rule = GuestMade
		case !input.Rules.Considers(nic.Network):
			rule = LeftOut
		}
		for _, a := range input.addressesOf(nic) {
			v := Result{Address: a, Network: nic.Network, Device: nic.DeviceConfigID}
			v.dropBy(cmp.Or(rule, forbiddenBy(a)))
			if v.Internal.Rule == NotChosen && contains(nic.Unusable, a) {
				v.dropBy(Unusable)
			}
			results = append(results, v)
		}
	}
	for i := range results {
		v := &results[i]
		v.order = len(input.Static)
		if i := slices.IndexFunc(input.Static, func(s netip.Addr) bool { return s.Unmap() == v.Address }); i >= 0 {
			v.Static = true
			v.order = i
		}
	}
	if len(input.Static) > 0 {
		slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(a.order, b.order) })
	}
	return results
}

func (v *Result) dropBy(r Rule) {
	v.Internal = Reason{Rule: r}
	v.External = Reason{Rule: r}
}

// addressesOf returns addresses that may be floating IPs last: secondary and claimed addresses.
func (input *Input) addressesOf(nic *inventory.NIC) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range nic.Addresses {
		a = a.Unmap()
		_, claimed := input.claim(a)
		switch {
		case !a.IsValid() || contains(first, a) || contains(second, a):
		case claimed || contains(nic.Secondary, a):
			second = append(second, a)
		default:
			first = append(first, a)
		}
	}
	return append(first, second...)
}

func contains(addrs []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(addrs, func(candidate netip.Addr) bool { return candidate.Unmap() == a })
}

func (input *Input) current(kind v1.NodeAddressType, family string) netip.Addr {
	return first(input.Current, kind, family)
}

// unreported returns the Node's addresses that only the VM's metadata contains.
func (input *Input) unreported(reported []Result) []Result {
	var out []Result
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, family := range input.Families {
			a := input.current(kind, family)
			known := func(v Result) bool { return v.Address == a }
			if !a.IsValid() || !contains(input.Static, a) || slices.ContainsFunc(reported, known) || slices.ContainsFunc(out, known) {
				continue
			}
			v := Result{Address: a, Assumed: true, Static: true}
			v.dropBy(forbiddenBy(a))
			out = append(out, v)
		}
	}
	return out
}
