package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// confirmationsAtOnce and confirmationsPerSecond bound the searches for absent
	// machines, however many there are: each costs a few requests in every vCenter.
	confirmationsAtOnce    = 4
	confirmationsPerSecond = 10
	// confirmTimeout bounds a search in all. Each of its requests has the deadline of
	// a call.
	confirmTimeout = time.Minute
	// confirmationLasts is how old the end of a search may be for a Node to be
	// deleted. The framework asks every five seconds.
	confirmationLasts = 15 * time.Second
	// confirmAgain is when a search is repeated that the framework has not asked for
	// yet, so that there is a fresh one whenever it does. After confirmUnasked without
	// a question it does not: nobody deletes Nodes.
	confirmAgain   = 10 * time.Second
	confirmUnasked = 10 * time.Minute
	// retryMin and retryMax bound the delay after a search that failed, which doubles.
	retryMin = 5 * time.Second
	retryMax = 30 * time.Second
)

var (
	// errConfirming says that the search for an absent machine has not ended yet.
	errConfirming = errors.New("every vCenter is being searched for the machine")
	// errSearchFailed says that a vCenter could not be searched.
	errSearchFailed = errors.New("the absence of the machine is not confirmed")
	// errStillThere says that a search has found the machine.
	errStillThere = errors.New("a search has found the machine, which is not in the index")
)

// confirmations searches every vCenter for machines that no snapshot has any more. A
// search begins after its machine was seen to be absent, and what contradicts that
// afterwards takes its result away.
type confirmations struct {
	fleet Fleet
	// wake has a token when there is a new question. Those who ask send it, run
	// receives it.
	wake chan struct{}

	mu sync.Mutex
	of map[types.UID]*confirmation
	// trouble is why the search that ended last has confirmed nothing, if a vCenter
	// could not be searched.
	trouble error
}

// confirmation is the search for the machine of one Node. Another identity is another
// confirmation.
type confirmation struct {
	id        inventory.Identity
	searching bool
	// due is when the next search begins, asked when the framework asked last.
	due, asked time.Time
	failures   int
	// done is when the last search ended, zero before; err is why that confirms
	// nothing. Generation is that of the vCenters that were searched.
	done       time.Time
	err        error
	generation uint64
}

func newConfirmations(fleet Fleet) *confirmations {
	return &confirmations{
		fleet: fleet,
		wake:  make(chan struct{}, 1),
		of:    map[types.UID]*confirmation{},
	}
}

// want has the absence of a Node's machine confirmed.
func (c *confirmations) want(node types.UID, id inventory.Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted(node, id)
}

// ask returns nil if a search that ended lately has confirmed that the machine is
// absent, and otherwise has one made. It does not wait for it.
func (c *confirmations) ask(node types.UID, id inventory.Identity) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.wanted(node, id)
	of.asked = time.Now()
	if !of.searching && of.due.Before(of.asked) {
		token(c.wake) // nobody had asked for long
	}
	return c.answer(of)
}

// peek returns what ask would, and has no search made.
func (c *confirmations) peek(node types.UID, id inventory.Identity) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.of[node]; of != nil && of.isOf(id, c.fleet.Generation()) {
		return c.answer(of)
	}
	return errConfirming
}

// drop takes the result of a search away, of one under way too: the machine is not
// absent, or that is not known any more.
func (c *confirmations) drop(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, node)
}

// retain drops all but those of these Nodes.
func (c *confirmations) retain(nodes map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(node types.UID, _ *confirmation) bool { return !nodes[node] })
}

// wanted returns the confirmation, a new one if the Node's machine or the vCenters are
// others than those of the last search. The caller holds mu.
func (c *confirmations) wanted(node types.UID, id inventory.Identity) *confirmation {
	of := c.of[node]
	if of == nil || !of.isOf(id, c.fleet.Generation()) {
		now := time.Now()
		of = &confirmation{id: id, due: now, asked: now}
		c.of[node] = of
		token(c.wake)
	}
	return of
}

