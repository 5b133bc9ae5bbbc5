package nodes

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/events"
)

// lasting is something that can be wrong with a Node for long. Events say that it is, again
// about each hour, and that it is over.
type lasting struct {
	condition condition.Condition
	// reservation is when an Event may say so.
	reservation reservation
	// said is what the last Event has said, zero if none has yet, and key what it has been said of.
	// They are changed under the controller's lock.
	said said
	key  string
}

// isWrong has an Event say what is wrong with a Node if it has lasted for the delay, by the key that
// it has as long as it is the same. It returns when that has to be looked at again.
func (c *Controller) isWrong(s *lasting, of problem, key string, delay time.Duration) time.Duration {
	of.again = s.condition.IsRecorded(key)
	of.said = func(now said) {
		c.mu.Lock()
		s.said, s.key = now, key
		c.mu.Unlock()
		c.queue.Add(itemOf(of.node)) // for its condition
	}
	return s.condition.Observe(key, delay, events.RepeatAfter(string(of.node.UID)), func() time.Duration {
		return c.recorder.record(&s.reservation, of)
	})
}

// isOver has an Event say that nothing is wrong with a Node any more, if the last one says that
// something is. It returns when that has to be tried again.
func (c *Controller) isOver(s *lasting, n *v1.Node, vcenter string) time.Duration {
	next := s.condition.End(func() time.Duration {
		was, key := c.whatIsSaid(s)
		if !s.condition.IsRecorded(key) {
			return time.Second // the Event before has not been written yet
		}
		return c.recorder.record(&s.reservation, problem{node: n, over: overText(vcenter, was.reason)})
	})
	if next == 0 {
		c.drop(s)
	}
	return next
}

// drop forgets what is wrong, without an Event.
func (c *Controller) drop(s *lasting) {
	s.condition.Clear()
	s.reservation.done()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.said, s.key = said{}, ""
}

// whatIsSaid returns what the last Event has said, and the key of what.
func (c *Controller) whatIsSaid(s *lasting) (said, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.said, s.key
}

// overText is what an Event says about an Event with a reason, about something that is over. The
// vCenter is empty if it is not known.
func overText(vcenter, reason string) string {
	if vcenter == "" {
		return reason + " is over"
	}
	return fmt.Sprintf("vCenter %q: %s is over", vcenter, reason)
}
