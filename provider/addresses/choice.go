package addresses

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
)

// choice is the choice of the addresses of one family.
type choice struct {
	family   string
	provided netip.Addr // the zero Addr if the kubelet was given none
	verdicts []*Verdict // of the family, in order
	sides    [2]side
}

// side is the internal or the external half of a choice.
type side struct {
	kind    v1.NodeAddressType
	reason  func(*Verdict) *Reason
	subnets []netip.Prefix
	network string
	open    []*Verdict // those that may be chosen, in order
	chosen  *Verdict
}

// newChoice begins a choice: excluded addresses get their verdict.
func newChoice(s *Selection, rules *config.AddressRules, family string, provided netip.Addr) *choice {
	c := &choice{family: family, provided: provided}
	for i := range s.Verdicts {
		if v := &s.Verdicts[i]; familyOf(v.Address) == family {
			c.verdicts = append(c.verdicts, v)
		}
	}
	c.sides = [2]side{
		{kind: v1.NodeInternalIP, subnets: rules.InternalSubnets, network: rules.InternalNetwork,
			reason: func(v *Verdict) *Reason { return &v.Internal }},
		{kind: v1.NodeExternalIP, subnets: rules.ExternalSubnets, network: rules.ExternalNetwork,
			reason: func(v *Verdict) *Reason { return &v.External }},
	}
	c.sides[0].exclude(c.verdicts, rules.ExcludeInternalSubnets)
	c.sides[1].exclude(c.verdicts, rules.ExcludeExternalSubnets)
	return c
}

func (s *side) exclude(verdicts []*Verdict, excluded []netip.Prefix) {
	for _, v := range verdicts {
		r := s.reason(v)
		if r.Rule != NotChosen {
			continue
		}
		if in, found := containing(excluded, v.Address); found {
			*r = Reason{Excluded, in}
			continue
		}
		s.open = append(s.open, v)
	}
}

func containing(subnets []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range subnets {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// choose applies the rules in their order and returns the Node's addresses.
func (c *choice) choose() []v1.NodeAddress {
	internal, external := &c.sides[0], &c.sides[1]
	internal.byConfiguration()
	external.byConfiguration()
	if internal.chosen == nil && external.chosen == nil {
		internal.byDefault(c.provided)
		external.byDefault(c.provided)
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

// byConfiguration takes the first address in the first subnet that has one, or
// else the first on the network.
func (s *side) byConfiguration() {
	for _, p := range s.subnets {
		for _, v := range s.open {
			if p.Contains(v.Address) {
				s.take(v, Reason{Subnet, p})
				return
			}
		}
	}
	for _, v := range s.open {
		if s.network != "" && !v.Assumed && strings.EqualFold(v.Network, s.network) {
			s.take(v, Reason{Rule: Network})
			return
		}
	}
}

// byDefault takes the kubelet's address, or else the first.
func (s *side) byDefault(provided netip.Addr) {
	if s.byKubelet(provided) || len(s.open) == 0 {
		return
	}
	rule := First
	if s.open[0].Static {
		rule = Static
	}
	s.take(s.open[0], Reason{Rule: rule})
}

// byKubelet takes the kubelet's address, in the place of what was taken before.
func (s *side) byKubelet(provided netip.Addr) bool {
	for _, v := range s.open {
		if v.Address == provided {
			s.take(v, Reason{Rule: Kubelet})
			return true
		}
	}
	return false
}

func (s *side) take(v *Verdict, why Reason) {
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

// check returns what is missing of a choice that was made.
func (c *choice) check() error {
	if c.provided.IsValid() && !c.hasProvided() {
		const refused = "the kubelet's --node-ip is %s, which the Node may not have: %s"
		if rule := drop(c.provided); rule != NotChosen {
			return fmt.Errorf(refused, c.provided, rule)
		}
		for _, v := range c.verdicts {
			if v.Address == c.provided {
				return fmt.Errorf(refused, c.provided, v.Internal)
			}
		}
		return fmt.Errorf("the kubelet's --node-ip is %s, which VMware Tools do not report%s", c.provided, c.reported())
	}
	if c.sides[0].chosen != nil || c.sides[1].chosen != nil {
		return nil
	}
	if len(c.verdicts) == 0 {
		return errors.New("VMware Tools report no " + c.family + " address; are they running?")
	}
	return fmt.Errorf("VMware Tools report no usable %s address%s", c.family, c.reported())
}

// reported lists what is there instead, for an error.
func (c *choice) reported() string {
	const most = 5
	var b strings.Builder
	for i, v := range c.verdicts {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(c.verdicts)-most)
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
