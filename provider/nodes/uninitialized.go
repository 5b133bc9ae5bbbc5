package nodes

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/placement"
	"vzones/vcenter/inventory"
)

// syncUninitialized announces a Node that can be initialized to the framework, and has an Event say
// what another one waits for.
func (c *Controller) syncUninitialized(ctx context.Context, n *v1.Node, s *state, states []inventory.State) time.Duration {
	c.mu.Lock()
	s.labels = labelState{}
	c.mu.Unlock()
	s.addresses = nil
	maps.DeleteFunc(s.problems, func(about string, _ *problem) bool { return about != aboutMachine && about != aboutDeletion })
	var machine *inventory.Machine
	d, err := c.placer.Initial(n)
	if err == nil {
		machine = d.Machine
	}
	if c.placer.TakeRefused(n.UID) { // after Initial, so that no refusal by what was right before is missed
		s.announced = nil
	}
	c.decided(n, s, machine, d != nil && d.Shared || isOfOthers(err))
	if err == nil {
		c.announce(n, s, d)
		return c.isOver(ctx, n, s, aboutMachine, s.vcenter())
	}
	s.announced = nil
	if errors.Is(err, placement.ErrQuiet) {
		for _, of := range states {
			if of.Err == nil {
				c.fleet.Probe(of.VCenter)
			}
		}
	}
	next := c.machineIsWrong(ctx, n, s, err, waitingBeforeEvent)
	if l := c.labels.Load(); l != nil {
		next = sooner(next, c.writeReady(ctx, l, n, s, s.readiness(aboutMachine)))
	}
	return next
}

// announceAgain is how long after its announcement a Node that is still not initialized is announced
// again with the same metadata: the framework may have dropped it, or may repeat a refused write
// only after a quarter of an hour.
const announceAgain = resyncEvery / 2

// announce announces a Node that can be initialized, unless it was announced with the same metadata
// less than announceAgain ago.
func (c *Controller) announce(n *v1.Node, s *state, d *placement.Initial) {
	if reflect.DeepEqual(s.announced, d.Metadata) && time.Since(s.announcedAt) < announceAgain {
		return
	}
	s.announced, s.announcedAt = d.Metadata, time.Now()
	c.nodes.Announce(n)
}
