package addresses

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

var errPending = errors.New("its guestinfo.metadata has changed and is not read yet: it is read next")

// Select chooses a Node's addresses. An error is ErrNone and says what is
// missing; the results are there then too, as far as it came. While metadata is not
// read nothing is chosen, since it might decide.
func Select(in Input) (Selection, error) {
	var out Selection
	if in.HostName != "" {
		out.Addresses = append(out.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: in.HostName})
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
	if err == nil && in.Pending {
		err = errPending
	}
	if err == nil {
		err = checkNetworks(in.NICs, in.Rules)
	}
	for i := range out.Results {
		v := &out.Results[i]
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
		return out, topology.Errorf(ErrNone, "%s: %w", in.Machine, err)
	}
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
	return fmt.Errorf("the machine is on networks %s, neither on %q (internal) nor on %q (external): connect it to one, or correct the names in the configuration",
		quote.Some(names, quote.Most), internal, external)
}
