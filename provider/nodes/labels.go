package nodes

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"vzones/provider/placement"
	"vzones/provider/plan"
)

const (
	// writesPerSecond bounds what a retagged cluster of thousands of Nodes may cost the API server.
	// Each write has an Event besides.
	writesPerSecond = 20
	// conditionsPerSecond bounds what the conditions of many Nodes cost it, at the first start and
	// when a vCenter fails.
	conditionsPerSecond = 20
	// fresh is how old the vCenter's last answer may be when a Node is written.
	fresh = 2 * time.Second
	// conflictDelay is the time before a Node that somebody else has written is
	// decided about again. It does not grow: a frequent writer would starve us.
	conflictDelay = 200 * time.Millisecond
	// writeTimeout bounds a write.
	writeTimeout = 10 * time.Second
)

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

// KeepLabels has the labels of running Nodes kept as long as Run runs, until the context is done. It records what concerns many Nodes on the
// daemon's own Pod, by a function that must not wait.
func (c *Controller) KeepLabels(ctx context.Context, recordOnPod func(eventType, reason, message string)) error {
	select {
	case <-c.running:
	case <-ctx.Done():
		return nil
	}
	l := &labeler{
		recordOnPod: recordOnPod,
		pace:        rate.NewLimiter(writesPerSecond, writesPerSecond), readyPace: rate.NewLimiter(conditionsPerSecond, 1),
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
// not, and writes that. It returns what the Node's condition has to say, zero while that is open.
func (c *Controller) syncLabels(ctx context.Context, l *labeler, n *v1.Node, s *state, place placement.Place, err error) (readiness, time.Duration) {
	todo, says, next := c.decide(ctx, l, n, s, place, err)
	if !todo.Writes() {
		c.queue.Forget(itemOf(n))
		s.write.done()
		return says, next
	}
	if todo.RestsOnVCenter() && !c.isFresh(s, &place) {
		return says, next
	}
	if wait := c.writeDelay(s); wait > 0 {
		return says, sooner(next, wait)
	}
	if wait := s.write.wait(l.pace); wait > 0 {
		return says, sooner(next, wait)
	}
	s.write.done()
	c.writeLabels(ctx, l, n, s, todo)
	return says, next
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

// writeLabels writes a plan for a Node as it was decided about.
func (c *Controller) writeLabels(ctx context.Context, l *labeler, n *v1.Node, s *state, todo *plan.Plan) {
	retry := func() {}
	ctx = withVCenter(ctx, s.labels.vcenter)
	c.startWrite(s, func() {
		err := c.write(ctx, l, n, s, todo)
		switch {
		case ctx.Err() != nil:
		case err == nil, apierrors.IsNotFound(err):
			c.queue.Forget(itemOf(n)) // the Node is announced as changed
		case apierrors.IsConflict(err):
			retry = func() { c.queue.AddAfter(itemOf(n), conflictDelay) } // somebody else wrote
		default:
			klog.FromContext(ctx).Error(err, "Cannot write the topology of the Node; it is tried again", "node", klog.KObj(n))
			retry = func() { c.queue.AddRateLimited(itemOf(n)) }
		}
	}, func() { retry() })
}
