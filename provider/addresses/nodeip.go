package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
)

// leaveOut drops the addresses that the framework would drop: the other addresses of a type with an address in --node-ip.
func (s *Selection) leaveOut(input *Input, provided map[string]netip.Addr) {
	isProvided := func(a v1.NodeAddress) bool {
		ip, ok := parse(a.Address)
		return ok && a.Type != v1.NodeHostName && ip == provided[familyOf(ip)]
	}
	hasProvided := map[v1.NodeAddressType]bool{}
	for _, a := range s.Addresses {
		hasProvided[a.Type] = hasProvided[a.Type] || isProvided(a)
	}
	var kept, dropped []v1.NodeAddress
	for _, a := range s.Addresses {
		if hasProvided[a.Type] && !isProvided(a) {
			dropped = append(dropped, a)
		} else {
			kept = append(kept, a)
		}
	}
	s.Addresses = kept
	if len(dropped) == 0 {
		return
	}
	for i := range s.Results {
		v := &s.Results[i]
		if slices.Contains(dropped, v1.NodeAddress{Type: v1.NodeInternalIP, Address: v.Address.String()}) && v.Internal.Chosen() {
			v.Internal = Reason{Rule: NotNodeIP}
		}
		if slices.Contains(dropped, v1.NodeAddress{Type: v1.NodeExternalIP, Address: v.Address.String()}) && v.External.Chosen() {
			v.External = Reason{Rule: NotNodeIP}
		}
	}
	s.OmittedErr = fmt.Errorf("%s: %w", input.Ref.Located(input.InventoryPath), omissionError(input, dropped, provided))
}

func omissionError(input *Input, dropped []v1.NodeAddress, provided map[string]netip.Addr) error {
	var names []string
	for _, a := range dropped {
		names = append(names, string(a.Type)+" "+a.Address)
	}
	advice := "use the same addresses in the kubelet's --node-ip and in the address rules of the configuration"
	for _, family := range input.Families {
		if !provided[family].IsValid() {
			advice = fmt.Sprintf("add an %s address to --node-ip, or remove %s from ipFamily", family, family)
		}
	}
	return fmt.Errorf("the kubelet's --node-ip is %s, so Kubernetes omits %s: %s", quote.Value(input.Provided), strings.Join(names, " and "), advice)
}
