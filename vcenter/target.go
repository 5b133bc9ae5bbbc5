package vcenter

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// errReconfigured ends a watch that does not suit the configuration any more.
var errReconfigured = fmt.Errorf("%w: the configuration has changed", errAgain)

// target is what a connection has to follow, as configured now.
type target struct {
	cfg config.VCenter
	// tags says whether tags are read at all, categories which of them snapshots
	// tell about, paths those whose objects' tags are read; all if empty.
	tags       bool
	categories []string
	// surveyed are those whose tags are looked for in the whole vCenter.
	surveyed []string
	paths    []topology.PathKind
	// facts says what of hosts is read.
	facts hostFacts
}

// retarget gives the connection another target. What that does not concern is left
// alone: the session unless another address is configured, the watch unless other
// certificates are trusted, it has other machines or begins to read tags or what hosts
// belong to.
func (c *connection) retarget(now *target) {
	c.mu.Lock()
	before := c.target.Swap(now)
	if !sameAddress(&before.cfg, &now.cfg) {
		// It may be another vCenter, of which nothing is known. What the one before
		// still tells is not taken up.
		c.state.Store(&inventory.State{VCenter: c.name})
		token(c.unread)
	}
	if !sameAddress(&before.cfg, &now.cfg) || before.tags != now.tags {
		c.tagReading.Store(int32(TagsNotRead))
	}
	c.mu.Unlock()
	switch {
	case !sameAddress(&before.cfg, &now.cfg), !sameTrust(&before.cfg, &now.cfg), before.cfg.RoundTrips != now.cfg.RoundTrips,
		!slices.Equal(before.cfg.Datacenters, now.cfg.Datacenters), before.tags != now.tags,
		before.cfg.Followed != now.cfg.Followed, before.facts != now.facts:
		token(c.again)
	case !slices.Equal(before.paths, now.paths):
		token(c.wake) // other objects' tags may be wanted
		token(c.retag)
	case !slices.Equal(before.categories, now.categories):
		token(c.retag)
	}
	token(c.renewed) // the account may be another
}

// adopt takes up the target. It belongs to run, between two watches.
func (c *connection) adopt(ctx context.Context) {
	select {
	case <-c.again: // this is the answer to it
	default:
	}
	now := c.target.Load()
	before := c.cfg
	c.cfg = &now.cfg
	if sameAddress(before, c.cfg) {
		c.endpoint.Load().Configure(c.cfg)
		if !sameTrust(before, c.cfg) {
			c.retrust(ctx)
		}
		return
	}
	// It may be another vCenter, of which nothing is known. The one before is
	// logged out of as it was trusted.
	klog.FromContext(ctx).Info("Connecting to another address", "server", c.cfg.Server)
	c.logout(ctx)
	c.tagReading.Store(int32(TagsNotRead))
	c.endpoint.Store(c.newEndpoint())
	c.throttle.Moved()
	c.tags = newTagReader(c.name, c.opts)
	c.eventTrouble, c.disputed, c.outage = "", nil, nil
}

// retrust has the session go on with connections whose certificates are trusted
// now.
func (c *connection) retrust(ctx context.Context) {
	s := c.session.Load()
	if s == nil {
		return
	}
	if err := s.Retrust(); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot trust the certificates that are configured now; those before are")
	}
}

// current returns the session, nil if there is none with the configured vCenter.
func (c *connection) current() *reader {
	s := c.session.Load()
	if s == nil || !s.Serves(&c.target.Load().cfg) {
		return nil
	}
	return s
}

// sameAddress says whether a session that one of the two opened serves the other.
func sameAddress(a, b *config.VCenter) bool { return a.Server == b.Server && a.Port == b.Port }

func sameTrust(a, b *config.VCenter) bool {
	return a.Insecure == b.Insecure && bytes.Equal(a.CA, b.CA) && a.Thumbprint == b.Thumbprint
}
