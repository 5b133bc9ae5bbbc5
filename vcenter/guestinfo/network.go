package guestinfo

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
)

const maxAddresses = 256

// A reader collects addresses. Like the guest, it skips other content.
type reader struct {
	found []netip.Addr
	// budget is the number of nodes that may still be visited.
	budget int
}

// version1 reads a list of devices with subnets.
func (r *reader) version1(network *node) {
	for device := range r.items(r.get(network, "config")) {
		for subnet := range r.items(r.get(device, "subnets")) {
			r.addAddress(r.get(subnet, "address"))
		}
	}
}

// deviceTypes are netplan's device types with addresses.
var deviceTypes = []string{"ethernets", "bonds", "bridges", "vlans", "wifis", "tunnels", "dummy-devices", "vrfs"}

// version2 reads mappings of devices by type.
func (r *reader) version2(network *node) {
	for _, kind := range deviceTypes {
		for _, device := range r.pairs(r.get(network, kind)) {
			for address := range r.items(r.get(device, "addresses")) {
				if address.Kind == mappingNode { // The value contains options.
					for key := range r.pairs(address) {
						r.addAddress(key)
					}
					continue
				}
				r.addAddress(address)
			}
		}
	}
}

func (r *reader) addAddress(n *node) {
	if n == nil || n.Kind != scalarNode || len(r.found) > maxAddresses {
		return
	}
	text, _, _ := strings.Cut(strings.TrimSpace(n.Value), "/")
	a, err := netip.ParseAddr(text)
	if err != nil {
		return // For example "dhcp".
	}
	if a = a.Unmap().WithZone(""); !slices.Contains(r.found, a) {
		r.found = append(r.found, a)
	}
}

func (r *reader) get(mapping *node, key string) *node {
	for k, v := range r.pairs(mapping) {
		if k.Value == key {
			return v
		}
	}
	return nil
}

func (r *reader) pairs(n *node) iter.Seq2[*node, *node] {
	return func(yield func(_, _ *node) bool) {
		if n = follow(n); n == nil || n.Kind != mappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content) && r.take(); i += 2 {
			if !yield(n.Content[i], follow(n.Content[i+1])) {
				return
			}
		}
	}
}

func (r *reader) items(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		if n = follow(n); n == nil || n.Kind != sequenceNode {
			return
		}
		for _, item := range n.Content {
			if !r.take() || !yield(follow(item)) {
				return
			}
		}
	}
}

func (r *reader) take() bool {
	r.budget--
	return r.budget >= 0
}

func follow(n *node) *node {
	if n != nil && n.Kind == aliasNode {
		return n.Alias
	}
	return n
}
