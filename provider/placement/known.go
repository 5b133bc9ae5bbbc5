package placement

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// reservedFor is how long the machine and the addresses that a Node was given are its own at
	// most while the Node does not show them.
	reservedFor = time.Minute
	// namesServeFor is for how long names serve a Node that waited for them, from when they first
	// did, where they take longer to read than the refresh interval.
	namesServeFor = time.Minute
)

// known is what this process knows of one Node beyond what the Node says.
type known struct {
	// lastSeen is where and when the machine was found last.
	lastSeen inventory.LastSeen
	// confirmed are the addresses that the Node claims and that its machine had at the last reading.
	confirmed []netip.Addr
	// confirmedBy has the Node and the machine that confirmed and lost follow from.
	confirmedBy struct {
		node    *v1.Node
		machine *inventory.Machine
	}
	// lost has the claimed addresses that the machine, which is not off, stopped reporting while it
	// reports others, and since when.
	lost map[netip.Addr]time.Time
	// cameInitialized reports whether the Node, since this process leads, came without the taint or
	// got a provider ID without it: nobody has initialized it.
	cameInitialized bool
	// reserved is the Node's last reservation. It counts while the placer has the Node in reserving.
	reserved reservation
	// refused reports whether the framework was answered that the Node has to wait. It does not
	// ask again before the Node changes or is announced.
	refused bool
	names   nameWait
	placed  placed
}

// A reservation has the machine and the addresses that a Node was given and does not show yet.
type reservation struct {
	node      string
	machine   inventory.UUID
	addresses []netip.Addr
	at        time.Time
}

// nameWait is the wait of a Node for names of tags. Began is its start, zero if the Node does not wait for
// names alone. Served is when names that were read since then first served the Node, zero before.
type nameWait struct{ began, served time.Time }

// start returns when the Node began to wait, which is now if it did not, or names have served it
// long ago.
func (w *nameWait) start() time.Time {
	if w.began.IsZero() || !w.served.IsZero() && time.Since(w.served) > namesServeFor {
		*w = nameWait{began: time.Now()}
	}
	return w.began
}

// serve notes that names were read since the Node began to wait.
func (w *nameWait) serve() {
	if w.served.IsZero() {
		w.served = time.Now()
	}
}

// confirm notes which of the addresses that a Node claims its machine has, and which it has lost. Of
// one that is unclear nothing changes.
func (k *known) confirm(node *v1.Node, m *inventory.Machine) {
	if k.confirmedBy.node == node && k.confirmedBy.machine == m {
		return
	}
	k.confirmedBy.node, k.confirmedBy.machine = node, m
	var now []netip.Addr
	lost := map[netip.Addr]time.Time{}
	for _, a := range addresses.ClaimedBy(node) {
		is, _ := addresses.Back(m, a)
		if is == addresses.Unbacked && m.Power != inventory.PowerOff {
			if lost[a] = k.lost[a]; lost[a].IsZero() {
				lost[a] = time.Now()
			}
		}
		if is == addresses.Backed || is == addresses.Unclear && slices.Contains(k.confirmed, a) {
			now = append(now, a)
		}
	}
	k.confirmed, k.lost = now, lost
}

// knownOf returns what is known of a Node, to be changed. The lock is held.
func (p *Placer) knownOf(node types.UID) *known {
	k := p.known[node]
	if k == nil {
		k = &known{}
		p.known[node] = k
	}
	return k
}

// nothing is known of a Node that is new.
var nothing known

// read returns what is known of a Node, not to be changed. The lock is held.
func (p *Placer) read(node types.UID) *known { return cmp.Or(p.known[node], &nothing) }

// reserve gives a Node addresses, and a machine unless that is zero, until it shows them. The lock
// is held since before anything was looked up. So of two Nodes that ask at the same time for the
// same, the second finds what the first got: reserved, or on the Node.
func (p *Placer) reserve(node *v1.Node, machine inventory.UUID, given []v1.NodeAddress) {
	if machine == (inventory.UUID{}) {
		machine = p.reservationOf(node.UID).machine // the informer may be behind
	}
	r := reservation{node: node.Name, machine: machine, at: time.Now()}
	for _, one := range given {
		if a, err := netip.ParseAddr(one.Address); err == nil { // it may be a host name
			r.addresses = append(r.addresses, a)
		}
	}
	p.knownOf(node.UID).reserved = r
	p.reserving[node.UID] = true
}

// reservationOf returns what a Node was given and does not show yet, nothing after reservedFor. The
// lock is held.
func (p *Placer) reservationOf(node types.UID) reservation {
	if !p.reserving[node] {
		return reservation{}
	}
	r := p.knownOf(node).reserved
	if time.Since(r.at) >= reservedFor {
		delete(p.reserving, node)
		return reservation{}
	}
	return r
}

