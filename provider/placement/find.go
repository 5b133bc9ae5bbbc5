package placement

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/identity"
	"vzones/provider/nodestate"
	"vzones/vcenter/inventory"
)

// Statement returns what a Node says about its machine, if a machine may be looked for by
// that.
func (p *Placer) Statement(node *v1.Node) (inventory.Identity, error) {
	id, err := identity.Of(node)
	if err == nil {
		err = identity.Allowed(node, id, p.Config().MatchByName)
	}
	return id, err
}

// Identify returns what a Node says about its machine, with what this process knows.
func (p *Placer) Identify(node *v1.Node) (inventory.Identity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.identify(node)
}

func (p *Placer) identify(node *v1.Node) (inventory.Identity, error) {
	id, err := p.Statement(node)
	id.LastSeen = p.read(node.UID).lastSeen
	id.Joins = nodestate.IsUninitialized(node)
	id.Running = id.Joins || nodestate.IsReady(node)
	return id, err
}

// lookFor returns the machine of a Node, and has its vCenter asked about one that is not shown any more.
func (p *Placer) lookFor(states []inventory.State, id inventory.Identity) (*inventory.Machine, error) {
	m, err := inventory.Find(states, id)
	p.AskHome(err)
	return m, err
}

// AskHome has a vCenter asked about a machine that is not shown any more, if an error of
// inventory.Find says so.
func (p *Placer) AskHome(err error) {
	var not *inventory.NotShown
	if errors.As(err, &not) {
		p.fleet.AskHome(not.VCenter, not.ID)
	}
}

// machine returns the machine of a Node that does not name two of them.
func (p *Placer) machine(states []inventory.State, node *v1.Node) (*inventory.Machine, error) {
	if err := identity.Contradiction(node); err != nil {
		return nil, err
	}
	return p.named(states, node)
}

// named returns the machine that a Node names, by its provider ID if it has one.
func (p *Placer) named(states []inventory.State, node *v1.Node) (*inventory.Machine, error) {
	id, err := p.identify(node)
	if err != nil {
		return nil, err
	}
	return p.lookFor(states, id)
}

// inContact returns a Node's machine and the state of its vCenter, if that is in
// contact.
func (p *Placer) inContact(states []inventory.State, node *v1.Node) (*inventory.Machine, inventory.State, error) {
	m, err := p.machine(states, node)
	return reached(states, m, err)
}

// reached returns the state of a machine's vCenter too, if that is in contact.
func reached(states []inventory.State, m *inventory.Machine, err error) (*inventory.Machine, inventory.State, error) {
	if err != nil {
		return nil, inventory.State{}, err
	}
	in := inventory.StateOf(states, m.Ref.VCenter)
	if err := in.CheckReachable(); err != nil {
		return nil, inventory.State{}, err
	}
	return m, in, nil
}
