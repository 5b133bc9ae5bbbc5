package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// connection owns one vCenter: its session, its reading, its state. Run is the
// only goroutine that logs in and reads.
type connection struct {
	cfg         config.VCenter
	credentials CredentialSource
	opts        timing
	// changed is called after each new state.
	changed func()

	state    atomic.Pointer[inventory.State]
	session  atomic.Pointer[session]
	followed atomic.Pointer[followed]
	// wake has a token when followed has changed.
	wake chan struct{}

	// What follows belongs to Run.

	names tagNames
	// rejected are the credentials that the vCenter did not accept.
	rejected *Credentials
	// tagTrouble is what was last logged about tags.
	tagTrouble string
}

// followed are the machines whose details are wanted.
type followed struct {
	uuids map[inventory.UUID]bool
	// names are the Nodes without a UUID, by their lower-case name.
	names map[string]string
	ids   []inventory.Identity
}

func newConnection(cfg *config.VCenter, credentials CredentialSource, opts timing, changed func()) *connection {
	c := &connection{
		cfg:         *cfg,
		credentials: credentials,
		opts:        opts,
		changed:     changed,
		wake:        make(chan struct{}, 1),
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

// run reads the vCenter until the context is done and logs out then. A vCenter
// in trouble is asked again after a growing, jittered delay; a change of what
// is followed does not shorten it.
func (c *connection) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vcenter", c.cfg.Name))
	defer c.logout(ctx)
	delay := c.opts.retryMin
	for ctx.Err() == nil {
		started := time.Now()
		err := c.refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		c.report(ctx, err)
		if err != nil {
			wait(ctx, delay/2+rand.N(delay/2+1), nil)
			delay = min(2*delay, c.opts.retryMax)
			continue
		}
		delay = c.opts.retryMin
		due := started.Add(c.opts.interval)
		for time.Until(due) > 0 && wait(ctx, time.Until(due), c.wake) {
			soon, err := c.catchUp(ctx)
			if err != nil {
				c.report(ctx, err)
				break
			}
			if at := started.Add(c.opts.rereadAfter); soon && at.Before(due) {
				due = at
			}
		}
	}
}

// wait returns true when woken and false when the time is over or the context
// is done.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// refresh reads everything anew. It logs in first where there is no session,
// and once more where the server has forgotten the session.
func (c *connection) refresh(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		s, err := c.ensureSession(ctx)
		if err != nil {
			return err
		}
		err = c.read(ctx, s)
		again := attempt == 0
		switch {
		case err == nil:
			return nil
		case lost(err) && again:
			klog.FromContext(ctx).Info("The vCenter has ended the session, logging in again")
			c.drop(s)
		case gone(err) && again:
			// A machine or a datacenter was removed since it was listed.
			s.views = nil
		default:
			return err
		}
	}
}

