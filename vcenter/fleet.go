package vcenter

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// Wanted is what of the vCenters somebody needs beside their machines.
type Wanted struct {
	// Tags says whether tags are read at all: nobody needs them where no rule
	// is configured.
	Tags bool
	// Categories are the tag categories that somebody needs. Snapshots tell which
	// of them a vCenter does not have.
	Categories []string
	// Surveyed are those of the categories whose tags are looked for in the whole vCenter.
	Surveyed []string
	// Paths are the paths whose objects' tags are read; all if empty.
	Paths []topology.PathKind
	// HostGroups says whether the DRS host groups of clusters are read, and
	// FaultDomains whether the vSAN fault domains of hosts are. A change has the watch
	// of each vCenter begin again.
	HostGroups, FaultDomains bool
}

// Options tune a fleet. The zero value is what a daemon wants, without tags.
type Options struct {
	// Wanted is what of the vCenters somebody needs, until Apply says otherwise.
	Wanted
	// Timeout bounds each remote call but logins; 15 s if zero.
	Timeout time.Duration
	// LoginTimeout bounds each request that shows credentials, which may have to wait
	// for a directory; 90 s if zero.
	LoginTimeout time.Duration
	// LoginLimits bound how often logins that fail are repeated.
	LoginLimits session.LoginLimits
	// TagRefresh is the time between two readings of tags, which vCenter does
	// not announce; 30 s if zero.
	TagRefresh time.Duration
	// RetryMin and RetryMax bound the delay after a failure; 500 ms and 10 s
	// if zero.
	RetryMin, RetryMax time.Duration
	// PollTime is how long the server may hold a long poll open while nothing changes,
	// in whole seconds; 25 s if zero. Its return proves contact. The answer to each is
	// waited for Timeout longer.
	PollTime time.Duration
	// FirstPage bounds the wait for the first page of a vCenter's machines, for which
	// it has to collect all of them; 5 min if zero.
	FirstPage time.Duration
	// SearchEvery is the time in which a vCenter with index: followed is searched
	// again for each machine; 10 min if zero.
	SearchEvery time.Duration
	// InFlight bounds the requests at a time to one vCenter; 8 if zero.
	InFlight int
	// Observer is told what is asked of vCenters; nil for none.
	Observer Observer
}

// timing is Options with the defaults filled in.
type timing struct {
	timeout, tagRefresh time.Duration
	loginTimeout        time.Duration
	loginLimits         session.LoginLimits
	retryMin, retryMax  time.Duration
	pollTime, firstPage time.Duration
	logoutTimeout       time.Duration
	searchEvery         time.Duration
	inFlight            int
	observer            Observer
	// accounts are those of all connections.
	accounts *session.Accounts
}

// A Fleet is all configured vCenters.
type Fleet struct {
	credentials CredentialSource
	timing      timing
	// connections are in the order of the configuration.
	connections atomic.Pointer[[]*connection]
	// generation counts the calls of Apply that are over.
	generation atomic.Uint64
	// applied has a token when they are others than Run knows of.
	applied chan struct{}

	// mu is for what follows, and for who changes the connections.
	mu          sync.Mutex
	followed    *followed
	subscribers []chan struct{}
}

// NewFleet prepares a fleet; it contacts nothing until Run.
func NewFleet(vcenters []config.VCenter, credentials CredentialSource, opts Options) *Fleet {
	f := &Fleet{
		credentials: credentials,
		applied:     make(chan struct{}, 1),
		followed:    newFollowed(nil),
		timing: timing{
			timeout:       orDefault(opts.Timeout, 15*time.Second),
			tagRefresh:    orDefault(opts.TagRefresh, 30*time.Second),
			loginTimeout:  orDefault(opts.LoginTimeout, 90*time.Second),
			loginLimits:   opts.LoginLimits,
			retryMin:      orDefault(opts.RetryMin, 500*time.Millisecond),
			retryMax:      orDefault(opts.RetryMax, 10*time.Second),
			pollTime:      orDefault(opts.PollTime, 25*time.Second),
			firstPage:     orDefault(opts.FirstPage, 5*time.Minute),
			logoutTimeout: 3 * time.Second,
			searchEvery:   orDefault(opts.SearchEvery, 10*time.Minute),
			inFlight:      orDefault(opts.InFlight, 8),
			observer:      opts.Observer,
			accounts:      session.NewAccounts(opts.LoginLimits),
		},
	}
	if f.timing.observer == nil {
		f.timing.observer = unobserved{}
	}
	f.connections.Store(new([]*connection))
	f.Apply(vcenters, opts.Wanted)
	return f
}

