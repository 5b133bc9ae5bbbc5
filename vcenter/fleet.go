package vcenter

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology/signal"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
)

// A Fleet is all configured vCenters.
type Fleet struct {
	credentials CredentialSource
	timing      timing
	// members are in the order of the configuration.
	members atomic.Pointer[[]member]
	states  combined
	// generation counts the calls of Apply that are over.
	generation atomic.Uint64
	// applied says that the members have changed since Run last read them.
	applied signal.Signal

	// mu is for what follows, and for who changes the members.
	mu          sync.Mutex
	interest    *watch.Interest
	subscribers []signal.Signal
}

// A member is a vCenter of the fleet: the handle of its actor, and what that has to follow as
// configured now. It is never changed.
type member struct {
	*handle
	target *target
}

// NewFleet prepares a fleet; it contacts nothing until Run.
func NewFleet(vcenters []config.VCenter, credentials CredentialSource, opts Options) *Fleet {
	f := &Fleet{
		credentials: credentials,
		timing:      opts.withDefaults(),
		applied:     signal.New(),
		interest:    watch.NewInterest(nil),
	}
	f.members.Store(new([]member))
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
	before := make(map[string]*handle)
	for _, m := range *f.members.Load() {
		before[m.name] = m.handle
	}
	members := make([]member, len(vcenters))
	for i := range vcenters {
		t := newTarget(&vcenters[i], requirements)
		h := before[t.cfg.Name]
		if h == nil {
			h = newHandle(t, f.timing)
			h.inbox.Follow(f.interest)
		} else {
			h.sendTarget(t)
		}
		members[i] = member{h, t}
	}
	f.members.Store(&members)
	f.generation.Add(1)
	f.mu.Unlock()
	f.applied.Notify()
	f.announce()
}

// CredentialsChanged notes that credentials may have changed. A vCenter whose credentials
// have is logged in to again; its watch goes on if they are accepted.
func (f *Fleet) CredentialsChanged() {
	for _, m := range *f.members.Load() {
		m.credentialsChanged.Notify()
	}
}

// Run follows all vCenters at once until the context is done, and returns when
// each is logged out or has not answered that within 3 s. No vCenter's failure
// ends it or reaches another vCenter.
func (f *Fleet) Run(ctx context.Context) error {
	var g errgroup.Group
	running := make(map[*handle]context.CancelFunc)
	for {
		now := map[*handle]bool{}
		for _, m := range *f.members.Load() {
			now[m.handle] = true
			if running[m.handle] != nil {
				continue
			}
			own, cancel := context.WithCancel(ctx)
			running[m.handle] = cancel
			g.Go(func() error {
				defer cancel()
				newActor(m.handle, f.credentials, f.timing, f.announce).run(own)
				return nil
			})
		}
		for h, cancel := range running {
			if !now[h] {
				klog.FromContext(ctx).Info("The vCenter is no longer in the configuration", "vCenter", h.name)
				cancel()
				delete(running, h)
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
func (f *Fleet) States() []inventory.State { return f.states.of(f.members.Load()) }

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

// announce notifies subscribers of a change of a state.
func (f *Fleet) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subscribers {
		s.Notify()
	}
}

// Follow replaces the machines whose details are read.
func (f *Fleet) Follow(ids []inventory.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interest = watch.NewInterest(ids)
	for _, m := range *f.members.Load() {
		m.inbox.Follow(f.interest)
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
	for _, m := range *f.members.Load() {
		if m.name == vcenter {
			return m.inbox
		}
	}
	return nil
}
