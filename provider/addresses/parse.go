package addresses

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
)

func provided(annotation string) []netip.Addr {
	parts := strings.SplitN(annotation, ",", 3)
	if len(parts) > 2 {
		return nil
	}
	var addrs []netip.Addr
	for _, part := range parts {
		if a, ok := parse(part); ok {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

func first(addrs []v1.NodeAddress, kind v1.NodeAddressType, family string) netip.Addr {
	for _, candidate := range addrs {
		if candidate.Type != kind {
			continue
		}
		if a, ok := parse(candidate.Address); ok && familyOf(a) == family {
			return a
		}
	}
	return netip.Addr{}
}

// parse rejects IPv6 zones, because a kubelet can write any text there.
func parse(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil && a.Zone() == ""
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}
