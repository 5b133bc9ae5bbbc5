package vcenter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"
)

// These bound how long a connection waits before it reads a vCenter again that had
// ended its session or could not be reached. Many daemons notice that at the same
// time, and each reads its whole index: together they would overload the vCenter
// that has just started. The waits are random, so that the readings are spread over
// a time that grows with their size.
const (
	// spreadPerMachine is that time for each machine of the index, whose properties
	// are read in pages: 2 minutes for 40,000 machines, under a second for 300.
	spreadPerMachine = 3 * time.Millisecond
	// spreadPerSearch is that time for each machine where the index has only those
	// that are followed, since each of them is searched for on its own.
	spreadPerSearch = 20 * time.Millisecond
	// spreadMax bounds it for any size.
	spreadMax = 2 * time.Minute
)

// spread returns the time over which readings of an index of that size are spread.
func spread(machines int, followed bool) time.Duration {
	per := spreadPerMachine
	if followed {
		per = spreadPerSearch
	}
	// In this order, since a product could be out of range.
	if machines >= int(spreadMax/per) {
		return spreadMax
	}
	return time.Duration(machines) * per
}

// owe notes, after a watch or an attempt to begin one has failed, how long the next
// reading has to wait: a random part of the spread. The first reading of a process
// does not wait, nor does one after a change of the configuration.
func (c *connection) owe() {
	c.owed = 0
	if c.remembered == nil {
		return
	}
	if all := spread(len(c.remembered.index), c.cfg.Followed); all > 0 {
		c.owed = rand.N(all)
	}
}

// await lets the time pass that the next reading has to wait. Meanwhile the state
// keeps its snapshot and is in trouble, as in an outage: what happened since the
// last watch is not known. A changed configuration ends the wait, and so do changed
// credentials, which the watch takes up. A Probe does not: every daemon with a Node
// in doubt would read at once, which is what the wait is for.
func (c *connection) await(ctx context.Context) error {
	wait := c.owed
	if c.owed = 0; wait <= 0 {
		return nil
	}
	c.postpone(ctx, wait)
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-c.again:
			return errReconfigured
		case <-c.renewed:
			if !c.others(ctx) {
				continue
			}
			token(c.renewed) // for the watch
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}
}

// postpone publishes that the vCenter is not read yet.
func (c *connection) postpone(ctx context.Context, wait time.Duration) {
	klog.FromContext(ctx).Info("Waits before reading the vCenter again, so that not all clusters read it at once", "wait", wait.Round(time.Millisecond))
	now := *c.state.Load()
	now.Trouble = fmt.Errorf("vCenter %q: it answers again, and is read after a random wait of up to %v, so that not all clusters read it at once",
		c.name, spread(len(c.remembered.index), c.cfg.Followed))
	c.publish(&now)
}
