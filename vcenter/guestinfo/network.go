package guestinfo

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// maxAddresses bounds what is found.
const maxAddresses = 256

// reader gathers addresses. What does not have the form of a network
// configuration is passed over, as by the guest.
type reader struct {
	found []netip.Addr
	// left is how many more nodes may be looked at; below 0 nothing is.
	left int
}

// version1 reads a list of devices, each with its subnets.
func (r *reader) version1(network *node) {
	for device := range r.items(r.get(network, "config")) {
		for subnet := range r.items(r.get(device, "subnets")) {
			r.address(r.get(subnet, "address"))
		}
	}
}

// kinds are netplan's kinds of devices that may have addresses.
var kinds = []string{"ethernets", "bonds", "bridges", "vlans", "wifis", "tunnels", "dummy-devices", "vrfs"}

// version2 reads mappings of devices, by kind, each with its addresses.
func (r *reader) version2(network *node) {
	for _, kind := range kinds {
		for _, device := range r.pairs(r.get(network, kind)) {
			for address := range r.items(r.get(device, "addresses")) {
				if address.Kind == mappingNode { // the address with its options
					for key := range r.pairs(address) {
						r.address(key)
					}
					continue
				}
				r.address(address)
			}
		}
	}
}

// address takes an address, with a prefix length or without.
func (r *reader) address(n *node) {
	if n == nil || n.Kind != scalarNode || len(r.found) > maxAddresses {
		return
	}
	text, _, _ := strings.Cut(strings.TrimSpace(n.Value), "/")
	a, err := netip.ParseAddr(text)
	if err != nil {
		return // such as dhcp
	}
	if a = a.Unmap().WithZone(""); !slices.Contains(r.found, a) {
		r.found = append(r.found, a)
	}
}

// get returns the value of a key, nil if there is none.
func (r *reader) get(mapping *node, key string) *node {
	for k, v := range r.pairs(mapping) {
		if k.Value == key {
			return v
		}
	}
	return nil
}

// pairs goes through a mapping; what is none is empty.
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

// items goes through a list; what is none is empty.
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
	r.left--
	return r.left >= 0
}

// follow returns the node that an alias stands for.
func follow(n *node) *node {
	if n != nil && n.Kind == aliasNode {
		return n.Alias
	}
	return n
}
