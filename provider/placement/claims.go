package placement

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// AddressesDiffer reports whether a Node has other addresses than before, or its kubelet
// another --node-ip.
func AddressesDiffer(before, now *v1.Node) bool {
	const provided = cloudproviderapi.AnnotationAlphaProvidedIPAddr
	return before.Annotations[provided] != now.Annotations[provided] || !slices.Equal(before.Status.Addresses, now.Status.Addresses)
}

// claim adds the claims of other Nodes to the input of the choice of addresses. Before the Nodes are known
// it adds none; no Node is initialized then.
func (p *Placer) claim(in *addresses.Input, states []inventory.State, m *inventory.Machine, node *v1.Node) error {
	if !p.nodes.IsStarted() {
		return nil
	}
	for _, a := range in.Candidates() {
		claim, err := p.claimTo(a, states, m, node)
		if err != nil {
			return err
		}
		if claim == nil {
			continue
		}
		if in.Claims == nil {
			in.Claims = map[netip.Addr]addresses.Claim{}
		}
		in.Claims[a] = *claim
	}
	return nil
}

// claimTo returns the claim of another Node to an address, or nil. Of several claims it prefers one that is
// not void. A Node with the same machine has no claim: the first of the two Nodes gets the addresses, and the
// other one waits.
func (p *Placer) claimTo(a netip.Addr, states []inventory.State, m *inventory.Machine, node *v1.Node) (*addresses.Claim, error) {
	claimants, err := p.nodes.ByAddress(a.String())
	if err != nil {
		return nil, topology.Errorf(topology.ErrUnknown, "it is not known which Nodes have the address %s, which is tried again: %w", a, err)
	}
	var claim *addresses.Claim
	for _, other := range claimants {
		if other.Name == node.Name || p.has(states, other, m) {
			continue
		}
		why, holds := p.holds(states, other, a)
		if claim == nil || holds && (claim.Void || other.Name < claim.Node) {
			claim = &addresses.Claim{Node: other.Name, Void: !holds, Why: why}
		}
	}
	if other := p.memory.reservedBy(a, node); other != "" && (claim == nil || claim.Void) {
		claim = &addresses.Claim{Node: other, Why: "got it a moment ago"}
	}
	return claim, nil
}

// waitsForAddress reports whether a Node keeps, for now, an address that its machine lost a moment ago and
// that no other Node has got since.
func (p *Placer) waitsForAddress(states []inventory.State, m *inventory.Machine, node *v1.Node) bool {
	k := p.memory.of(node.UID)
	if k.confirmedBy.machine == nil {
		k.confirm(node, m)
	}
	for a, since := range k.lost {
		if time.Since(since) >= p.addressWait {
			continue
		}
		if claim, err := p.claimTo(a, states, m, node); err == nil && (claim == nil || claim.Void) {
			return true
		}
	}
	return false
}

// holds reports whether a Node's claim to an address holds, and why. The machine has to have the address,
// because any kubelet can claim one. If it is not known whether the machine has the address now, the last
// known answer counts.
func (p *Placer) holds(states []inventory.State, node *v1.Node, a netip.Addr) (string, bool) {
	if p.IsForeign(node) {
		return "", false
	}
	m, in, lost, err := p.find(states, node)
	if err == nil {
		err = cmp.Or(lost, nodeinfo.Contradiction(node))
	}
	why := "what its machine has is not known now"
	switch {
	case err == nil && in.Err == nil:
		var backing addresses.Backing
		backing, why = addresses.Back(m, a)
		if backing != addresses.Unclear {
			return why, backing == addresses.Backed
		}
	case errors.Is(err, topology.ErrAbsent) && node.Spec.ProviderID != "" && !nodeinfo.IsReady(node):
		return "", false
	}
	return why, slices.Contains(p.memory.read(node.UID).confirmed, a)
}
