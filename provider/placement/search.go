package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// searchesAtOnce and searchesPerSecond bound the searches for absent
	// machines, however many there are: each costs a few requests in every vCenter.
	searchesAtOnce    = 4
	searchesPerSecond = 10
	// searchTimeout bounds a search in all. Each of its requests has the deadline of
	// a call.
	searchTimeout = time.Minute
	// confirmationLasts is the greatest age of a search by which a Node is deleted. The framework asks
	// every five seconds; a question after repeatAfter starts the next search.
	confirmationLasts = 15 * time.Second
	repeatAfter       = 10 * time.Second
	// outsideTimeout bounds a search outside of the configured datacenters. Its result is good for
	// outsideLasts, because an Event may have to wait for its turn.
	outsideTimeout = 10 * time.Second
	outsideLasts   = 5 * time.Minute
)

// searchRetries are the delays after searches that fail.
var searchRetries = wait.Backoff{Duration: 5 * time.Second, Factor: 2, Steps: 4, Cap: 30 * time.Second}

var (
	// ErrConfirming says that the search for an absent machine has not ended yet.
	ErrConfirming = errors.New("every vCenter is being searched for the VM")
	// ErrSearchFailed says that a vCenter could not be searched.
	ErrSearchFailed = errors.New("the absence of the VM is not confirmed")
	// ErrStillThere says that a search has found the machine.
	ErrStillThere = errors.New("a search has found the VM, which is not in the index")
)

// SearchedFleet is what searches need of the vCenters.
type SearchedFleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// ConfirmAbsent searches every vCenter and returns nil only if each
	// answered and none has the machine. An error that is not topology.ErrUnknown
	// says where the machine is.
	ConfirmAbsent(context.Context, inventory.Identity) error
	// SearchOutside returns inventory.ErrOutside if a machine that no index has is
	// in none of the configured datacenters. Nil says nothing.
	SearchOutside(context.Context, inventory.Identity) error
	// Generation returns another number after each change of which vCenters those are.
	Generation() uint64
}

// A confirmer searches every vCenter for machines that no snapshot has any more. A search begins after
// all snapshots lack the machine. If anything contradicts that later, the result is dropped.
type confirmer struct {
	fleet SearchedFleet
	// queues have the Nodes whose machines are to be searched for, by wanted.outside. Searches outside of
	// the configured datacenters have a queue of their own, so that they delay no deletion.
	queues map[bool]workqueue.TypedInterface[wanted]

	// memories have the searches. Their lock is that of lastErr, too.
	memories Memories
	// lastErr is the error of the last search if a vCenter could not be searched.
	lastErr error
}

// wanted is the Node whose machine is searched for, and whether that is done outside of the configured
// datacenters only, which confirms nothing.
type wanted struct {
	node    types.UID
	outside bool
}

// in returns where the memory of the Node has the search.
func (w wanted) in(k *Memory) **search {
	if w.outside {
		return &k.outside
	}
	return &k.absence
}

// A search is for the machine of one Node. Another identity is another search.
type search struct {
	id inventory.Identity
	// done is the end of the last one, zero before it. Err says why it confirms nothing.
	// Generation is the fleet's at its start.
	done       time.Time
	err        error
	generation uint64
	// due is the time from which a question starts another search.
	due     time.Time
	retries wait.Backoff
}

// ask returns nil if a search that ended a moment ago has confirmed that the machine is absent. Otherwise it
// starts a search if one is due, and does not wait for it. If again is false, it starts only the first one.
func (c *confirmer) ask(node *v1.Node, outside bool, id inventory.Identity, again bool) error {
	c.memories.Lock()
	defer c.memories.Unlock()
	w := wanted{node.UID, outside}
	kept := w.in(c.memories.Of(node))
	if *kept == nil || !(*kept).isOf(id, c.fleet.Generation()) {
		*kept = &search{id: id, retries: searchRetries}
	}
	of := *kept
	if of.done.IsZero() || again && !of.due.After(time.Now()) {
		c.queues[w.outside].Add(w)
	}
	switch {
	case of.done.IsZero() && c.lastErr != nil:
		return fmt.Errorf("%w; the latest search, for another one, failed: %w", ErrConfirming, c.lastErr)
	case of.done.IsZero():
		return ErrConfirming
	case w.outside && time.Since(of.done) > outsideLasts, of.err == nil && !w.outside && time.Since(of.done) > confirmationLasts:
		return ErrConfirming
	}
	return of.err
}

