package vcenter

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// A vCenter that was never read, and has not failed either, may have a second machine
// of a UUID that another one has, so that Nodes wait for it. These bound that. A
// vCenter that answers is waited for longer than one that does not, which may be hung.
const (
	// silentTime is how long it may answer nothing.
	silentTime = 1500 * time.Millisecond
	// readTime is how long it may take in all. A large one, or a slow one, takes longer
	// now and then.
	readTime = 10 * time.Second
)

// overdue marks the state of the vCenter as overdue when that is so, until the context
// is done.
func (c *connection) overdue(ctx context.Context) {
	began := time.Now()
	for {
		select {
		case <-c.unread:
			began = time.Now()
		default:
		}
		var due <-chan time.Time
		now := c.state.Load()
		if !now.Overdue && now.Snapshot == nil && now.Trouble == nil {
			answered := began
			if at := c.endpoint.Load().LastAnswer(); at.After(began) {
				answered = at
			}
			left := min(time.Until(answered.Add(silentTime)), time.Until(began.Add(readTime)))
			if left <= 0 {
				c.giveUpWaiting(ctx)
				continue
			}
			due = time.After(left)
		}
		select {
		case <-due:
		case <-c.unread:
			token(c.unread)
		case <-ctx.Done():
			return
		}
	}
}

func (c *connection) giveUpWaiting(ctx context.Context) {
	c.mu.Lock()
	now := *c.state.Load()
	waited := now.Snapshot == nil && now.Trouble == nil
	if waited {
		now.Overdue = true
		c.state.Store(&now)
	}
	c.mu.Unlock()
	if waited {
		klog.FromContext(ctx).Info("The vCenter takes long to be read; new Nodes of other vCenters do not wait for it any more")
		c.changed()
	}
}
