package placement

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// claims finds the claims of other Nodes to the addresses of a Node, by the states of one decision.
type claims struct {
	p      *Placer
	states []inventory.State
	// chosen has the addresses that other Nodes without one would get now.
	chosen map[types.UID][]v1.NodeAddress
}

func newClaims(p *Placer, states []inventory.State) *claims {
	return &claims{p, states, map[types.UID][]v1.NodeAddress{}}
}

// choose selects the addresses of a Node, and returns of how many families they are.
func (c *claims) choose(m *inventory.Machine, node *v1.Node) (addresses.Selection, int, error) {
	s := c.p.settings.Load()
	families := s.families[m.Ref.VCenter]
	if len(families) == 0 {
		return addresses.Selection{}, 0, topology.Errorf(addresses.ErrNone, "vCenter %q is not in the configuration any more: add it again", m.Ref.VCenter)
	}
	in := addresses.For(m, node, &s.cfg.Addresses, families)
	if err := c.addTo(&in, m, node); err != nil {
		return addresses.Selection{}, len(families), err
	}
	chosen, err := addresses.Select(in)
	return chosen, len(families), err
}

// addTo adds the claims of other Nodes to the input of the choice of addresses, and removes a guest's host name that
// is the name of another Node. Before the Nodes are known it changes nothing; no Node is initialized then.
func (c *claims) addTo(in *addresses.Input, m *inventory.Machine, node *v1.Node) error {
	if !c.p.nodes.IsStarted() {
		return nil
	}
	if other, err := c.p.nodes.Get(strings.ToLower(in.HostName)); err == nil && other.Name != node.Name {
		in.HostName = ""
	}
	for _, a := range in.Candidates() {
		claim, err := c.to(a, m, node)
		if err == nil && (claim == nil || claim.Void) && in.IsOfFamily(a) {
			var elder *v1.Node
			if elder, err = c.elder(a, m, node); elder != nil {
				claim = &addresses.Claim{Node: elder.Name, Why: "that Node is older"}
			}
		}
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

// to returns the claim of another Node to an address, or nil. Of several claims it prefers one that is
// not void. A Node with the same machine has no claim: the first of the two Nodes gets the addresses, and the
// other one waits. If the machine reports the address, a Node has no claim before which this Node comes by isElder.
func (c *claims) to(a netip.Addr, m *inventory.Machine, node *v1.Node) (*addresses.Claim, error) {
	claimants, err := c.p.nodes.ByAddress(a.String())
	if err != nil {
		return nil, topology.Errorf(topology.ErrUnknown, "it is not known which Nodes have the address %s, which is tried again: %w", a, err)
	}
	var claim *addresses.Claim
	for _, other := range claimants {
		if other.Name == node.Name || c.p.has(c.states, other, m) {
			continue
		}
		if isElder(node, other, a) && slices.Contains(addresses.Reported(m), a) {
			continue
		}
		why, holds := c.p.holds(c.states, other, a)
		if claim == nil || holds && (claim.Void || other.Name < claim.Node) {
			claim = &addresses.Claim{Node: other.Name, Void: !holds, Why: why}
		}
	}
	if other := c.p.reservations.by(a, node); other != "" && (claim == nil || claim.Void) {
		claim = &addresses.Claim{Node: other, Why: "got it a moment ago"}
	}
	return claim, nil
}

// waitsForAddress reports whether a Node keeps, for now, an address that its machine lost a moment ago and
// that no other Node has got since.
func (p *Placer) waitsForAddress(states []inventory.State, m *inventory.Machine, node *v1.Node) bool {
	k := p.memories.Of(node)
	if k.confirmedBy.machine == nil {
		k.confirm(node, m)
	}
	others := newClaims(p, states)
	for a, since := range k.lost {
		if time.Since(since) >= p.addressWait {
			continue
		}
		if claim, err := others.to(a, m, node); err == nil && (claim == nil || claim.Void) {
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
	f, err := p.look(states, node)
	if err == nil {
		err = cmp.Or(f.lost, nodeinfo.Contradiction(node))
	}
	why := "what its VM has is not known now"
	switch {
	case err == nil && f.in.Err == nil:
		var backing addresses.Backing
		backing, why = addresses.Back(f.machine, a)
		if backing != addresses.Unclear {
			return why, backing == addresses.Backed
		}
	case errors.Is(err, topology.ErrAbsent) && node.Spec.ProviderID != "" && !nodeinfo.IsReady(node):
		return "", false
	}
	return why, slices.Contains(p.kept(node.UID).confirmed, a)
}
