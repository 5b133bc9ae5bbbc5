package addresses

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/topology"
)

// A choice chooses a Node's addresses of one IP family.
type choice struct {
	family string
	// provided is from --node-ip, or the zero Addr.
	provided netip.Addr
	claims   map[netip.Addr]Claim
	results  []*Result
	sides    [2]side
	// conflict is a claimed address that the configuration selects, nil if it also selects a free one.
	conflict *Result
}

// A side chooses the internal or the external IP.
type side struct {
	kind    v1.NodeAddressType
	reason  func(*Result) *Reason
	subnets []netip.Prefix
	network string
	// current is the address in Input.Former if it is a candidate, else in Input.Current, or the zero Addr.
	current    netip.Addr
	candidates []*Result
	claimed    []*Result
	chosen     *Result
}

func newChoice(s *Selection, input *Input, family string, provided netip.Addr) *choice {
	c := &choice{family: family, provided: provided, claims: input.Claims}
	for i := range s.Results {
		if v := &s.Results[i]; familyOf(v.Address) == family {
			c.results = append(c.results, v)
		}
	}
	rules := input.Rules
	c.sides = [2]side{
		{kind: v1.NodeInternalIP, current: input.current(v1.NodeInternalIP, family), subnets: rules.InternalSubnets, network: rules.InternalNetwork,
			reason: func(v *Result) *Reason { return &v.Internal }},
		{kind: v1.NodeExternalIP, current: input.current(v1.NodeExternalIP, family), subnets: rules.ExternalSubnets, network: rules.ExternalNetwork,
			reason: func(v *Result) *Reason { return &v.External }},
	}
	c.sides[0].exclude(c.results, rules.ExcludeInternalSubnets)
	c.sides[1].exclude(c.results, rules.ExcludeExternalSubnets)
	for i := range c.sides {
		s := &c.sides[i]
		if former := first(input.Former, s.kind, family); slices.ContainsFunc(s.candidates, func(v *Result) bool { return v.Address == former }) {
			s.current = former
		}
	}
	return c
}

func (s *side) exclude(results []*Result, excluded []netip.Prefix) {
	for _, v := range results {
		r := s.reason(v)
		subnet, found := containingSubnet(excluded, v.Address)
		switch {
		case r.Rule == Claimed && !found:
			s.claimed = append(s.claimed, v)
		case r.Rule != NotChosen:
		case found:
			*r = Reason{Excluded, subnet}
		default:
			s.candidates = append(s.candidates, v)
		}
	}
}

