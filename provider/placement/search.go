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
	searchesAtOnce    = 4
	searchesPerSecond = 10
	searchTimeout     = time.Minute
	// confirmationLasts limits the age of a search when a Node is deleted. The framework checks an absent VM
	// every five seconds.
	confirmationLasts = 15 * time.Second
	repeatAfter       = 10 * time.Second
	// outsideTimeout and outsideLasts are for searches outside the configured datacenters. Their results are
	// valid for longer, because their Events are rate-limited.
	outsideTimeout = 10 * time.Second
	outsideLasts   = 5 * time.Minute
)

var searchRetries = wait.Backoff{Duration: 5 * time.Second, Factor: 2, Steps: 4, Cap: 30 * time.Second}

var (
	// ErrConfirming means that the search for an absent VM has not ended.
	ErrConfirming = errors.New("every vCenter is being searched for the VM")
	// ErrSearchFailed means that a vCenter could not be searched.
	ErrSearchFailed = errors.New("the absence of the VM is not confirmed")
	// ErrStillThere means that a search found the VM.
	ErrStillThere = errors.New("a search found the VM, although it is not in the index")
)

// SearchedFleet is the Checker's view of the vCenters.
type SearchedFleet interface {
	States() []inventory.State
	// ConfirmAbsent returns nil if every vCenter answered and none has the VM, and topology.ErrUnknown
	// unless the VM was found.
	ConfirmAbsent(context.Context, inventory.Identity) error
	// SearchOutside returns inventory.ErrOutside if it finds the VM outside the configured datacenters. Nil
	// proves nothing.
	SearchOutside(context.Context, inventory.Identity) error
	// Generation changes with the set of vCenters.
	Generation() uint64
}

type confirmer struct {
	fleet SearchedFleet
	// queues are by wanted.outside, so that searches for Events delay no deletion.
	queues map[bool]workqueue.TypedInterface[wanted]

	// The lock of memories also guards lastErr.
	memories Memories
	// lastErr is from the last search if a vCenter could not be searched, or nil.
	lastErr error
}

// wanted is a Node whose VM is searched for. If outside is true, the search confirms no absence.
type wanted struct {
	node    types.UID
	outside bool
}

func (w wanted) slot(k *Memory) **search {
	if w.outside {
		return &k.outside
	}
	return &k.absence
}

type search struct {
	id inventory.Identity
	// done is the end of the last run, or zero. err is the reason why that run confirmed no absence, or nil.
	done time.Time
	err  error
	// successful is the end of the first of the latest successful runs, or zero.
	successful time.Time
	generation uint64
	due        time.Time
	retries    wait.Backoff
}

// ask returns nil if a recent search confirmed the absence. Whatever it returns, it starts a search if one
// is due. If repeat is false, it searches once.
func (c *confirmer) ask(node *v1.Node, outside bool, id inventory.Identity, repeat bool) error {
	c.memories.Lock()
	defer c.memories.Unlock()
	w := wanted{node.UID, outside}
	slot := w.slot(c.memories.Memory(node))
	if *slot == nil || !(*slot).isOf(id, c.fleet.Generation()) {
		*slot = &search{id: id, retries: searchRetries}
	}
	s := *slot
	if s.done.IsZero() || repeat && !s.due.After(time.Now()) {
		c.queues[w.outside].Add(w)
	}
	switch {
	case s.done.IsZero() && c.lastErr != nil:
		return fmt.Errorf("%w; the latest search, for another VM, failed: %w", ErrConfirming, c.lastErr)
	case s.done.IsZero():
		return ErrConfirming
	case w.outside && time.Since(s.done) > outsideLasts, s.err == nil && !w.outside && time.Since(s.done) > confirmationLasts:
		return ErrConfirming
	}
	return s.err
}

func (s *search) isOf(id inventory.Identity, generation uint64) bool {
	return slices.Equal(s.id.UUIDs, id.UUIDs) && s.id.Recorded == id.Recorded && s.id.RecordedInstance == id.RecordedInstance && s.id.LastSeen == id.LastSeen &&
		(s.done.IsZero() || s.generation == generation)
}

func (c *confirmer) drop(node types.UID) {
	c.memories.Lock()
	defer c.memories.Unlock()
	if k := c.memories.ExistingMemory(node); k != nil {
		k.absence = nil
	}
}

// currentSearch requires the lock, and returns nil if the search was dropped.
func (c *confirmer) currentSearch(w wanted) *search {
	k := c.memories.ExistingMemory(w.node)
	if k == nil {
		return nil
	}
	return *w.slot(k)
}

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
				if s := c.dueOf(w); s != nil && pace.Wait(ctx) == nil {
					generation, err := c.search(ctx, s.id, w.outside)
					if c.finish(w, s, generation, err) {
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

func (c *confirmer) dueOf(w wanted) *search {
	c.memories.Lock()
	defer c.memories.Unlock()
	if s := c.currentSearch(w); s != nil && !s.due.After(time.Now()) {
		return s
	}
	return nil
}

func (c *confirmer) search(ctx context.Context, id inventory.Identity, outside bool) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	generation := c.fleet.Generation()
	if outside {
		ctx, cancel := context.WithTimeout(ctx, outsideTimeout)
		defer cancel()
		return generation, c.fleet.SearchOutside(ctx, id)
	}
	if err := inventory.Exists(c.fleet.States(), id); !errors.Is(err, topology.ErrAbsent) {
		return generation, ErrConfirming
	}
	// Another component may have written the provider ID in the other byte order.
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
		return generation, fmt.Errorf("%w; retrying: %w", ErrSearchFailed, err)
	default:
		return generation, fmt.Errorf("%w: %w", ErrStillThere, err)
	}
}

// finish reports whether the search was not dropped.
func (c *confirmer) finish(w wanted, s *search, generation uint64, err error) bool {
	c.memories.Lock()
	defer c.memories.Unlock()
	if errors.Is(err, ErrSearchFailed) {
		c.lastErr = err
	} else if !w.outside {
		c.lastErr = nil
	}
	if c.currentSearch(w) != s {
		return false
	}
	s.generation = generation
	s.err = err
	s.done = time.Now()
	s.due = s.done.Add(repeatAfter)
	if w.outside {
		s.due = s.done.Add(outsideLasts)
	} else if err != nil {
		s.due = s.done.Add(s.retries.Step())
		s.successful = time.Time{}
	} else {
		s.retries = searchRetries
		if s.successful.IsZero() {
			s.successful = s.done
		}
	}
	return true
}