// gone says whether an object that was asked for is no longer there.
func gone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }

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
	if c.rejected != nil && c.rejected.equal(creds) {
		return nil, fmt.Errorf("%w; they are not tried again until they change", errRejected)
	}
	s, err := login(ctx, &c.cfg, creds, c.opts.timeout)
	if errors.Is(err, errRejected) {
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

// drop forgets a session that the server no longer knows.
func (c *connection) drop(s *session) {
	c.session.CompareAndSwap(s, nil)
	s.soap.CloseIdleConnections()
}

// read makes a new snapshot: first the index, which is published on its own
// where nothing of it is followed yet, then the details.
func (c *connection) read(ctx context.Context, s *session) error {
	snap := &inventory.Snapshot{
		VCenter: c.cfg.Name,
		ReadAt:  time.Now(),
		Index:   map[inventory.UUID][]inventory.Entry{},
		Names:   map[string][]inventory.NameEntry{},
	}
	if err := s.ensureViews(ctx, c.cfg.Datacenters); err != nil {
		return err
	}
	if s.incomplete != nil {
		snap.Incomplete = fmt.Errorf("vCenter %q: %w", c.cfg.Name, s.incomplete)
	}
	want := c.followed.Load()
	if err := s.readIndex(ctx, snap, want.names); err != nil {
		return fmt.Errorf("listing machines: %w", err)
	}
	return c.readDetails(ctx, s, snap)
}

// readDetails completes a snapshot with the machines that are followed now and
// publishes it.
func (c *connection) readDetails(ctx context.Context, s *session, snap *inventory.Snapshot) error {
	ids := c.wanted(snap)
	snap.Machines = make(map[string]*inventory.Machine, len(ids))
	if len(ids) > 0 {
		t, err := s.readMachines(ctx, ids)
		if err != nil {
			return fmt.Errorf("reading %d machines: %w", len(ids), err)
		}
		p := placed{vcenter: c.cfg.Name, tree: t, objects: map[types.ManagedObjectReference]*topology.Object{}}
		if c.opts.tags {
			p.tags = c.readTags(ctx, s, t)
		}
		for _, id := range ids {
			if m := p.machine(id); m != nil {
				snap.Machines[id] = m
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.state.Load().Trouble != nil {
		klog.FromContext(ctx).Info("Reads the vCenter again")
	}
	c.publish(&inventory.State{VCenter: c.cfg.Name, Snapshot: snap})
	return nil
}

// readTags never fails the reading of machines: that tags cannot be read is
// part of the result.
func (c *connection) readTags(ctx context.Context, s *session, t *tree) attachments {
	refs := make([]types.ManagedObjectReference, 0, len(t.objects))
	for ref := range t.objects {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		return strings.Compare(a.Type+a.Value, b.Type+b.Value)
	})
	a, err := s.attachedTags(ctx, refs, &c.names)
	if err == nil {
		c.tagTrouble = ""
		return a
	}
	err = fmt.Errorf("vCenter %q: %w", c.cfg.Name, err)
	if c.tagTrouble != err.Error() && ctx.Err() == nil {
		c.tagTrouble = err.Error()
		klog.FromContext(ctx).Error(err, "Cannot read tags; Nodes that need them keep waiting")
	}
	return attachments{err: err}
}

// wanted returns the managed object IDs of the followed machines, in order.
func (c *connection) wanted(snap *inventory.Snapshot) []string {
	f := c.followed.Load()
	ids := map[string]bool{}
	for u := range f.uuids {
		for _, e := range snap.Index[u] {
			if !e.Template {
				ids[e.ID] = true
			}
		}
	}
	for _, node := range f.names {
		for _, e := range snap.Names[node] {
			if !e.Template {
				ids[e.ID] = true
			}
		}
	}
	sorted := make([]string, 0, len(ids))
	for id := range ids {
		sorted = append(sorted, id)
	}
	slices.Sort(sorted)
	return sorted
}

// catchUp reads the details of machines that are followed since the last
// reading. It returns whether a new index should come soon, because one of them
// is in no vCenter's.
func (c *connection) catchUp(ctx context.Context) (soon bool, err error) {
	state, s := c.state.Load(), c.session.Load()
	if state.Snapshot == nil || s == nil {
		return true, nil
	}
	for _, id := range c.wanted(state.Snapshot) {
		if _, ok := state.Snapshot.Machines[id]; !ok {
			newer := *state.Snapshot
			err := c.readDetails(ctx, s, &newer)
			if lost(err) || gone(err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			break
		}
	}
	return c.opts.unindexed(), nil
}

// report publishes trouble and logs it once for each change.
func (c *connection) report(ctx context.Context, err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("vCenter %q: %w", c.cfg.Name, err)
	before := c.state.Load()
	if before.Trouble == nil || before.Trouble.Error() != err.Error() {
		klog.FromContext(ctx).Error(err, "Cannot read the vCenter; its Nodes keep what they have")
	}
	c.publish(&inventory.State{VCenter: c.cfg.Name, Snapshot: before.Snapshot, Trouble: err})
}

func (c *connection) publish(s *inventory.State) {
	c.state.Store(s)
	c.changed()
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
