package placement

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// readyGrace is longer than a kubelet can be silent before its Node is not ready: kube-controller-manager's
// --node-monitor-grace-period is 50 s, and up to a few seconds pass until it is noticed.
const readyGrace = 2 * time.Minute

// A found is what the states show of the machine that a Node names.
type found struct {
	id inventory.Identity
	// machine is nil if it is not certain. In is the state of its vCenter, and lost says why that does not answer.
	machine *inventory.Machine
	in      inventory.State
	lost    error
}

// A located is what was found, and which other Nodes have the machine.
type located struct {
	found
	sharing sharing
}

// locate finds the machine of a Node and the other Nodes that have it, and remembers the machine. The error says why the
// machine is not certain. What was found is there beside an error that is not the search's.
func (p *Placer) locate(states []inventory.State, node *v1.Node) (at located, err error) {
	at.found, err = p.look(states, node)
	p.remember(states, node, &at.found)
	if err = nodeinfo.WithContradiction(node, err); err != nil {
		return at, err
	}
	at.sharing, err = p.shared(states, at.machine, node)
	return at, err
}

// look returns the machine that a Node names, by its provider ID if it has one. It remembers nothing, so it is also for
// Nodes that are not decided about.
func (p *Placer) look(states []inventory.State, node *v1.Node) (f found, err error) {
	f.id, err = p.identify(states, node)
	if err != nil {
		return f, err
	}
	f.machine, err = inventory.Find(states, f.id)
	p.AskHome(err)
	if err != nil {
		return f, err
	}
	f.in = inventory.StateOf(states, f.machine.Ref.VCenter)
	f.lost = f.in.CheckReachable()
	return f, nil
}

// remember notes what was found of a Node. The machine of an initialized Node becomes its home if the vCenter answers.
func (p *Placer) remember(states []inventory.State, node *v1.Node, f *found) {
	k := p.memories.Of(node)
	if !isReadyWithoutHome(states, node, f.id) {
		k.readyWithoutHome = time.Time{}
	} else if k.readyWithoutHome.IsZero() {
		k.readyWithoutHome = time.Now()
	}
	if f.machine == nil || f.lost != nil {
		return
	}
	k.seen = true
	if !nodeinfo.IsUninitialized(node) {
		k.lastSeen = inventory.LastSeen{
			VCenter: f.in.VCenter, ID: f.machine.Ref.ID, At: f.in.LastContact, Instance: f.in.Snapshot.Instance, Name: f.machine.Name, VM: f.machine.InstanceUUID,
		}
		k.confirm(node, f.machine)
	}
}

// isReadyWithoutHome reports whether a Node is ready although its home is powered off.
func isReadyWithoutHome(states []inventory.State, node *v1.Node, id inventory.Identity) bool {
	return nodeinfo.IsReady(node) && inventory.HomeIsOff(states, id)
}

// identify is Identify, under the lock.
func (p *Placer) identify(states []inventory.State, node *v1.Node) (inventory.Identity, error) {
	id, err := p.Statement(node)
	k := p.kept(node.UID)
	id.LastSeen = k.lastSeen
	id.Seen = k.seen
	id.Addresses = addresses.ClaimedBy(node)
	since := k.readyWithoutHome
	id.OutlivedHome = !since.IsZero() && time.Since(since) > readyGrace && isReadyWithoutHome(states, node, id)
	return id, err
}

// Observe returns the machine of a Node by these states, nil if it is not certain or if another Node has it
// too. As long as the machine is the same pointer, the Node has the same place. Observe remembers where the
// machine of an initialized Node was found.
func (p *Placer) Observe(states []inventory.State, node *v1.Node) *inventory.Machine {
	p.memories.Lock()
	defer p.memories.Unlock()
	at, err := p.locate(states, node)
	isLost := at.lost != nil && !nodeinfo.IsUninitialized(node)
	if err != nil || isLost || at.sharing.any() {
		return nil
	}
	return at.machine
}
