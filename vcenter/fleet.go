package vcenter

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/signal"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// A Fleet is the set of configured vCenters. It is safe for concurrent use.
type Fleet struct {
	credentials CredentialSource
	opts        Options
	vcenters    atomic.Pointer[[]*vCenter]
	states      atomic.Pointer[[]inventory.State]
	generation  atomic.Uint64
	applied     signal.Signal

	// mu guards interest, subscribers, and writes of vcenters and states.
	mu          sync.Mutex
	interest    *watch.Interest
	subscribers []signal.Signal
}

// NewFleet returns a Fleet, which makes no requests before Run.
func NewFleet(vcenters []config.VCenter, credentials CredentialSource, opts Options) *Fleet {
	f := &Fleet{
		credentials: credentials,
		opts:        opts.withDefaults(),
		applied:     signal.New(),
		interest:    watch.NewInterest(nil, nil),
	}
	f.vcenters.Store(new([]*vCenter))
	f.Apply(vcenters, opts.Requirements)
	return f
}

// Apply replaces the vCenters, which are identified by name. Sessions and watches survive unless a
// change affects them. Removed vCenters disappear from States at once.
func (f *Fleet) Apply(vcenters []config.VCenter, requirements Requirements) {
	f.mu.Lock()
	existing := make(map[string]*vCenter)
	for _, v := range *f.vcenters.Load() {
		existing[v.name] = v
	}
	next := make([]*vCenter, len(vcenters))
	for i := range vcenters {
		s := &spec{vcenters[i], requirements}
		if next[i] = existing[s.cfg.Name]; next[i] == nil {
			next[i] = newVCenter(s, f.opts)
			next[i].inbox.Follow(f.interest)
		} else {
			next[i].configure(s)
		}
	}
	f.vcenters.Store(&next)
	f.generation.Add(1)
	f.mu.Unlock()
	f.applied.Notify()
	f.rebuildStates(true)
}

// CredentialsChanged requests a check of all credentials.
func (f *Fleet) CredentialsChanged() {
	for _, v := range *f.vcenters.Load() {
		v.credentialsChanged.Notify()
	}
}

// Run watches all vCenters until ctx is done, and returns after the logouts, within about 3 s.
func (f *Fleet) Run(ctx context.Context) error {
	var g errgroup.Group
	running := make(map[*vCenter]context.CancelFunc)
	for {
		configured := *f.vcenters.Load()
		for _, v := range configured {
			if running[v] != nil {
				continue
			}
			vcCtx, cancel := context.WithCancel(ctx)
			running[v] = cancel
			g.Go(func() error {
				defer cancel()
				newMonitor(v, f.credentials, f.opts, f.rebuildStates).run(vcCtx)
				return nil
			})
		}
		for v, cancel := range running {
			if !slices.Contains(configured, v) {
				klog.FromContext(ctx).Info("The vCenter is no longer in the configuration", "vCenter", v.name)
				cancel()
				delete(running, v)
			}
		}
		select {
		case <-f.applied:
		case <-ctx.Done():
			return g.Wait()
		}
	}
}

// States returns the states in the order of the configuration. Callers must not modify the slice.
func (f *Fleet) States() []inventory.State { return *f.states.Load() }

// Generation returns a number that increases with each Apply. Results of States and ConfirmAbsent
// refer to the same vCenters if the number was the same before and after.
func (f *Fleet) Generation() uint64 { return f.generation.Load() }

// Subscribe returns a channel with at most one pending notification of changed states.
func (f *Fleet) Subscribe() <-chan struct{} {
	s := signal.New()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, s)
	return s
}

func (f *Fleet) rebuildStates(announce bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	vcenters := *f.vcenters.Load()
	states := make([]inventory.State, len(vcenters))
	for i, v := range vcenters {
		states[i] = v.state()
	}
	f.states.Store(&states)
	for _, s := range f.subscribers {
		if announce {
			s.Notify()
		}
	}
}

// Follow replaces the VMs whose details are read.
func (f *Fleet) Follow(ids []inventory.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interest = watch.NewInterest(ids, f.interest)
	for _, v := range *f.vcenters.Load() {
		v.inbox.Follow(f.interest)
	}
}

// Probe requests proof that a vCenter answers: a new LastContact or an error.
func (f *Fleet) Probe(vcenter string) {
	if i := f.inbox(vcenter); i != nil {
		i.Probe()
	}
}

// ReadTags requests a read of tags, and of relevant tag names older than half the refresh interval.
// Subscribers are notified of the result.
func (f *Fleet) ReadTags(vcenter string) {
	if i := f.inbox(vcenter); i != nil {
		i.ReadTags()
	}
}

// AskHome requests a check whether a Node's last managed object exists. A later snapshot contains
// the reply in Homes.
func (f *Fleet) AskHome(vcenter, id string) {
	if i := f.inbox(vcenter); i != nil {
		i.AskHome(id)
	}
}

func (f *Fleet) inbox(vcenter string) *watch.Inbox {
	for _, v := range *f.vcenters.Load() {
		if v.name == vcenter {
			return v.inbox
		}
	}
	return nil
}

// An OpenSession is a session with a vCenter, or the reason why there is none.
type OpenSession struct {
	VCenter string
	Session *session.Session
	Err     error
}

// Sessions returns the current sessions in the order of the configuration. The fleet owns them.
func (f *Fleet) Sessions() []OpenSession {
	var sessions []OpenSession
	for _, v := range *f.vcenters.Load() {
		o := OpenSession{VCenter: v.name, Session: v.session()}
		if o.Session == nil {
			if o.Err = v.status.Load().state.Err; o.Err == nil {
				o.Err = topology.Errorf(topology.ErrUnknown, "vCenter %q: not logged in", v.name)
			}
		}
		sessions = append(sessions, o)
	}
	return sessions
}
