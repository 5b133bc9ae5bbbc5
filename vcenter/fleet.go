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

// A Fleet is all configured vCenters.
type Fleet struct {
	credentials CredentialSource
	opts        Options
	// vcenters are in the order of the configuration.
	vcenters atomic.Pointer[[]*vCenter]
	// states are what is known of them, made again with each change.
	states atomic.Pointer[[]inventory.State]
	// generation counts the calls of Apply that are over.
	generation atomic.Uint64
	// applied says that the vCenters have changed since Run last read them.
	applied signal.Signal

	// mu is for what follows, and for who changes the vCenters or their states.
	mu          sync.Mutex
	interest    *watch.Interest
	subscribers []signal.Signal
}

// NewFleet prepares a fleet; it contacts nothing until Run.
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

// Apply replaces the vCenters of the fleet, which their names identify. New ones are
// connected to; those that are not there any more are logged out of and not in States from
// now on. One that stays keeps its session unless its address or its credentials change,
// and its watch unless the trusted certificates or its datacenters change, or tags, host
// groups or fault domains begin to be read. Of a vCenter with another address nothing is
// known yet.
func (f *Fleet) Apply(vcenters []config.VCenter, requirements Requirements) {
	f.mu.Lock()
	before := make(map[string]*vCenter)
	for _, v := range *f.vcenters.Load() {
		before[v.name] = v
	}
	now := make([]*vCenter, len(vcenters))
	for i := range vcenters {
		s := &spec{vcenters[i], requirements}
		if now[i] = before[s.cfg.Name]; now[i] == nil {
			now[i] = newVCenter(s, f.opts)
			now[i].inbox.Follow(f.interest)
		} else {
			now[i].configure(s)
		}
	}
	f.vcenters.Store(&now)
	f.generation.Add(1)
	f.mu.Unlock()
	f.applied.Notify()
	f.changed(true)
}

// CredentialsChanged notes that credentials may have changed. A vCenter whose credentials
// have is logged in to again; its watch goes on if they are accepted.
func (f *Fleet) CredentialsChanged() {
	for _, v := range *f.vcenters.Load() {
		v.credentialsChanged.Notify()
	}
}

// Run follows all vCenters at once until the context is done, and returns when
// each is logged out or has not answered that within 3 s. No vCenter's failure
// ends it or reaches another vCenter.
func (f *Fleet) Run(ctx context.Context) error {
	var g errgroup.Group
	running := make(map[*vCenter]context.CancelFunc)
	for {
		now := *f.vcenters.Load()
		for _, v := range now {
			if running[v] != nil {
				continue
			}
			own, cancel := context.WithCancel(ctx)
			running[v] = cancel
			g.Go(func() error {
				defer cancel()
				newMonitor(v, f.credentials, f.opts, f.changed).run(own)
				return nil
			})
		}
		for v, cancel := range running {
			if !slices.Contains(now, v) {
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

// States returns the state of each vCenter in the order of the configuration. The caller must not
// change them: they are the same for all callers until one of them changes.
func (f *Fleet) States() []inventory.State { return *f.states.Load() }

// Generation returns a number that grows with each change of the configuration. Two
// answers of ConfirmAbsent and States are of the same vCenters if it did not change
// between them.
func (f *Fleet) Generation() uint64 { return f.generation.Load() }

// Subscribe returns a channel that is notified when a state has changed, once for all changes
// since it was last received from.
func (f *Fleet) Subscribe() <-chan struct{} {
	s := signal.New()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, s)
	return s
}

// changed has States return what the vCenters have published, and notifies subscribers if they are to know.
func (f *Fleet) changed(announce bool) {
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

// Follow replaces the machines whose details are read.
func (f *Fleet) Follow(ids []inventory.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interest = watch.NewInterest(ids, f.interest)
	for _, v := range *f.vcenters.Load() {
		v.inbox.Follow(f.interest)
	}
}

// Probe has a vCenter prove that it answers. Then its state has a new LastContact and
// subscribers are notified; otherwise its state has an error. One that is not watched now
// is read, or its failure known, in any case.
func (f *Fleet) Probe(vcenter string) {
	if i := f.inbox(vcenter); i != nil {
		i.Probe()
	}
}

// ReadTags has the tags of a vCenter read soon, and the names of those that matter whose
// names are older than half of the refresh interval. Then subscribers are notified, whatever
// has come of it. One that is not watched now is read, or its failure known, in any case.
func (f *Fleet) ReadTags(vcenter string) {
	if i := f.inbox(vcenter); i != nil {
		i.ReadTags()
	}
}

// AskHome has a vCenter asked whether a machine exists that a Node was last found as and that it
// does not show. A later snapshot has the reply in Homes. It is asked about each once in a while
// only, whoever asks how often.
func (f *Fleet) AskHome(vcenter, id string) {
	if i := f.inbox(vcenter); i != nil {
		i.AskHome(id)
	}
}

// inbox returns that of a vCenter, nil if it is not configured.
func (f *Fleet) inbox(vcenter string) *watch.Inbox {
	for _, v := range *f.vcenters.Load() {
		if v.name == vcenter {
			return v.inbox
		}
	}
	return nil
}

// An OpenSession is the session that a fleet has with a vCenter. Err says why there is none.
type OpenSession struct {
	VCenter string
	Session *session.Session
	Err     error
}

// Sessions returns those with all vCenters now, in the order of the configuration. They stay the fleet's,
// which ends them.
func (f *Fleet) Sessions() []OpenSession {
	var all []OpenSession
	for _, v := range *f.vcenters.Load() {
		o := OpenSession{VCenter: v.name, Session: v.session()}
		if o.Session == nil {
			if o.Err = v.status.Load().state.Err; o.Err == nil {
				o.Err = topology.Errorf(topology.ErrUnknown, "vCenter %q is not logged in to", v.name)
			}
		}
		all = append(all, o)
	}
	return all
}
