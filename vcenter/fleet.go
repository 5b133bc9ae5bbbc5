package vcenter

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// Options tune a fleet. The zero value is what a daemon wants, without tags.
type Options struct {
	// Tags says whether tags are read at all: nobody needs them where no rule
	// is configured.
	Tags bool
	// Categories are the tag categories that somebody needs. Snapshots tell which
	// of them a vCenter does not have.
	Categories []string
	// Timeout bounds each remote call; 15 s if zero.
	Timeout time.Duration
	// TagRefresh is the time between two readings of tags, which vCenter does
	// not announce; 30 s if zero.
	TagRefresh time.Duration
	// RetryMin and RetryMax bound the delay after a failure; 500 ms and 10 s
	// if zero.
	RetryMin, RetryMax time.Duration
	// InFlight bounds the requests at a time to one vCenter; 8 if zero.
	InFlight int
	// Observer is told what is asked of vCenters; nil for none.
	Observer Observer
}

// timing is Options with the defaults filled in.
type timing struct {
	tags                bool
	categories          []string
	timeout, tagRefresh time.Duration
	retryMin, retryMax  time.Duration
	logoutTimeout       time.Duration
	inFlight            int
	observer            Observer
}

// A Fleet is all configured vCenters.
type Fleet struct {
	connections []*connection

	mu          sync.Mutex
	subscribers []chan struct{}
}

// NewFleet prepares a fleet; it contacts nothing until Run.
func NewFleet(vcenters []config.VCenter, credentials CredentialSource, opts Options) *Fleet {
	f := &Fleet{}
	t := timing{
		tags:          opts.Tags,
		categories:    opts.Categories,
		timeout:       orDefault(opts.Timeout, 15*time.Second),
		tagRefresh:    orDefault(opts.TagRefresh, 30*time.Second),
		retryMin:      orDefault(opts.RetryMin, 500*time.Millisecond),
		retryMax:      orDefault(opts.RetryMax, 10*time.Second),
		logoutTimeout: 3 * time.Second,
		inFlight:      orDefault(opts.InFlight, 8),
		observer:      opts.Observer,
	}
	if t.observer == nil {
		t.observer = unobserved{}
	}
	for i := range vcenters {
		f.connections = append(f.connections, newConnection(&vcenters[i], credentials, t, f.announce))
	}
	return f
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
	for _, c := range f.connections {
		g.Go(func() error {
			c.run(ctx)
			return nil
		})
	}
	return g.Wait()
}

// States returns the state of each vCenter in the order of the configuration.
func (f *Fleet) States() []inventory.State {
	states := make([]inventory.State, len(f.connections))
	for i, c := range f.connections {
		states[i] = *c.state.Load()
	}
	return states
}

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
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// Follow says of which machines the details are wanted, instead of those before.
// Machines that are not known yet are looked for at once.
func (f *Fleet) Follow(ids []inventory.Identity) {
	now := newFollowed(ids)
	for _, c := range f.connections {
		c.follow(now)
	}
}

// Probe has a vCenter prove that it answers. Then its state has a new Contact and
// subscribers are told; otherwise it is in trouble. One that is not watched now
// will be heard of anyway.
func (f *Fleet) Probe(vcenter string) {
	for _, c := range f.connections {
		if c.cfg.Name == vcenter {
			select {
			case c.probe <- struct{}{}:
			default: // one is under way
			}
		}
	}
}

func newFollowed(ids []inventory.Identity) *followed {
	f := &followed{uuids: map[inventory.UUID]bool{}, names: map[string]string{}, known: map[string]map[string]inventory.UUID{}}
	for _, id := range ids {
		for _, u := range id.UUIDs {
			f.uuids[u] = true
		}
		if len(id.UUIDs) == 0 {
			f.names[strings.ToLower(id.Name)] = id.Name
		}
		if vc := id.Known.VCenter; vc != "" && len(id.UUIDs) == 1 {
			if f.known[vc] == nil {
				f.known[vc] = map[string]inventory.UUID{}
			}
			u := id.UUIDs[0]
			if before, ok := f.known[vc][id.Known.ID]; ok && before != u {
				u = inventory.UUID{} // one of the Nodes is wrong
			}
			f.known[vc][id.Known.ID] = u
		}
	}
	return f
}
