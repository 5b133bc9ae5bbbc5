package addresses

import (
	"cmp"
	"net/netip"
	"slices"

	"vzones/vcenter/inventory"
)

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
			v.Static, v.order = true, i
		}
	}
	if len(in.Static) > 0 {
		slices.SortStableFunc(all, func(a, b Result) int { return cmp.Compare(a.order, b.order) })
	}
	return all
}

func (v *Result) dropBy(r Rule) {
	v.Internal, v.External = Reason{Rule: r}, Reason{Rule: r}
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
