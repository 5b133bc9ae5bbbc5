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
