package watch

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/search"
)

// searches searches a vCenter for the machines of Nodes, in a goroutine of its own.
type searches struct {
	vcenter string
	session Session
	slots   search.Slots
	// every is the time in which everything that is found is searched for once.
	every time.Duration
	// states returns those of the fleet, changed says that one has changed.
	states  func() []inventory.State
	changed <-chan struct{}

	// known has what searches are to go by, results what they have found: run receives
	// from the first, which has room for one, and sends to the second. Nobody closes
	// them.
	known   chan known
	results chan map[search.Key][]string
}

// known is what is followed, and which machines of that are in the index and run.
type known struct {
	interest *Interest
	running  map[search.Key]bool
}

// goBy replaces what searches are to go by.
func (s *searches) goBy(now known) {
	select {
	case <-s.known:
	default:
	}
	s.known <- now
}

// run searches in the order and at the times of the schedule, until the context is done.
// A search that fails ends the watch, as any call does.
func (s *searches) run(ctx context.Context, interest *Interest) error {
	plan := search.NewSchedule(s.every)
	now := known{interest: interest}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case now = <-s.known:
		case <-s.changed:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		plan.Follow(now.found(s.vcenter, s.states()), time.Now())
		round, wait := plan.Next(time.Now())
		if len(round) == 0 {
			timer.Reset(wait)
			continue
		}
		found, err := s.searchAll(ctx, round, now.interest)
		if err != nil {
			return err
		}
		plan.Done(round, time.Now())
		select {
		case s.results <- found:
		case <-ctx.Done():
			return ctx.Err()
		}
		timer.Reset(0)
	}
}

// found says of everything that is followed whether its machine is found, and runs:
// in the index of this vCenter or in the last snapshot of another one. What a Node says was
// in another vCenter that was not read yet counts as found there, for that Node: a UUID is
// found if it is for each Node that has it.
func (k *known) found(vcenter string, states []inventory.State) map[search.Key]bool {
	all := map[search.Key]bool{}
	for _, node := range k.interest.nodes {
		found := false
		for _, u := range node.uuids {
			found = found || k.running[search.Key{UUID: u}] || runsElsewhere(u, node.home, vcenter, states)
		}
		for _, u := range node.uuids {
			before, again := all[search.Key{UUID: u}]
			all[search.Key{UUID: u}] = found && (before || !again)
		}
	}
	for name := range k.interest.names {
		all[search.Key{Name: name}] = k.running[search.Key{Name: name}]
	}
	return all
}

func runsElsewhere(u inventory.UUID, home, vcenter string, states []inventory.State) bool {
	for _, s := range states {
		if s.VCenter == vcenter {
			continue
		}
		if s.Snapshot == nil && home == s.VCenter || s.Snapshot != nil && s.Snapshot.Runs(u) {
			return true
		}
	}
	return false
}

// searchAll does searches side by side, in the whole vCenter, and returns the managed
// object IDs of the machines that each has found. There is an entry for each.
func (s *searches) searchAll(ctx context.Context, round []search.Key, i *Interest) (map[search.Key][]string, error) {
	var mu sync.Mutex
	found := make(map[search.Key][]string, len(round))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(s.slots))
	for _, key := range round {
		g.Go(func() error {
			refs, err := search.Do(ctx, s.slots, func() ([]types.ManagedObjectReference, error) {
				if key.Name == "" {
					return search.ByUUID(ctx, s.session.Client(), key.UUID)
				}
				return search.ByHostName(ctx, s.session.Client(), i.names[key.Name])
			})
			if err != nil {
				return err
			}
			var ids []string
			for _, ref := range refs {
				if ref.Type == "VirtualMachine" {
					ids = append(ids, ref.Value)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			found[key] = ids
			return nil
		})
	}
	return found, g.Wait()
}