func containingSubnet(subnets []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range subnets {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

func (c *choice) choose() []v1.NodeAddress {
	internal := &c.sides[0]
	external := &c.sides[1]
	internal.byConfiguration(c.provided)
	external.byConfiguration(c.provided)
	if !c.provided.IsValid() {
		c.conflict = cmp.Or(internal.unmet(), external.unmet())
	}
	if internal.chosen == nil && external.chosen == nil {
		internal.byDefault(c.provided, external.current)
		external.byDefault(c.provided, internal.current)
	}
	if c.provided.IsValid() && !c.hasProvided() && !internal.byKubelet(c.provided) {
		external.byKubelet(c.provided)
	}
	var out []v1.NodeAddress
	for _, s := range c.sides {
		if s.chosen != nil {
			out = append(out, v1.NodeAddress{Type: s.kind, Address: s.chosen.Address.String()})
		}
	}
	return out
}

// byConfiguration chooses from the first configured subnet with a candidate, else from the configured
// network. In the subnets and on the network, --node-ip and then the Node's current address come first.
func (s *side) byConfiguration(provided netip.Addr) {
	for _, preferred := range []netip.Addr{provided, s.current} {
		for _, v := range s.candidates {
			if p, isSelected := containingSubnet(s.subnets, v.Address); isSelected && v.Address == preferred {
				s.take(v, Reason{Subnet, p})
				return
			}
		}
	}
	for _, p := range s.subnets {
		for _, v := range s.candidates {
			if p.Contains(v.Address) {
				s.take(v, Reason{Subnet, p})
				return
			}
		}
	}
	var onNetwork []*Result
	for _, v := range s.candidates {
		if s.onNetwork(v) {
			onNetwork = append(onNetwork, v)
		}
	}
	if len(onNetwork) == 0 {
		return
	}
	for _, preferred := range []netip.Addr{provided, s.current} {
		for _, v := range onNetwork {
			if v.Address == preferred {
				s.take(v, Reason{Rule: Network})
				return
			}
		}
	}
	s.take(onNetwork[0], Reason{Rule: Network})
}

func (s *side) unmet() *Result {
	for _, v := range s.claimed {
		if _, isSelected := containingSubnet(s.subnets, v.Address); s.chosen == nil && (isSelected || s.onNetwork(v)) {
			return v
		}
	}
	return nil
}

// onNetwork also accepts the Node's unreported current address: it was on the network when it was chosen.
func (s *side) onNetwork(v *Result) bool {
	if v.Assumed {
		return s.network != "" && v.Static && v.Address == s.current
	}
	return s.network != "" && config.IsNetwork(s.network, v.Network)
}

// byDefault chooses --node-ip, else an address that the Node already has as either kind, else the first.
func (s *side) byDefault(provided, counterpart netip.Addr) {
	if s.byKubelet(provided) || len(s.candidates) == 0 {
		return
	}
	for _, preferred := range []netip.Addr{s.current, counterpart} {
		for _, v := range s.candidates {
			if v.Address == preferred {
				s.take(v, Reason{Rule: Kept})
				return
			}
		}
	}
	rule := First
	if s.candidates[0].Static {
		rule = Static
	}
	s.take(s.candidates[0], Reason{Rule: rule})
}

// byKubelet chooses --node-ip if it is a candidate, also in place of an address chosen before.
func (s *side) byKubelet(provided netip.Addr) bool {
	for _, v := range s.candidates {
		if v.Address == provided {
			s.take(v, Reason{Rule: Kubelet})
			return true
		}
	}
	return false
}

func (s *side) take(v *Result, why Reason) {
	if s.chosen != nil {
		*s.reason(s.chosen) = Reason{}
	}
	s.chosen = v
	*s.reason(v) = why
}

func (c *choice) hasProvided() bool {
	for _, s := range c.sides {
		if s.chosen != nil && s.chosen.Address == c.provided {
			return true
		}
	}
	return false
}

func (c *choice) check(rejected error) error {
	if c.provided.IsValid() && !c.hasProvided() {
		const forbidden = "the kubelet's --node-ip is %s, which is not allowed (%s): correct it, or the address rules in the configuration"
		if rule := forbiddenBy(c.provided); rule != NotChosen {
			return fmt.Errorf(forbidden, c.provided, rule)
		}
		for _, v := range c.results {
			if v.Address == c.provided && v.Internal.Rule == Claimed {
				return c.claimError("the kubelet's --node-ip is", v)
			}
			if v.Address == c.provided {
				return fmt.Errorf(forbidden, c.provided, v.Internal)
			}
		}
		return fmt.Errorf("the kubelet's --node-ip is %s, which VMware Tools do not report%s: correct it, or the VM's addresses", c.provided, c.alternatives())
	}
	if c.conflict != nil {
		return c.claimError("VMware Tools report", c.conflict)
	}
	if c.sides[0].chosen != nil || c.sides[1].chosen != nil {
		return nil
	}
	if len(c.results) == 0 && rejected != nil {
		return rejected
	}
	if len(c.results) == 0 {
		return errors.New("VMware Tools report no " + c.family + " address: start VMware Tools in the guest, or assign an address to the VM")
	}
	for _, v := range c.results {
		if v.Internal.Rule == Claimed {
			return c.claimError("VMware Tools report", v)
		}
	}
	return fmt.Errorf("VMware Tools report no usable %s address%s: correct the address rules in the configuration, or the VM's addresses", c.family, c.alternatives())
}

func (c *choice) claimError(source string, v *Result) error {
	claim := c.claims[v.Address]
	return topology.Errorf(ErrClaimed, "%s %s, which Node %s claims, and %s: give one of the VMs another address, or delete Node %s if it is no longer in use",
		source, v.Address, claim.Node, claim.Why, claim.Node)
}

func (c *choice) alternatives() string {
	const maxListed = 5
	var b strings.Builder
	for i, v := range c.results {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(c.results)-maxListed)
			break
		}
		separator := ", "
		if i == 0 {
			separator = ", but "
		}
		b.WriteString(separator + v.Address.String())
		if !v.Internal.Chosen() && v.Internal.Rule != NotChosen {
			b.WriteString(" (" + v.Internal.String() + ")")
		}
	}
	return b.String()
}
