package vcenter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// searchesAtOnce bounds the searches in flight, those that confirm absences too, so that
// other calls find a slot.
const searchesAtOnce = 4

// search searches the vCenter for the machines of Nodes, in the order and at the
// times of the schedule, until the context is done. A search that fails ends the
// watch, as any call does.
func (w *watch) search(ctx context.Context) error {
	plan := newSchedule(w.c.opts.searchEvery)
	now := view{followed: w.c.followed.Load()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case now = <-w.seek.views:
		case <-w.c.stirred:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		plan.follow(now.found(w.c.name, w.c.states()), time.Now())
		round, wait := plan.next(time.Now())
		if len(round) == 0 {
			timer.Reset(wait)
			continue
		}
		found, err := w.searchAll(ctx, round, now.followed)
		if err != nil {
			return err
		}
		plan.done(round, time.Now())
		select {
		case w.seek.results <- found:
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
func (v *view) found(vcenter string, states []inventory.State) map[sought]bool {
	all := map[sought]bool{}
	for _, node := range v.followed.forms {
		found := false
		for _, u := range node.uuids {
			found = found || v.running[sought{uuid: u}] || elsewhere(u, node.home, vcenter, states)
		}
		for _, u := range node.uuids {
			before, again := all[sought{uuid: u}]
			all[sought{uuid: u}] = found && (before || !again)
		}
	}
	for name := range v.followed.names {
		all[sought{name: name}] = v.running[sought{name: name}]
	}
	return all
}

func elsewhere(u inventory.UUID, home, vcenter string, states []inventory.State) bool {
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
func (w *watch) searchAll(ctx context.Context, round []sought, f *followed) (map[sought][]string, error) {
	var mu sync.Mutex
	found := make(map[sought][]string, len(round))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(searchesAtOnce)
	for _, key := range round {
		g.Go(func() error {
			refs, err := atLeisure(ctx, w.c, func() ([]types.ManagedObjectReference, error) { return w.s.searchFor(ctx, key, f) })
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

func (s *reader) searchFor(ctx context.Context, key sought, f *followed) ([]types.ManagedObjectReference, error) {
	if key.name == "" {
		refs, err := s.search(ctx, key.uuid)
		if err != nil {
			return nil, fmt.Errorf("searching for UUID %s: %w", key.uuid, err)
		}
		return refs, nil
	}
	res, err := methods.FindAllByDnsName(ctx, s.vim, &types.FindAllByDnsName{
		This:     *s.vim.ServiceContent.SearchIndex,
		DnsName:  f.names[key.name],
		VmSearch: true,
	})
	if err != nil {
		return nil, fmt.Errorf("searching for the guest host name %s: %w", quote.Value(key.name), err)
	}
	return res.Returnval, nil
}
