package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/provider/addresses"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// addressIndex is the informer's index of all Nodes by the addresses that they
	// claim. It changes with a Node's addresses, which is seldom.
	addressIndex = "vzones/address"
	// granted is how long an address that a Node was given is its own at most while
	// the Node's status does not show it.
	granted = time.Minute
)

// indexAddresses is the function of addressIndex.
func indexAddresses(object any) ([]string, error) {
	n, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	claimed := addresses.ClaimedBy(n)
	keys := make([]string, len(claimed))
	for i, a := range claimed {
		keys[i] = a.String()
	}
	return keys, nil
}

// readdressed reports whether a Node has other addresses than before, or its kubelet
// another --node-ip.
func readdressed(before, now *v1.Node) bool {
	const provided = cloudproviderapi.AnnotationAlphaProvidedIPAddr
	return before.Annotations[provided] != now.Annotations[provided] || !slices.Equal(before.Status.Addresses, now.Status.Addresses)
}

// releases reports whether a Node no longer claims an address that it claimed before.
// Another may wait for that.
func releases(before, now *v1.Node) bool {
	left := addresses.ClaimedBy(now)
	return slices.ContainsFunc(addresses.ClaimedBy(before), func(a netip.Addr) bool { return !slices.Contains(left, a) })
}

// claim adds the claims of other Nodes to what a Node's addresses are chosen by. Before
// the Nodes are known there are none, and nobody is initialized either.
func (p *Provider) claim(in *addresses.Input, states []inventory.State, m *inventory.Machine, node *v1.Node) error {
	if !p.leads() {
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

// claimTo returns the claim of another Node to an address, one that is not void if
// there are several, or nil. Another Node with the same machine claims nothing of that:
// the one that was first gets its addresses, and the other one waits.
func (p *Provider) claimTo(a netip.Addr, states []inventory.State, m *inventory.Machine, node *v1.Node) (*addresses.Claim, error) {
	claimants, err := p.nodes.NodeInformer.Informer().GetIndexer().ByIndex(addressIndex, a.String())
	if err != nil {
		return nil, fmt.Errorf("%w: which Nodes have the address %s: %w", topology.ErrUnknown, a, err)
	}
	var claim *addresses.Claim
	for _, object := range claimants {
		other, ok := object.(*v1.Node)
		if !ok || other.Name == node.Name || p.has(states, other, m) {
			continue
		}
		why, holds := p.holds(states, other, a)
		if claim == nil || holds && (claim.Void || other.Name < claim.Node) {
			claim = &addresses.Claim{Node: other.Name, Void: !holds, Why: why}
		}
	}
	if other := p.grants.to(a, node); claim == nil && other != "" {
		claim = &addresses.Claim{Node: other, Why: "got it a moment ago"}
	}
	return claim, nil
}

// holds reports whether a Node's machine may have an address that the Node claims, and
// why. What the Node says is not enough, since any kubelet may say it: the machine has to
// back it. Where it cannot be known whether it does now, it is enough that it did when
// this process last knew.
func (p *Provider) holds(states []inventory.State, node *v1.Node, a netip.Addr) (string, bool) {
	if p.isForeign(node) {
		return "", false
	}
	m, in, err := p.inContact(states, node)
	why := "what its machine has is not known now"
	switch {
	case err == nil && in.Trouble == nil:
		var backing addresses.Backing
		backing, why = addresses.Back(m, a)
		if backing != addresses.Unclear {
			return why, backing == addresses.Backed
		}
	case errors.Is(err, topology.ErrAbsent) && node.Spec.ProviderID != "" && !isReady(node):
		return "", false
	}
	return why, p.sightings.backed(node.UID, a)
}

// grants are the addresses that Nodes were given and that their status does not show
// yet: of two that ask at the same time for the same address, one gets it.
type grants struct {
	mu     sync.Mutex
	by     map[netip.Addr]grant
	of     map[types.UID][]netip.Addr
	purged time.Time
}

type grant struct {
	node types.UID
	name string
	at   time.Time
}

// to returns the name of another Node that was given an address, or nothing.
func (g *grants) to(a netip.Addr, node *v1.Node) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if by, ok := g.by[a]; ok && by.node != node.UID && time.Since(by.at) < granted {
		return by.name
	}
	return ""
}

// give notes that a Node gets addresses, all of them or none: the error says which one
// another Node was given.
func (g *grants) give(node *v1.Node, all []v1.NodeAddress) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.purge(now)
	var wanted []netip.Addr
	for _, one := range all {
		a, err := netip.ParseAddr(one.Address)
		if err != nil {
			continue // a host name
		}
		if by, ok := g.by[a]; ok && by.node != node.UID && now.Sub(by.at) < granted {
			return fmt.Errorf("%w: Node %s was given %s a moment ago", errAddressClaimed, by.name, a)
		}
		wanted = append(wanted, a)
	}
	if g.by == nil {
		g.by, g.of = map[netip.Addr]grant{}, map[types.UID][]netip.Addr{}
	}
	g.end(node.UID) // what it was given before and is not now is free
	g.of[node.UID] = wanted
	for _, a := range wanted {
		g.by[a] = grant{node.UID, node.Name, now}
	}
	return nil
}

// purge ends what was given long ago. The lock is held.
func (g *grants) purge(now time.Time) {
	if now.Sub(g.purged) < granted/4 {
		return
	}
	g.purged = now
	for a, by := range g.by {
		if now.Sub(by.at) >= granted {
			delete(g.by, a)
			delete(g.of, by.node)
		}
	}
}

// shown ends what a Node was given and claims by now.
func (g *grants) shown(node *v1.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.of[node.UID]) == 0 {
		return
	}
	claimed := addresses.ClaimedBy(node)
	left := slices.DeleteFunc(g.of[node.UID], func(a netip.Addr) bool {
		if !slices.Contains(claimed, a) {
			return false
		}
		if g.by[a].node == node.UID {
			delete(g.by, a)
		}
		return true
	})
	if g.of[node.UID] = left; len(left) == 0 {
		delete(g.of, node.UID)
	}
}

// forget ends what a Node was given that is gone.
func (g *grants) forget(node types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(node)
}

// end ends all that a Node was given. The lock is held.
func (g *grants) end(node types.UID) {
	for _, a := range g.of[node] {
		if g.by[a].node == node {
			delete(g.by, a)
		}
	}
	delete(g.of, node)
}

// addAddressIndex has the informer keep addressIndex.
func (p *Provider) addAddressIndex() {
	if err := p.nodes.NodeInformer.Informer().AddIndexers(cache.Indexers{addressIndex: indexAddresses}); err != nil {
		klog.Background().Error(err, "Cannot index Nodes by their addresses") //nolint:forbidigo // SetInformers has no context
	}
}
