package nodes

import (
	"context"
	"errors"
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/addresses"
	"vzones/provider/identity"
	"vzones/provider/nodestate"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// syncInitialized annotates an initialized Node with the location of its machine, has an
// Event say what is wrong with it, and keeps its labels.
func (c *Controller) syncInitialized(ctx context.Context, n *v1.Node, s *state) time.Duration {
	s.announced, s.announcedAt = nil, time.Time{}
	place, err := c.placer.Place(n)
	s.place, s.placeErr = place, err
	if s.later && !place.Later && place.Machine != nil {
		c.fleet.Probe(place.Machine.Ref.VCenter) // its labels may be written again
	}
	s.later = place.Later
	machine := place.Machine
	if place.Problem != nil {
		machine = nil // look again whenever something changes
	}
	c.decided(n, s, machine, isOfOthers(place.Problem))
	next := c.annotateLocation(ctx, n, s, place.Location)
	ours, wait := c.recordProblem(ctx, n, s, &place)
	next = sooner(next, wait)
	if ours {
		delete(s.problems, aboutOwner)
		next = sooner(next, c.recordReaddressed(n, s))
	}
	if l := c.labels.Load(); l != nil {
		now, wait := c.syncLabels(ctx, l, n, s, place, err)
		next = sooner(next, wait)
		switch {
		case !ours && report.ReadyOf(n).Status == "":
			now = readiness{}
		case !ours: // what it says may have been right when it was written
			now, wait = s.isNotKnown(aboutOwner, place.Problem)
			next = sooner(next, wait)
		case place.Problem != nil:
			now = s.readiness(aboutMachine)
		}
		next = sooner(next, c.writeReady(ctx, l, n, s, now))
	}
	return next
}

// annotateLocation has a Node annotated with the location of its machine, if that is to be
// written. It returns when that has to be tried again.
func (c *Controller) annotateLocation(ctx context.Context, n *v1.Node, s *state, to placement.Location) time.Duration {
	if to == (placement.Location{}) {
		s.annotation.turn.done()
		return 0
	}
	return c.send(withVCenter(ctx, identity.ParseLocation(to.Machine).VCenter), n, s, &s.annotation, c.annotationPace, patch{
		about: "where the machine is", kind: types.MergePatchType,
		body: map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": to.Annotations()}},
	})
}

// initialized are the Nodes whose labels are kept.
func (c *Controller) initialized() iter.Seq[*v1.Node] {
	return func(yield func(*v1.Node) bool) {
		for _, n := range c.nodes.All() {
			if !nodestate.IsUninitialized(n) && !c.placer.IsForeign(n) && !yield(n) {
				return
			}
		}
	}
}

// noteInitialized notes that the framework has initialized a Node.
func (c *Controller) noteInitialized(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateLocked(uid).initialized = time.Now()
}

// isOfOthers reports whether an error is about what other Nodes have.
func isOfOthers(err error) bool {
	return errors.Is(err, placement.ErrShared) || errors.Is(err, addresses.ErrClaimed)
}

// decided notes what a Node was decided by. Others with which it shares something from now on
// are decided about too.
func (c *Controller) decided(n *v1.Node, s *state, machine *inventory.Machine, shared bool) {
	c.mu.Lock()
	news := shared && !s.shared
	s.node, s.machine, s.shared = n, machine, shared
	c.mu.Unlock()
	if news {
		c.queue.AddAfter(item{job: observeNodes}, max(gather, c.passes.pause()))
	}
}

// recordProblem has an Event say what is wrong with an initialized Node, or that it is over. It
// reports whether the Node is one of ours, as far as is known.
func (c *Controller) recordProblem(ctx context.Context, n *v1.Node, s *state, place *placement.Place) (ours bool, wait time.Duration) {
	err := place.Problem
	never := n.Spec.ProviderID == "" && (errors.Is(err, topology.ErrAbsent) || errors.Is(err, topology.ErrUnknown))
	switch {
	case err == nil:
		return true, c.isOver(ctx, n, s, aboutMachine, vcenterAt(place))
	case never && !errors.Is(err, placement.ErrShared):
		delete(s.problems, aboutMachine)
		return false, 0
	}
	return true, c.machineIsWrong(ctx, n, s, err, runningBeforeEvent)
}