// isOf reports whether a confirmation is of that machine and of the present vCenters,
// if they were searched already.
func (of *confirmation) isOf(id inventory.Identity, generation uint64) bool {
	return slices.Equal(of.id.UUIDs, id.UUIDs) && of.id.Known == id.Known && of.id.KnownIn == id.KnownIn && of.id.Seen == id.Seen &&
		(of.done.IsZero() || of.generation == generation)
}

// answer returns nil if a confirmation confirms that its machine is absent. The caller
// holds mu.
func (c *confirmations) answer(of *confirmation) error {
	switch {
	case of.done.IsZero() && c.trouble != nil:
		return fmt.Errorf("%w; the latest search, for another one, failed: %w", errConfirming, c.trouble)
	case of.done.IsZero():
		return errConfirming
	case of.err != nil:
		return of.err
	case time.Since(of.done) > confirmationLasts:
		return errConfirming
	}
	return nil
}

// run searches until the context is done, and returns when no search is under way.
func (c *confirmations) run(ctx context.Context) {
	pace := flowcontrol.NewTokenBucketRateLimiter(confirmationsPerSecond, confirmationsAtOnce)
	defer pace.Stop()
	var searches sync.WaitGroup
	defer searches.Wait()
	slots := make(chan struct{}, confirmationsAtOnce)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		for {
			node, of, wait := c.next()
			if of == nil {
				timer.Reset(wait)
				break
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			if pace.Wait(ctx) != nil {
				return
			}
			searches.Go(func() {
				defer func() { <-slots }()
				c.finish(node, of, func() (uint64, error) { return c.search(ctx, of.id) })
			})
		}
	}
}

// next returns the confirmation that has been due for longest, as being searched for, or
// how long nothing is due.
func (c *confirmations) next() (types.UID, *confirmation, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first types.UID
	var of *confirmation
	for node, other := range c.of {
		idle := !other.done.IsZero() && time.Since(other.asked) > confirmUnasked
		if !other.searching && !idle && (of == nil || other.due.Before(of.due)) {
			first, of = node, other
		}
	}
	if of == nil {
		return "", nil, time.Hour
	}
	if wait := time.Until(of.due); wait > 0 {
		return "", nil, wait
	}
	of.searching = true
	return first, of, 0
}

// search returns the generation of the vCenters that were searched, and nil if none has
// the machine.
func (c *confirmations) search(ctx context.Context, id inventory.Identity) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	generation := c.fleet.Generation()
	// It may have been due for a while.
	if err := missing(c.fleet.States(), id); !errors.Is(err, topology.ErrAbsent) {
		return generation, errConfirming
	}
	// A provider ID that something else has set may be in the other byte order.
	for _, u := range id.UUIDs[:len(id.UUIDs):len(id.UUIDs)] {
		if s := u.Swapped(); s != u {
			id.UUIDs = append(id.UUIDs, s)
		}
	}
	switch err := c.fleet.ConfirmAbsent(ctx, id); {
	case err == nil:
		return generation, nil
	case errors.Is(err, topology.ErrUnknown), ctx.Err() != nil:
		return generation, fmt.Errorf("%w: %w", errSearchFailed, err)
	default:
		return generation, fmt.Errorf("%w: %w", errStillThere, err)
	}
}

// finish makes a search and notes its result, unless nobody wants to know it any more.
func (c *confirmations) finish(node types.UID, of *confirmation, search func() (uint64, error)) {
	generation, err := search()
	c.mu.Lock()
	defer c.mu.Unlock()
	of.searching = false
	c.trouble = nil
	if errors.Is(err, errSearchFailed) {
		c.trouble = err
	}
	if c.of[node] != of {
		return
	}
	of.generation, of.err, of.done = generation, err, time.Now()
	if err == nil {
		of.failures, of.due = 0, of.done.Add(confirmAgain)
	} else {
		of.due = of.done.Add(min(retryMin<<min(of.failures, 8), retryMax))
		of.failures++
	}
	token(c.wake)
}

// token puts a token into a channel that has room for one.
func token(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it has one
	}
}