// isOf reports whether a search is for that machine and of the present vCenters,
// if they were searched already.
func (of *search) isOf(id inventory.Identity, generation uint64) bool {
	return slices.Equal(of.id.UUIDs, id.UUIDs) && of.id.Recorded == id.Recorded && of.id.RecordedInstance == id.RecordedInstance && of.id.LastSeen == id.LastSeen &&
		(of.done.IsZero() || of.generation == generation)
}

// drop drops the result of a search, also of one that is under way, because the machine is not absent, its
// absence is not known any more, or nobody asks.
func (c *confirmer) drop(node types.UID) {
	c.memories.Lock()
	defer c.memories.Unlock()
	if k := c.memories.Kept(node); k != nil {
		k.absence = nil
	}
}

// wantedBy returns the search that somebody wants, nil if nobody does. The lock is held.
func (c *confirmer) wantedBy(w wanted) *search {
	k := c.memories.Kept(w.node)
	if k == nil {
		return nil
	}
	return *w.in(k)
}

// run searches until the context is done, and returns when no search is under way. It calls
// ended, which must not wait, with each Node whose search has a result.
func (c *confirmer) run(ctx context.Context, ended func(types.UID)) {
	defer context.AfterFunc(ctx, func() { c.queues[false].ShutDown(); c.queues[true].ShutDown() })()
	var workers sync.WaitGroup
	work := func(queue workqueue.TypedInterface[wanted], pace *rate.Limiter) {
		workers.Go(func() {
			for {
				w, isShutDown := queue.Get()
				if isShutDown {
					return
				}
				if of := c.dueOf(w); of != nil && pace.Wait(ctx) == nil {
					generation, err := c.search(ctx, of.id, w.outside)
					if c.finish(w, of, generation, err) {
						ended(w.node)
					}
				}
				queue.Done(w)
			}
		})
	}
	pace := rate.NewLimiter(searchesPerSecond, searchesAtOnce)
	for range searchesAtOnce {
		work(c.queues[false], pace)
	}
	work(c.queues[true], rate.NewLimiter(searchesPerSecond, 1))
	workers.Wait()
}

// dueOf returns a search, nil if nobody wants it or it has ended a moment ago.
func (c *confirmer) dueOf(w wanted) *search {
	c.memories.Lock()
	defer c.memories.Unlock()
	if of := c.wantedBy(w); of != nil && !of.due.After(time.Now()) {
		return of
	}
	return nil
}

// search returns the generation of the vCenters that were searched, and nil if none has
// the machine.
func (c *confirmer) search(ctx context.Context, id inventory.Identity, outside bool) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	generation := c.fleet.Generation()
	if outside {
		ctx, cancel := context.WithTimeout(ctx, outsideTimeout)
		defer cancel()
		return generation, c.fleet.SearchOutside(ctx, id)
	}
	// It may have been due for a while.
	if err := inventory.Exists(c.fleet.States(), id); !errors.Is(err, topology.ErrAbsent) {
		return generation, ErrConfirming
	}
	// A provider ID that something else has set may be in the other byte order.
	for _, u := range id.UUIDs[:len(id.UUIDs):len(id.UUIDs)] {
		if s := u.Swapped(); s != u {
			id.UUIDs = append(id.UUIDs, s)
		}
	}
	err := c.fleet.ConfirmAbsent(ctx, id)
	switch {
	case err == nil:
		return generation, nil
	case errors.Is(err, topology.ErrUnknown), ctx.Err() != nil:
		return generation, fmt.Errorf("%w, which is tried again: %w", ErrSearchFailed, err)
	default:
		return generation, fmt.Errorf("%w: %w", ErrStillThere, err)
	}
}

// finish notes the result of a search, and reports whether anybody still wants it.
func (c *confirmer) finish(w wanted, of *search, generation uint64, err error) bool {
	c.memories.Lock()
	defer c.memories.Unlock()
	if errors.Is(err, ErrSearchFailed) {
		c.lastErr = err
	} else if !w.outside {
		c.lastErr = nil
	}
	if c.wantedBy(w) != of {
		return false
	}
	of.generation = generation
	of.err = err
	of.done = time.Now()
	of.due = of.done.Add(repeatAfter)
	if w.outside {
		of.due = of.done.Add(outsideLasts)
	} else if err != nil {
		of.due = of.done.Add(of.retries.Step())
	} else {
		of.retries = searchRetries
	}
	return true
}
