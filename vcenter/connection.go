package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
	"vzones/vcenter/panics"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

// connection owns one vCenter: its session, its watch, its state. Run and what
// it starts are the only goroutines that log in, one at a time.
type connection struct {
	name        string
	credentials CredentialSource
	opts        timing
	// changed is called after each new state.
	changed func()

	// mu is for who changes state or target: a state is of the target's address.
	mu       sync.Mutex
	state    atomic.Pointer[inventory.State]
	session  atomic.Pointer[reader]
	followed atomic.Pointer[followed]
	target   atomic.Pointer[target]
	// wake has a token when followed has changed.
	wake chan struct{}
	// probe has a token when the vCenter is to prove that it answers.
	probe chan struct{}
	// again has a token when a watch has to begin anew for its target, retag when
	// its tags are to be read now, and renewed when the credentials may have changed.
	again, retag, renewed chan struct{}
	// unread has a token from retarget when nothing is known of the vCenter any more,
	// which overdue takes.
	unread chan struct{}
	// tagReading is the TagReading of now, which counts where tags are wanted.
	tagReading atomic.Int32
	// endpoint is how the vCenter is called at the address that run follows, which alone
	// replaces it.
	endpoint atomic.Pointer[session.Endpoint]
	// reread has a token when somebody waits for tags whose names are of now.
	reread chan struct{}
	// stirred has a token when a state of the fleet has changed, which whoever
	// searches for machines looks at.
	stirred chan struct{}
	// searches bounds the requests in flight of searches for single machines.
	searches chan struct{}
	// places are where followed machines were last.
	places places
	// states returns those of the fleet. It is set before run.
	states func() []inventory.State

	// tags belongs to the goroutine that reads tags, fresh to the one that
	// renews the session, the rest to run.

	tags *tags.Reader
	// fresh is the session that is to replace the one of the watch.
	fresh *reader
	// cfg is what the target was when run last looked. Clients in use refer to it, so
	// it is never changed, only replaced.
	cfg   *config.VCenter
	guard *panics.Guard
	// remembered is the model of the last watch that had the index in whole.
	remembered *model
	// outage has the errors that were logged since the vCenter was last read.
	outage faults.Outage
	// lacking is what was last logged about configured datacenters that are not there.
	lacking string
	// eventTrouble is what was last logged about the events of tagging.
	eventTrouble string
	// disputed are the machines for which everything was read again, since the index
	// had them and no list view could.
	disputed map[string]bool
	// remarks are what was logged of guests.
	remarks remarks
	// parse reads metadata. It is set before run.
	parse func(string) ([]netip.Addr, error)
	// owed is how long the next watch has to wait before it reads the vCenter.
	owed time.Duration
	// read are the credentials that were read last. Without a session even rejected
	// ones are tried at once when they come in the place of others.
	read Credentials
	// throttle decides when credentials may be shown to the vCenter. All its
	// goroutines ask it.
	throttle *session.LoginThrottle
}

func newConnection(t *target, credentials CredentialSource, opts timing, changed func()) *connection {
	c := &connection{
		name:        t.cfg.Name,
		credentials: credentials,
		opts:        opts,
		changed:     changed,
		wake:        make(chan struct{}, 1),
		probe:       make(chan struct{}, 1),
		again:       make(chan struct{}, 1),
		retag:       make(chan struct{}, 1),
		reread:      make(chan struct{}, 1),
		renewed:     make(chan struct{}, 1),
		stirred:     make(chan struct{}, 1),
		unread:      make(chan struct{}, 1),
		searches:    make(chan struct{}, searchesAtOnce),
		remarks:     remarks{},
		parse:       guestinfo.Addresses,
		states:      func() []inventory.State { return nil },
	}
	c.throttle = session.NewLoginThrottle(opts.loginLimits, opts.accounts)
	c.cfg = &t.cfg
	c.guard = &panics.Guard{}
	c.endpoint.Store(c.newEndpoint())
	c.tags = newTagReader(c.name, opts)
	c.target.Store(t)
	c.state.Store(&inventory.State{VCenter: c.name})
	c.followed.Store(newFollowed(nil))
	return c
}

func (c *connection) newEndpoint() *session.Endpoint {
	return session.NewEndpoint(c.cfg, session.Options{
		Timeout: c.opts.timeout, LoginTimeout: c.opts.loginTimeout, InFlight: c.opts.inFlight,
		Throttle: c.throttle, Observer: c.opts.observer, Guard: c.guard,
	})
}

// token puts a token into a channel that has room for one.
func token(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it has one
	}
}