// reservedBy returns the name of another Node that was given an address, empty for none. The lock
// is held.
func (p *Placer) reservedBy(a netip.Addr, node *v1.Node) string {
	for other := range p.reserving {
		if r := p.reservationOf(other); r.node != node.Name && slices.Contains(r.addresses, a) {
			return r.node
		}
	}
	return ""
}

// isThere reports whether a Node is still there, and no other one of its name. What the framework asks about one that is gone must
// leave nothing behind.
func (p *Placer) isThere(node *v1.Node) bool {
	if !p.nodes.IsStarted() {
		return true
	}
	now, err := p.nodes.Get(node.Name)
	return err == nil && now.UID == node.UID
}

// NodeChanged notes a change of a Node while this process leads. A reservation ends with what the Node
// shows. Before is nil if the Node comes.
func (p *Placer) NodeChanged(before, now *v1.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := before == nil || before.UID != now.UID || !nodeinfo.IsUninitialized(before) && before.Spec.ProviderID == "" && now.Spec.ProviderID != ""
	if came && p.nodes.IsStarted() && !nodeinfo.IsUninitialized(now) {
		p.knownOf(now.UID).cameInitialized = true
	}
	if !p.reserving[now.UID] {
		return
	}
	r := &p.knownOf(now.UID).reserved
	if !nodeinfo.IsUninitialized(now) {
		r.machine = inventory.UUID{}
	}
	shown := addresses.ClaimedBy(now)
	r.addresses = slices.DeleteFunc(r.addresses, func(a netip.Addr) bool { return slices.Contains(shown, a) })
	if r.machine == (inventory.UUID{}) && len(r.addresses) == 0 {
		delete(p.reserving, now.UID)
	}
}

// NodeDeleted ends what is known of a Node that is gone.
func (p *Placer) NodeDeleted(node types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, node)
	delete(p.reserving, node)
}

// Forget ends what is known of a Node that is gone or not ours. If it becomes ours again, it still
// counts as one that nobody has initialized.
func (p *Placer) Forget(node types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := p.read(node).cameInitialized
	delete(p.known, node)
	delete(p.reserving, node)
	if came {
		p.knownOf(node).cameInitialized = true
	}
}

// NoteSeen notes where the machine of a Node was found.
func (p *Placer) NoteSeen(node types.UID, at inventory.LastSeen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.knownOf(node).lastSeen = at
}

// IsRefused reports whether the framework was answered last that a Node has to wait.
func (p *Placer) IsRefused(node types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read(node).refused
}

// TakeRefused is IsRefused, and ends that: the Node is announced again.
func (p *Placer) TakeRefused(node types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.knownOf(node)
	was := k.refused
	k.refused = false
	return was
}

// Readdressed reports whether a Node has other addresses than before, or its kubelet
// another --node-ip.
func Readdressed(before, now *v1.Node) bool {
	const provided = cloudproviderapi.AnnotationAlphaProvidedIPAddr
	return before.Annotations[provided] != now.Annotations[provided] || !slices.Equal(before.Status.Addresses, now.Status.Addresses)
}

// Releases reports whether a Node no longer claims an address that it claimed before.
// Another may wait for that.
func Releases(before, now *v1.Node) bool {
	left := addresses.ClaimedBy(now)
	return slices.ContainsFunc(addresses.ClaimedBy(before), func(a netip.Addr) bool { return !slices.Contains(left, a) })
}

// claim adds the claims of other Nodes to what a Node's addresses are chosen by. Before
// the Nodes are known there are none, and nobody is initialized either.
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

// claimTo returns the claim of another Node to an address, one that is not void if
// there are several, or nil. Another Node with the same machine claims nothing of that:
// the one that was first gets its addresses, and the other one waits.
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
	if other := p.reservedBy(a, node); other != "" && (claim == nil || claim.Void) {
		claim = &addresses.Claim{Node: other, Why: "got it a moment ago"}
	}
	return claim, nil
}

// waitsForAddress reports whether a Node is to keep an address for now that its machine has lost a
// moment ago. One that another Node got meanwhile does not come back.
func (p *Placer) waitsForAddress(states []inventory.State, m *inventory.Machine, node *v1.Node) bool {
	k := p.knownOf(node.UID)
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

// holds reports whether a Node's machine may have an address that the Node claims, and
// why. What the Node says is not enough, since any kubelet may say it: the machine has to
// back it. Where it cannot be known whether it does now, it is enough that it did when
// this process last knew.
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
	return why, slices.Contains(p.read(node.UID).confirmed, a)
}