// Apply makes these the vCenters of the fleet, by name. Those that were not
// there are connected to, those that are not there any more are logged out of and
// not in States from now on. One that stays keeps its session unless its address
// or its credentials are others, and its watch unless the certificates that it may
// have or its datacenters are others, or tags or what hosts belong to begin to be read. A vCenter with
// another address is one of which nothing is known yet.
func (f *Fleet) Apply(vcenters []config.VCenter, wanted Wanted) {
	f.mu.Lock()
	before := make(map[string]*connection)
	for _, c := range *f.connections.Load() {
		before[c.name] = c
	}
	connections := make([]*connection, len(vcenters))
	for i := range vcenters {
		t := &target{cfg: vcenters[i], tags: wanted.Tags, categories: wanted.Categories, surveyed: wanted.Surveyed, paths: wanted.Paths, facts: wanted.hostFacts()}
		c := before[t.cfg.Name]
		if c == nil {
			c = newConnection(t, f.credentials, f.timing, f.announce)
			c.states = f.States
			c.follow(f.followed)
		} else {
			c.retarget(t)
		}
		connections[i] = c
	}
	f.connections.Store(&connections)
	f.generation.Add(1)
	f.mu.Unlock()
	token(f.applied)
	f.announce()
}

// Renew says that credentials may have changed. A vCenter whose have is logged in
// to anew, which its watch survives if they serve.
func (f *Fleet) Renew() {
	for _, c := range *f.connections.Load() {
		token(c.renewed)
	}
}

func orDefault[T comparable](value, def T) T {
	var zero T
	if value == zero {
		return def
	}
	return value
}

// Run follows all vCenters at once until the context is done, and returns when
// each is logged out or has not answered that within 3 s. No vCenter's failure
// ends it or reaches another vCenter.
func (f *Fleet) Run(ctx context.Context) error {
	var g errgroup.Group
	running := make(map[*connection]context.CancelFunc)
	for {
		now := *f.connections.Load()
		for c, cancel := range running {
			if !slices.Contains(now, c) {
				klog.FromContext(ctx).Info("The vCenter is not in the configuration any more", "vCenter", c.name)
				cancel()
				delete(running, c)
			}
		}
		for _, c := range now {
			if running[c] != nil {
				continue
			}
			own, cancel := context.WithCancel(ctx)
			running[c] = cancel
			g.Go(func() error {
				defer cancel()
				c.run(own)
				return nil
			})
		}
		select {
		case <-f.applied:
		case <-ctx.Done():
			return g.Wait()
		}
	}
}

// States returns the state of each vCenter in the order of the configuration.
func (f *Fleet) States() []inventory.State {
	connections := *f.connections.Load()
	states := make([]inventory.State, len(connections))
	for i, c := range connections {
		states[i] = c.stateNow()
	}
	return states
}

// Generation returns a number that grows with each change of the configuration. Two
// answers of ConfirmAbsent and States are of the same vCenters if it did not change
// between them.
func (f *Fleet) Generation() uint64 { return f.generation.Load() }

// Subscribe returns a channel that has a token whenever a state has changed
// since the last token was taken.
func (f *Fleet) Subscribe() <-chan struct{} {
	ch := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, ch)
	return ch
}

func (f *Fleet) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ch := range f.subscribers {
		token(ch)
	}
	for _, c := range *f.connections.Load() {
		token(c.stirred)
	}
}

// Follow says of which machines the details are wanted, instead of those before.
// Machines that are not known yet are looked for at once.
func (f *Fleet) Follow(ids []inventory.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followed = newFollowed(ids)
	for _, c := range *f.connections.Load() {
		c.follow(f.followed)
	}
}

// Probe has a vCenter prove that it answers. Then its state has a new Contact and
// subscribers are told; otherwise it is in trouble. One that is not watched now
// will be heard of anyway.
func (f *Fleet) Probe(vcenter string) {
	for _, c := range *f.connections.Load() {
		if c.name == vcenter {
			token(c.probe)
		}
	}
}

// ReadTags has the tags of a vCenter read soon, and the names of those that matter whose
// names are older than half of the refresh interval. Then subscribers are told, whatever
// has come of it. One that is not watched now will be heard of anyway.
func (f *Fleet) ReadTags(vcenter string) {
	for _, c := range *f.connections.Load() {
		if c.name == vcenter {
			token(c.reread)
		}
	}
}
