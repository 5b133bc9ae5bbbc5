package addresses

import (
	"cmp"
	"net/netip"
	"slices"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// list returns the machine's addresses in the order in which they come into
// question: configured ones first, in the order of the configuration; then by
// virtual device; within an interface those that it is known by first, then by
// number. Addresses that do not count have their verdict already.
func list(nics []inventory.NIC, static []netip.Addr, rules *config.AddressRules) []Verdict {
	var all []Verdict
	for _, nic := range inOrder(nics) {
		rule := NotChosen
		switch {
		case nic.DeviceConfigID == -1:
			rule = GuestMade
		case !rules.Considers(nic.Network):
			rule = LeftOut
		}
		for _, a := range addressesOf(&nic) {
			v := Verdict{Address: a, Network: nic.Network, Device: nic.DeviceConfigID, order: len(static)}
			v.dropBy(cmp.Or(rule, drop(a)))
			if v.Internal.Rule == NotChosen && has(nic.Unusable, a) {
				v.dropBy(Unusable)
			}
			if i := slices.IndexFunc(static, func(s netip.Addr) bool { return s.Unmap() == a }); i >= 0 {
				v.Static, v.order = true, i
			}
			all = append(all, v)
		}
	}
	if len(static) > 0 {
		slices.SortStableFunc(all, func(a, b Verdict) int { return cmp.Compare(a.order, b.order) })
	}
	return all
}

func (v *Verdict) dropBy(r Rule) {
	v.Internal, v.External = Reason{Rule: r}, Reason{Rule: r}
}

// inOrder returns interfaces by virtual device, those without one last. What
// else there is decides between interfaces of one device.
func inOrder(nics []inventory.NIC) []inventory.NIC {
	compare := func(a, b inventory.NIC) int {
		if a.DeviceConfigID != b.DeviceConfigID {
			return cmp.Compare(uint32(a.DeviceConfigID), uint32(b.DeviceConfigID)) // -1 is the greatest
		}
		return cmp.Or(
			cmp.Compare(a.Network, b.Network),
			cmp.Compare(a.MAC, b.MAC),
			slices.CompareFunc(addressesOf(&a), addressesOf(&b), netip.Addr.Compare),
			slices.CompareFunc(sorted(a.Secondary), sorted(b.Secondary), netip.Addr.Compare),
			slices.CompareFunc(sorted(a.Unusable), sorted(b.Unusable), netip.Addr.Compare),
		)
	}
	if !slices.IsSortedFunc(nics, compare) {
		nics = slices.Clone(nics)
		slices.SortStableFunc(nics, compare)
	}
	return nics
}

// addressesOf returns the addresses of an interface in order, each once.
func addressesOf(nic *inventory.NIC) []netip.Addr {
	out := sorted(nic.Addresses)
	if len(nic.Secondary) > 0 {
		secondary := func(a netip.Addr) int {
			if has(nic.Secondary, a) {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(out, func(a, b netip.Addr) int { return cmp.Compare(secondary(a), secondary(b)) })
	}
	return out
}

func sorted(all []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(all))
	for _, a := range all {
		if a.IsValid() {
			out = append(out, a.Unmap())
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func has(all []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(one netip.Addr) bool { return one.Unmap() == a })
}
