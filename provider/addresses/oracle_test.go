package addresses

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/cloud-provider/node/helpers"

	"vzones/vcenter/inventory"
)

// oracle is a second implementation of Select: each address gets a score per kind, and the lowest one wins. It returns nil
// if Select returns an error.
func oracle(in Input) []v1.NodeAddress {
	// The keys report whether the address is IPv4.
	provided := map[bool]netip.Addr{}
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
	var names []string
	for _, one := range in.Current {
		if one.Type == v1.NodeHostName && names == nil {
			names = append(names, one.Address)
		}
	}
	names = slices.DeleteFunc(append(append(names, in.HostName), in.OwnNames...), func(name string) bool { return !inventory.IsHostName(name) })
	if len(names) > 0 {
		out = append(out, v1.NodeAddress{Type: v1.NodeHostName, Address: names[0]})
	}
	for _, family := range in.Families {
		is4 := family == "ipv4"
		all := scored(in, is4, provided[is4])
		sides := [2]v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP}
		var best [2]*candidate
		for i, kind := range sides {
			best[i] = least(all, kind)
		}
		for i, kind := range sides {
			unmet := func(c *candidate) bool {
				score, allowed := c.score[kind]
				return c.taken && allowed && score[0] < byChance
			}
			if !provided[is4].IsValid() && (best[i] == nil || best[i].score[kind][0] >= byChance) && slices.ContainsFunc(all, unmet) {
				return nil
			}
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
					if _, allowed := c.score[kind]; allowed && c.a == p && !repaired && !c.taken {
						best[i] = c
						repaired = true
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
	if in.Provided == "" {
		return out
	}
	written, err := helpers.GetNodeAddressesFromNodeIP(in.Provided, out)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out, func(a v1.NodeAddress) bool { return !slices.Contains(written, a) })
}

type candidate struct {
	a     netip.Addr
	score map[v1.NodeAddressType][]int // nil if it cannot be chosen
	nic   inventory.NIC
	// at is the position in the report: the interface, and the address within it.
	at []int
	// assumed means not reported; kept means that the Node has the address and the metadata contains it.
	assumed, kept bool
	// floats means after the other addresses of its interface; taken means claimed by another Node.
	floats, taken bool
}

const byChance = 1000 // the first element of a score without a subnet or network

func leadsNowhere(a netip.Addr) bool {
	return a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast()
}

// hadBefore returns the Node's first address of a kind and family.
func hadBefore(in Input, kind v1.NodeAddressType, is4 bool) netip.Addr {
	for _, one := range in.Current {
		if a, err := netip.ParseAddr(one.Address); err == nil && one.Type == kind && a.Is4() == is4 {
			return a
		}
	}
	return netip.Addr{}
}

// standing returns the candidates of a family and their interfaces. Unreported candidates have none.
func standing(in Input, is4 bool, provided netip.Addr) []*candidate {
	var all []*candidate
	known := false
	var reported []netip.Addr
	for i, nic := range in.NICs {
		for j, a := range unmapped(nic.Addresses) {
			reported = append(reported, a)
			if a.Is4() != is4 || nic.DeviceConfigID == -1 || leadsNowhere(a) {
				continue
			}
			known = true
			if in.Rules.Considers(nic.Network) && !slices.Contains(unmapped(nic.Unusable), a) {
				all = append(all, &candidate{a: a, nic: nic, at: []int{i, j}})
			}
		}
	}
	if !known && provided.IsValid() {
		reported = append(reported, provided)
		all = append(all, &candidate{a: provided, assumed: true, at: []int{len(in.NICs), 0}})
	}
	for i, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		if a := hadBefore(in, kind, is4); a.IsValid() && slices.Contains(unmapped(in.Static), a) && !slices.Contains(reported, a) {
			reported = append(reported, a)
			all = append(all, &candidate{a: a, assumed: true, kept: true, at: []int{len(in.NICs) + 1, i}})
		}
	}
	return slices.DeleteFunc(all, func(c *candidate) bool {
		claim, claimed := in.Claims[c.a]
		mine := c.a == hadBefore(in, v1.NodeInternalIP, is4) || c.a == hadBefore(in, v1.NodeExternalIP, is4)
		c.floats = claimed && !mine || slices.Contains(unmapped(c.nic.Secondary), c.a)
		c.taken = claimed && !claim.Void && !mine
		return leadsNowhere(c.a)
	})
}

func scored(in Input, is4 bool, provided netip.Addr) []*candidate {
	all := standing(in, is4, provided)
	internal, external := hadBefore(in, v1.NodeInternalIP, is4), hadBefore(in, v1.NodeExternalIP, is4)
	for _, c := range all {
		c.score = map[v1.NodeAddressType][]int{}
		for _, side := range []struct {
			kind              v1.NodeAddressType
			has, other        netip.Addr
			subnets, excluded []netip.Prefix
			network           string
		}{
			{v1.NodeInternalIP, internal, external, in.Rules.InternalSubnets, in.Rules.ExcludeInternalSubnets, in.Rules.InternalNetwork},
			{v1.NodeExternalIP, external, internal, in.Rules.ExternalSubnets, in.Rules.ExcludeExternalSubnets, in.Rules.ExternalNetwork},
		} {
			holds := func(p netip.Prefix) bool { return p.Contains(c.a) }
			if slices.ContainsFunc(side.excluded, holds) {
				continue
			}
			level := byChance
			if i := slices.IndexFunc(side.subnets, holds); i >= 0 && c.a == provided {
				level = -2
			} else if i >= 0 && c.a == side.has {
				level = -1
			} else if i >= 0 {
				level = i
			} else if side.network != "" && (!c.assumed && strings.EqualFold(side.network, c.nic.Network) || c.kept && c.a == side.has) {
				level = byChance - 1
			}
			notProvided, notKept := 1, 2
			if level >= byChance-1 && c.a == provided {
				notProvided = 0
			}
			if c.a == side.has {
				notKept = 0
			} else if level == byChance && c.a == side.other {
				notKept = 1
			}
			static := slices.Index(unmapped(in.Static), c.a)
			if static < 0 || c.assumed {
				static = len(in.Static)
			}
			floats := 0
			if c.floats {
				floats = 1
			}
			c.score[side.kind] = []int{level, notProvided, notKept, static, c.at[0], floats, c.at[1]}
		}
	}
	return all
}

func least(all []*candidate, kind v1.NodeAddressType) *candidate {
	var best *candidate
	for _, c := range all {
		if _, allowed := c.score[kind]; !allowed || c.taken {
			continue
		}
		if best == nil || slices.Compare(c.score[kind], best.score[kind]) < 0 {
			best = c
		}
	}
	return best
}

// onNeither reports whether both networks are configured and the VM is on other networks only.
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
