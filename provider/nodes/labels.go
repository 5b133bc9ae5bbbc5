package nodes

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/placement"
	"vzones/provider/plan"
)

// fresh is how old the vCenter's last answer may be when a Node is written.
const fresh = 2 * time.Second

// labeler is what the labels of all Nodes have in common. It belongs to the goroutine that
// decides, but for writes, which are counted under the controller's lock.
type labeler struct {
	// recordOnPod records an Event on the daemon's own Pod. It does not wait.
	recordOnPod func(eventType, reason, message string)
	// pace limits the writes, readyPace those of conditions.
	pace, readyPace *rate.Limiter

	writes    map[plan.Action]int
	conflicts fleetConflicts
	unread    unreadTags
}

// KeepLabels has the labels of running Nodes kept as long as Run runs, until the context is done.
// It records what concerns many Nodes on the daemon's own Pod, by a function that must not wait.
func (c *Controller) KeepLabels(ctx context.Context, recordOnPod func(eventType, reason, message string)) error {
	select {
	case <-c.running:
	case <-ctx.Done():
		return nil
	}
	l := &labeler{
		recordOnPod: recordOnPod,
		pace:        rate.NewLimiter(patchesPerSecond, patchesPerSecond), readyPace: rate.NewLimiter(patchesPerSecond, 1),
		writes: map[plan.Action]int{}, unread: unreadTags{unread{}, unread{}},
	}
	c.labels.Store(l)
	c.findConflictsSoon()
	for _, n := range c.nodes.All() {
		c.queue.Add(itemOf(n))
	}
	<-ctx.Done()
	<-c.stopped // until then it records Events
	return nil
}

// syncLabels decides about the labels of an initialized Node that is at a place, or why it is
// not, and writes that as it was decided: the resource version makes the write fail if somebody else
// has written since. It returns what the Node's condition has to say, zero while that is open.
func (c *Controller) syncLabels(ctx context.Context, l *labeler, n *v1.Node, s *state, place placement.Place, err error) (readiness, time.Duration) {
	todo, says, next := c.decide(ctx, l, n, s, place, err)
	if !todo.Writes() {
		s.labelPatches.turn.done()
		return says, next
	}
	if todo.RestsOnVCenter() && !c.isFresh(s, &place) {
		return says, next
	}
	ctx = withVCenter(ctx, s.labels.vcenter)
	return says, sooner(next, c.send(ctx, n, s, &s.labelPatches, l.pace, patch{
		about: "the topology", kind: types.MergePatchType, body: todo.Patch(n),
		written: func() {
			c.count(l, todo)
			c.recordWritten(ctx, n, todo)
		},
	}))
}

// count notes what was written.
func (c *Controller) count(l *labeler, todo *plan.Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range todo.Changes {
		l.writes[ch.Action]++
	}
	switch {
	case todo.Retaint && todo.Taint:
		l.writes[plan.ActionTaint]++
	case todo.Retaint:
		l.writes[plan.ActionUntaint]++
	}
}

// isFresh reports whether a Node may be written by what its vCenter said. If not, it is
// decided about again once the vCenter has proved that it answers, or has read the names of its tags.
func (c *Controller) isFresh(s *state, place *placement.Place) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := s.labels.waitsForNames(place)
	if !old && time.Since(place.Contact) <= fresh {
		return true
	}
	s.labels.waiting = true
	if now := c.passes.current(); s.labels.asked != now+1 {
		s.labels.asked = now + 1 // once until something has changed
		if old {
			c.fleet.ReadTags(place.Machine.Ref.VCenter)
		} else {
			c.fleet.Probe(place.Machine.Ref.VCenter)
		}
	}
	return false
}
