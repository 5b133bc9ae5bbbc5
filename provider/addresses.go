package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	helpers "k8s.io/cloud-provider/node/helpers"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// errNoAddress: VMware Tools report no address that the Node may have.
var errNoAddress = errors.New("no address")

// candidate is an address that the Node may have and the network it is on.
type candidate struct {
	address netip.Addr
	network string
}

// addresses selects the Node's addresses: the guest's host name, where there
// is one, and per family in the given order an internal and an external IP. For
// each of these two, excluded subnets are dropped; then the first subnet with
// an address decides, then the network name. Where neither gives either, the
// first address is both. A family without any is errNoAddress.
func addresses(m *inventory.Machine, rules *config.AddressRules, families []string) ([]v1.NodeAddress, error) {
	var out []v1.NodeAddress
	if m.HostName != "" {
		out = append(out, v1.NodeAddress{Type: v1.NodeHostName, Address: m.HostName})
	}
	all := candidates(m.NICs)
	if err := checkNetworks(m.NICs, rules); err != nil {
		return nil, fmt.Errorf("%w: vCenter %q %s: %w", errNoAddress, m.Ref.VCenter, m.InventoryPath, err)
	}
	for _, family := range families {
		internal, external := choose(ofFamily(all, family), rules)
		if internal == nil && external == nil {
			return nil, fmt.Errorf("%w: vCenter %q %s: VMware Tools report no usable %s address; are they running?",
				errNoAddress, m.Ref.VCenter, m.InventoryPath, family)
		}
		if internal != nil {
			out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: internal.address.String()})
		}
		if external != nil {
			out = append(out, v1.NodeAddress{Type: v1.NodeExternalIP, Address: external.address.String()})
		}
	}
	return out, nil
}

// candidates leaves out interfaces made inside the guest and addresses that
// nothing outside the machine can reach.
func candidates(nics []inventory.NIC) []candidate {
	var out []candidate
	for _, nic := range nics {
		if nic.DeviceConfigID == -1 {
			continue
		}
		for _, a := range nic.Addresses {
			a = a.Unmap()
			if a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() {
				continue
			}
			out = append(out, candidate{address: a, network: nic.Network})
		}
	}
	return out
}

// checkNetworks refuses to fall back to just any address when network names are
// configured for both kinds and the machine is on neither network.
func checkNetworks(nics []inventory.NIC, rules *config.AddressRules) error {
	in, ex := rules.InternalNetwork, rules.ExternalNetwork
	if in == "" || ex == "" {
		return nil
	}
	var names []string
	for _, nic := range nics {
		if nic.DeviceConfigID == -1 {
			continue
		}
		if strings.EqualFold(nic.Network, in) || strings.EqualFold(nic.Network, ex) {
			return nil
		}
		names = append(names, nic.Network)
	}
	return fmt.Errorf("the machine is on networks %q, neither on %q (internal) nor on %q (external)", names, in, ex)
}

func ofFamily(all []candidate, family string) []candidate {
	var out []candidate
	for _, c := range all {
		if c.address.Is4() == (family == "ipv4") {
			out = append(out, c)
		}
	}
	return out
}

func choose(all []candidate, rules *config.AddressRules) (internal, external *candidate) {
	in := without(all, rules.ExcludeInternalSubnets)
	ex := without(all, rules.ExcludeExternalSubnets)
	internal = matching(in, rules.InternalSubnets, rules.InternalNetwork)
	external = matching(ex, rules.ExternalSubnets, rules.ExternalNetwork)
	if internal == nil && external == nil {
		if len(in) > 0 {
			internal = &in[0]
		}
		if len(ex) > 0 {
			external = &ex[0]
		}
	}
	return internal, external
}

func without(all []candidate, excluded []netip.Prefix) []candidate {
	var out []candidate
	for _, c := range all {
		if !slices.ContainsFunc(excluded, func(p netip.Prefix) bool { return p.Contains(c.address) }) {
			out = append(out, c)
		}
	}
	return out
}

// matching returns the first candidate in the first subnet that has one, else
// the first on the network, else nil.
func matching(from []candidate, subnets []netip.Prefix, network string) *candidate {
	for _, p := range subnets {
		for i := range from {
			if p.Contains(from[i].address) {
				return &from[i]
			}
		}
	}
	for i := range from {
		if network != "" && strings.EqualFold(from[i].network, network) {
			return &from[i]
		}
	}
	return nil
}

// checkProvided makes a Node wait whose kubelet was given an address (--node-ip)
// that its machine does not have: the framework would refuse it, and try again
// at growing intervals.
func checkProvided(node *v1.Node, addrs []v1.NodeAddress) error {
	provided, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if !ok {
		return nil
	}
	if _, err := helpers.GetNodeAddressesFromNodeIP(provided, addrs); err != nil {
		return fmt.Errorf("%w: the kubelet's --node-ip is %s: %w", errNoAddress, provided, err)
	}
	return nil
}
