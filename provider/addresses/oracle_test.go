package addresses

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/vcenter/inventory"
)

// oracle says the same as Select by other means: each address gets a score for
// each kind, and the least one wins. It is nil where Select gives an error.
func oracle(in Input) []v1.NodeAddress {
	provided := map[bool]netip.Addr{} // by being IPv4
	for part := range strings.SplitSeq(in.Provided, ",") {
		if in.Provided == "" {
			break
		}
		a, err := netip.ParseAddr(part)
		if err != nil || a.Zone() != "" || provided[a.Unmap().Is4()].IsValid() {
			return nil
		}
		provided[a.Unmap().Is4()] = a.Unmap()
	}
	for is4 := range provided {
		if !slices.Contains(in.Families, map[bool]string{true: "ipv4", false: "ipv6"}[is4]) {
			return nil
		}
	}
	if onNeither(in) {
		return nil
	}
	var out []v1.NodeAddress
	if in.HostName != "" {
		out = append(out, v1.NodeAddress{Type: v1.NodeHostName, Address: in.HostName})
	}
	for _, family := range in.Families {
		is4 := family == "ipv4"
		all := scored(in, is4, provided[is4])
		sides := [2]v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP}
		var best [2]*candidate
		for i, kind := range sides {
			best[i] = least(all, kind)
		}
		asked := func(i int) bool { return best[i] != nil && best[i].score[sides[i]][0] < byChance }
		if asked(0) || asked(1) {
			for i := range best {
				if !asked(i) {
					best[i] = nil
				}
			}
		}
		if p := provided[is4]; p.IsValid() && (best[0] == nil || best[0].a != p) && (best[1] == nil || best[1].a != p) {
			repaired := false
			for i, kind := range sides {
				for _, c := range all {
					if _, allowed := c.score[kind]; allowed && c.a == p && !repaired {
						best[i], repaired = c, true
					}
				}
			}
			if !repaired {
				return nil
			}
		}
		if best[0] == nil && best[1] == nil {
			return nil
		}
		for i, kind := range sides {
			if best[i] != nil {
				out = append(out, v1.NodeAddress{Type: kind, Address: best[i].a.String()})
			}
		}
	}
	return out
}

type candidate struct {
	a     netip.Addr
	score map[v1.NodeAddressType][]int // none if it may not be chosen
	nic   inventory.NIC
}

const byChance = 1000 // the first element of a score without a subnet or network

func leadsNowhere(a netip.Addr) bool {
	return a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast()
}

func scored(in Input, is4 bool, provided netip.Addr) []*candidate {
	var all []*candidate
	known := false
	for _, nic := range in.NICs {
		for _, a := range nic.Addresses {
			a = a.Unmap()
			if a.Is4() != is4 || nic.DeviceConfigID == -1 || leadsNowhere(a) {
				continue
			}
			known = true
			if in.Rules.Considers(nic.Network) && !slices.Contains(unmapped(nic.Unusable), a) {
				all = append(all, &candidate{a: a, nic: nic})
			}
		}
	}
	assumed := !known && provided.IsValid()
	if assumed && !leadsNowhere(provided) {
		all = append(all, &candidate{a: provided})
	}
	for _, c := range all {
		c.score = map[v1.NodeAddressType][]int{}
		for _, side := range []struct {
			kind              v1.NodeAddressType
			subnets, excluded []netip.Prefix
			network           string
		}{
			{v1.NodeInternalIP, in.Rules.InternalSubnets, in.Rules.ExcludeInternalSubnets, in.Rules.InternalNetwork},
			{v1.NodeExternalIP, in.Rules.ExternalSubnets, in.Rules.ExcludeExternalSubnets, in.Rules.ExternalNetwork},
		} {
			holds := func(p netip.Prefix) bool { return p.Contains(c.a) }
			if slices.ContainsFunc(side.excluded, holds) {
				continue
			}
			level := byChance
			if i := slices.IndexFunc(side.subnets, holds); i >= 0 {
				level = i
			} else if side.network != "" && strings.EqualFold(side.network, c.nic.Network) && !assumed {
				level = byChance - 1
			}
			notProvided := 1
			if level == byChance && c.a == provided {
				notProvided = 0
			}
			static := slices.Index(unmapped(in.Static), c.a)
			if static < 0 {
				static = len(in.Static)
			}
			secondary := 0
			if slices.Contains(unmapped(c.nic.Secondary), c.a) {
				secondary = 1
			}
			c.score[side.kind] = []int{level, notProvided, static, int(c.nic.DeviceConfigID), secondary}
		}
	}
	return all
}

func least(all []*candidate, kind v1.NodeAddressType) *candidate {
	var best *candidate
	for _, c := range all {
		if _, allowed := c.score[kind]; !allowed {
			continue
		}
		if best == nil || cmp.Or(slices.Compare(c.score[kind][:4], best.score[kind][:4]), cmp.Compare(c.nic.Network, best.nic.Network), cmp.Compare(c.nic.MAC, best.nic.MAC),
			cmp.Compare(c.score[kind][4], best.score[kind][4]), c.a.Compare(best.a)) < 0 {
			best = c
		}
	}
	return best
}

// onNeither says whether both networks are configured and the machine, which is
// on some, is on neither.
func onNeither(in Input) bool {
	internal, external := in.Rules.InternalNetwork, in.Rules.ExternalNetwork
	some := false
	for _, nic := range in.NICs {
		if nic.DeviceConfigID != -1 && in.Rules.Considers(nic.Network) {
			some = true
			if strings.EqualFold(nic.Network, internal) || strings.EqualFold(nic.Network, external) {
				return false
			}
		}
	}
	return some && internal != "" && external != ""
}

func unmapped(all []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range all {
		out = append(out, a.Unmap())
	}
	return out
}
