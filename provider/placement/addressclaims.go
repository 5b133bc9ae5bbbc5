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

// AddressesDiffer reports whether an update changed a Node's addresses or --node-ip.
func AddressesDiffer(old, current *v1.Node) bool {
	const provided = cloudproviderapi.AnnotationAlphaProvidedIPAddr
	return old.Annotations[provided] != current.Annotations[provided] || !slices.Equal(old.Status.Addresses, current.Status.Addresses)
}

// claimFinder finds other Nodes' claims to addresses.
type claimFinder struct {
	p      *Placer
	states []inventory.State
	// elderAddresses caches the addresses chosen for older Nodes, by Node UID.
	elderAddresses map[types.UID][]v1.NodeAddress
}

func newClaimFinder(p *Placer, states []inventory.State) *claimFinder {
	return &claimFinder{p, states, map[types.UID][]v1.NodeAddress{}}
}

func (c *claimFinder) choose(m *inventory.VM, node *v1.Node) (addresses.Selection, int, error) {
	s := c.p.settings.Load()
	families := s.families[m.Ref.VCenter]
	if len(families) == 0 {
		return addresses.Selection{}, 0, topology.Errorf(addresses.ErrNone, "vCenter %q is no longer in the configuration: add it again", m.Ref.VCenter)
	}
	input := addresses.NewInput(m, node, &s.cfg.Addresses, families)
	if !nodeinfo.IsUninitialized(node) {
		input.InitialHostName = memoryOf(c.p.memories, node.UID).initialHostName
	}
	if err := c.addTo(&input, m, node); err != nil {
		return addresses.Selection{}, len(families), err
	}
	chosen, err := addresses.Select(input)
	return chosen, len(families), err
}

// addTo adds other Nodes' claims, and removes a guest's host name that is another Node's name.
func (c *claimFinder) addTo(input *addresses.Input, m *inventory.VM, node *v1.Node) error {
	if !c.p.nodes.IsStarted() {
		return nil
	}
	if namesake, err := c.p.nodes.Get(strings.ToLower(input.HostName)); err == nil && namesake.Name != node.Name {
		input.HostName = ""
	}
	for _, a := range input.Candidates() {
		claim, err := c.claimTo(a, m, node)
		if err == nil && (claim == nil || claim.Void) && input.IsOfFamily(a) {
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
		if input.Claims == nil {
			input.Claims = map[netip.Addr]addresses.Claim{}
		}
		input.Claims[a] = *claim
	}
	return nil
}

// claimTo returns another Node's claim to an address, or nil. It prefers a claim that is not void. It ignores Nodes that
// have or may have the same VM and, if VM m reports the address, Nodes over which node takes precedence (see isElder).
func (c *claimFinder) claimTo(a netip.Addr, m *inventory.VM, node *v1.Node) (*addresses.Claim, error) {
	claimants, err := c.p.nodes.ByAddress(a.String())
	if err != nil {
		return nil, topology.Errorf(topology.ErrUnknown, "cannot look up the Nodes with address %s; retrying: %w", a, err)
	}
	var claim *addresses.Claim
	for _, claimant := range claimants {
		if claimant.Name == node.Name || c.p.mayHave(c.states, claimant, m) {
			continue
		}
		if isElder(node, claimant, a) && slices.Contains(addresses.Reported(m), a) {
			continue
		}
		why, isValid := c.p.checkClaim(c.states, claimant, a)
		if claim == nil || isValid && (claim.Void || claimant.Name < claim.Node) {
			claim = &addresses.Claim{Node: claimant.Name, Void: !isValid, Why: why}
		}
	}
	if holder := c.p.reservations.holderOf(a, node); holder != "" && (claim == nil || claim.Void) {
		claim = &addresses.Claim{Node: holder, Why: "that Node got it a moment ago"}
	}
	return claim, nil
}

// IsWaitingForAddress reports whether an initialized Node keeps its addresses for now, although a decision changes them.
func (p *Placer) IsWaitingForAddress(node *v1.Node, d *Decision) bool {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.isWaitingForAddress(d.states, d.VM, node)
}

// isWaitingForAddress reports whether the VM stopped reporting one of its Node's addresses less than addressWait ago, and
// no other Node has a valid claim to that address.
func (p *Placer) isWaitingForAddress(states []inventory.State, m *inventory.VM, node *v1.Node) bool {
	k := p.memories.Memory(node)
	if k.confirmedBy.vm == nil {
		k.confirm(node, m)
	}
	otherClaims := newClaimFinder(p, states)
	for a, lostAt := range k.lost {
		if time.Since(lostAt) >= p.addressWait {
			continue
		}
		if claim, err := otherClaims.claimTo(a, m, node); err == nil && (claim == nil || claim.Void) {
			return true
		}
	}
	return false
}

// checkClaim returns the reason for a Node's claim to an address, and whether the claim is valid. Its VM must have the
// address, because any kubelet can claim one. While that is unknown, the last known answer applies, but a Node that is not
// ready and whose VM is absent has no claim.
func (p *Placer) checkClaim(states []inventory.State, node *v1.Node, a netip.Addr) (string, bool) {
	if p.IsForeign(node) {
		return "", false
	}
	f, err := p.findVM(states, node)
	if err == nil {
		err = cmp.Or(f.unreachable, nodeinfo.Contradiction(node))
	}
	why := "its VM's addresses are currently unknown"
	switch {
	case err == nil && f.state.Err == nil:
		var backing addresses.Backing
		backing, why = addresses.BackingOf(f.vm, a)
		if backing != addresses.Unclear {
			return why, backing == addresses.Backed
		}
	case errors.Is(err, topology.ErrAbsent) && node.Spec.ProviderID != "" && !nodeinfo.IsReady(node):
		return "", false
	}
	return why, slices.Contains(memoryOf(p.memories, node.UID).confirmed, a)
}