func (c *connection) follow(f *followed) {
	c.followed.Store(f)
	token(c.wake)
}

// run follows the vCenter until the context is done and logs out then. A
// vCenter in trouble is tried again after a growing, jittered delay.
func (c *connection) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vCenter", c.name))
	defer c.logout(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() { c.overdue(ctx) })
	for ctx.Err() == nil {
		_ = c.guard.Run(ctx, "following the vCenter again and again", func() error {
			c.loop(ctx)
			return nil
		})
		if ctx.Err() == nil {
			c.pause(ctx, c.opts.retryMax) // it has panicked, which the guard has logged
		}
	}
}

func (c *connection) loop(ctx context.Context) {
	retries := newBackoff(c.opts.retryMin, c.opts.retryMax)
	for ctx.Err() == nil {
		began := time.Now()
		err := c.guard.Run(ctx, "following the vCenter", func() error {
			c.adopt(ctx)
			return c.once(ctx)
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errAgain):
			klog.FromContext(ctx).Info("Starts the watch of the vCenter again", "err", faults.Printable{Err: err})
			c.owed = 0
			continue
		}
		c.owe()
		delay := retries.after(time.Since(began), c.state.Load().Trouble == nil, faults.SessionLost(err))
		if delay == 0 {
			// Nothing is wrong yet: vCenters end sessions.
			klog.FromContext(ctx).Info("The vCenter has ended the session, logging in again")
			continue
		}
		c.report(ctx, err)
		if !faults.SessionLost(err) {
			delay /= 2 // there is no login to be spared
		}
		c.pause(ctx, sooner(delay+rand.N(delay/2+1), session.NextAttempt(err)))
	}
}

// sooner returns the delay, or the time until a moment that comes before.
func sooner(delay time.Duration, moment time.Time) time.Duration {
	if left := time.Until(moment); left > 0 {
		return min(delay, left)
	}
	return delay
}

// pause ends early when there is something new to try.
func (c *connection) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-c.again:
			c.owed = 0
		case <-c.renewed:
			if !c.others(ctx) {
				continue
			}
			c.owed = 0
		case <-ctx.Done():
		}
		return
	}
}

// once logs in, where there is no session, and watches until that fails. The
// session is kept unless the server has ended it or another takes its place.
func (c *connection) once(ctx context.Context) error {
	s, err := c.ensureSession(ctx)
	if err != nil {
		return err
	}
	if err := c.await(ctx); err != nil {
		return err
	}
	err = c.watch(ctx, s)
	switch {
	case c.fresh != nil:
		c.replaceSession(ctx)
		return errRenewed
	case faults.SessionLost(err):
		// What is left of it may still be alive: the REST session, or all of it where
		// the vCenter has only forgotten what the session had made.
		c.logout(ctx)
	}
	return err
}

// report publishes trouble and logs it once in an outage.
func (c *connection) report(ctx context.Context, err error) {
	err = fmt.Errorf("vCenter %q: %w", c.name, faults.Printable{Err: err})
	before := *c.state.Load()
	next := session.NextAttempt(err)
	log := klog.FromContext(ctx)
	if !next.IsZero() {
		log = log.WithValues("nextLoginIn", time.Until(next).Round(time.Second))
	}
	if c.outage.Begins(err) {
		log.Error(err, "Cannot read the vCenter; its Nodes keep what they have")
	} else {
		log.V(4).Info("Still cannot read the vCenter", "err", err)
	}
	before.Trouble, before.NextLogin = err, next
	c.publish(&before)
}

// published publishes a snapshot of a vCenter that is well and answered then.
func (c *connection) published(ctx context.Context, snap *inventory.Snapshot, answered time.Time, named inventory.Named) {
	if c.outage.End() {
		klog.FromContext(ctx).Info("Reads the vCenter again")
	}
	c.publish(&inventory.State{VCenter: c.name, Snapshot: snap, Contact: answered, Named: named})
}

// publish makes a state that of the vCenter, unless another one is configured by now.
func (c *connection) publish(s *inventory.State) {
	if c.store(s) {
		c.changed()
	}
}

func (c *connection) store(s *inventory.State) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !sameAddress(&c.target.Load().cfg, c.cfg) {
		return false
	}
	c.state.Store(s)
	return true
}

// renamed notes when the names of the tags in the snapshot were read again.
func (c *connection) renamed(named inventory.Named) {
	now := *c.state.Load()
	now.Named = named
	c.publish(&now)
}

// contact notes that the vCenter has answered. That alone is no change.
func (c *connection) contact(answered time.Time) {
	now := *c.state.Load()
	now.Contact = answered
	c.store(&now)
}
