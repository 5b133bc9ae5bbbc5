package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// connection owns one vCenter: its session, its watch, its state. Run is the
// only goroutine that logs in.
type connection struct {
	cfg         config.VCenter
	credentials CredentialSource
	opts        timing
	calls       *calls
	// changed is called after each new state.
	changed func()

	state    atomic.Pointer[inventory.State]
	session  atomic.Pointer[session]
	followed atomic.Pointer[followed]
	// wake has a token when followed has changed.
	wake chan struct{}
	// probe has a token when the vCenter is to prove that it answers.
	probe chan struct{}

	// names belongs to the goroutine that reads tags, the rest to run.

	names tagNames
	// remembered is the model of the last watch that had the index in whole.
	remembered *model
	// tagTrouble is what was last logged about tags.
	tagTrouble string
	// rejected are the credentials that the vCenter did not accept.
	rejected *Credentials
}

// followed are the machines whose details are wanted.
type followed struct {
	uuids map[inventory.UUID]bool
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	// known are the UUIDs of the machines that Nodes were found to be, by
	// vCenter and managed object ID, zero where Nodes contradict each other.
	known map[string]map[string]inventory.UUID
}

func newConnection(cfg *config.VCenter, credentials CredentialSource, opts timing, changed func()) *connection {
	c := &connection{
		cfg:         *cfg,
		credentials: credentials,
		opts:        opts,
		calls: &calls{
			vcenter: cfg.Name, timeout: opts.timeout, tries: cfg.RoundTrips,
			observer: opts.observer, slots: make(chan struct{}, opts.inFlight),
		},
		changed: changed,
		wake:    make(chan struct{}, 1),
		probe:   make(chan struct{}, 1),
	}
	c.state.Store(&inventory.State{VCenter: cfg.Name})
	c.followed.Store(newFollowed(nil))
	return c
}

func (c *connection) follow(f *followed) {
	c.followed.Store(f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run follows the vCenter until the context is done and logs out then. A
// vCenter in trouble is tried again after a growing, jittered delay.
func (c *connection) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vcenter", c.cfg.Name))
	defer c.logout(ctx)
	delay := c.opts.retryMin
	for ctx.Err() == nil {
		began := time.Now()
		err := c.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errAgain):
			klog.FromContext(ctx).Info("The configured datacenters have changed, reading them anew")
			continue
		}
		switch {
		case time.Since(began) > c.opts.retryMax:
			delay = c.opts.retryMin // it went well for a while
		case c.state.Load().Trouble == nil:
			// It went well for a moment: a vCenter that ends each session is
			// asked again soon, and not without a pause.
			delay = min(delay, restartMax)
		}
		if lost(err) && delay == c.opts.retryMin {
			// Nothing is wrong yet: vCenters end sessions.
			klog.FromContext(ctx).Info("The vCenter has ended the session, logging in again")
		} else {
			c.report(ctx, err)
			pause(ctx, delay/2+rand.N(delay/2+1))
		}
		delay = min(2*delay, c.opts.retryMax)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// once logs in, where there is no session, and watches until that fails. The
// session is kept unless the server has ended it.
func (c *connection) once(ctx context.Context) error {
	s, err := c.ensureSession(ctx)
	if err != nil {
		return err
	}
	err = c.watch(ctx, s)
	switch {
	case lost(err):
		c.session.CompareAndSwap(s, nil)
		s.soap.CloseIdleConnections()
	case errors.Is(err, ErrRejected):
		// The password was changed while the session lived on. Trying it again
		// at the tagging API would lock the account.
		c.rejected = &s.creds
		c.logout(ctx)
	}
	return err
}

// restartMax bounds the pause before a watch that had read the vCenter begins
// anew.
const restartMax = 2 * time.Second

// gone says whether an object that was asked for is no longer there.
func gone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }

// denied says whether the account may not see an object that was asked for.
func denied(err error) bool { return fault.Is(err, &types.NoPermission{}) && !lost(err) }

func (c *connection) ensureSession(ctx context.Context) (*session, error) {
	if s := c.session.Load(); s != nil {
		return s, nil
	}
	var creds Credentials
	err := withDeadline(ctx, c.opts.timeout, func(ctx context.Context) (err error) {
		creds, err = c.credentials(ctx, &c.cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if c.rejected != nil && c.rejected.Equal(creds) {
		return nil, fmt.Errorf("%w; they are not tried again until they change", ErrRejected)
	}
	s, err := login(ctx, &c.cfg, creds, c.calls)
	c.opts.observer.LoggedIn(c.cfg.Name, err)
	if errors.Is(err, ErrRejected) {
		c.rejected = &creds
		return nil, fmt.Errorf("%w; they are not tried again until they change", err)
	}
	if err != nil {
		return nil, err
	}
	c.rejected = nil
	c.session.Store(s)
	klog.FromContext(ctx).Info("Logged in", "server", s.soap.URL().Host, "version", s.vim.ServiceContent.About.Version)
	return s, nil
}

// readTags reads the tags of objects. That the vCenter refuses is part of the
// result; that it does not answer is an error.
func (c *connection) readTags(ctx context.Context, s *session, refs []types.ManagedObjectReference) (attachments, error) {
	a, err := s.attachedTags(ctx, refs, c.opts.categories, &c.names)
	if err == nil {
		c.tagTrouble = ""
		return a, nil
	}
	if errors.Is(err, ErrRejected) || !answered(err) {
		return attachments{}, err
	}
	a.err = fmt.Errorf("vCenter %q: %w", c.cfg.Name, err)
	if c.tagTrouble != a.err.Error() {
		c.tagTrouble = a.err.Error()
		klog.FromContext(ctx).Error(a.err, "Cannot read tags; Nodes that need them keep waiting")
	}
	return a, nil
}

// report publishes trouble and logs it once for each change.
func (c *connection) report(ctx context.Context, err error) {
	err = fmt.Errorf("vCenter %q: %w", c.cfg.Name, portless{err})
	before := *c.state.Load()
	if before.Trouble == nil || before.Trouble.Error() != err.Error() {
		klog.FromContext(ctx).Error(err, "Cannot read the vCenter; its Nodes keep what they have")
	}
	before.Trouble = err
	c.publish(&before)
}

// published publishes a snapshot of a vCenter that is well and answered then.
func (c *connection) published(ctx context.Context, snap *inventory.Snapshot, answered time.Time) {
	if c.state.Load().Trouble != nil {
		klog.FromContext(ctx).Info("Reads the vCenter again")
	}
	c.publish(&inventory.State{VCenter: c.cfg.Name, Snapshot: snap, Contact: answered})
}

func (c *connection) publish(s *inventory.State) {
	c.state.Store(s)
	c.changed()
}

// contact notes that the vCenter has answered. That alone is no change.
func (c *connection) contact(answered time.Time) {
	now := *c.state.Load()
	now.Contact = answered
	c.state.Store(&now)
}

// logout ends the session when the daemon stops. The context is done by then,
// so it gets a bounded one of its own.
func (c *connection) logout(ctx context.Context) {
	s := c.session.Swap(nil)
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.logoutTimeout)
	defer cancel()
	if err := s.logout(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot log out; the session ends when it has been idle for long enough")
	}
}
