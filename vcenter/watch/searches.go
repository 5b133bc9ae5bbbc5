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
	// inbox says what runs in other vCenters.
	inbox *Inbox

	// input says what to search for, results has what was found: run receives from the
	// first, which has room for one, and sends to the second. Nobody closes them.
	input   chan searchInput
	results chan map[search.Key][]string
}

// A searchInput is what is followed, and which machines of that are in the index and run.
type searchInput struct {
	interest *Interest
	running  map[search.Key]bool
}

// setInput replaces the input.
func (s *searches) setInput(now searchInput) {
	select {
	case <-s.input:
	default:
	}
	s.input <- now
}

// run searches in the order and at the times of the schedule, until the context is done.
// A search that fails ends the watch, as any call does.
func (s *searches) run(ctx context.Context) error {
	plan := search.NewSchedule(s.every)
	now := searchInput{interest: s.inbox.interest.Load()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case now = <-s.input:
		case <-s.inbox.fleetChanged:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		plan.Follow(now.found(s.vcenter, *s.inbox.fleet.Load()), time.Now())
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
func (i *searchInput) found(vcenter string, fleet Snapshots) map[search.Key]bool {
	all := map[search.Key]bool{}
	for _, node := range i.interest.nodes {
		found := false
		for _, u := range node.uuids {
			found = found || i.running[search.Key{UUID: u}] || runsElsewhere(u, node.home, vcenter, fleet)
		}
		for _, u := range node.uuids {
			before, again := all[search.Key{UUID: u}]
			all[search.Key{UUID: u}] = found && (before || !again)
		}
	}
	for name := range i.interest.names {
		all[search.Key{Name: name}] = i.running[search.Key{Name: name}]
	}
	return all
}

func runsElsewhere(u inventory.UUID, home, vcenter string, fleet Snapshots) bool {
	for other, snapshot := range fleet {
		if other != vcenter && (snapshot == nil && home == other || snapshot != nil && snapshot.Runs(u)) {
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
