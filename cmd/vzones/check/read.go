package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vzones/cmd/vzones/world"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/preflight"
	"vzones/vcenter/survey"
)

const (
	// preflightTime bounds the connection to a vCenter without a login.
	preflightTime = 10 * time.Second
	// searchedOutside is how many Nodes without a machine are looked for beyond the configured
	// datacenters, which takes requests for each of them.
	searchedOutside = 20
)

// read reads all facts of a world, which has the vCenters and the Nodes.
func read(ctx context.Context, w *world.World) (*facts, error) {
	f := &facts{config: w.Config, now: time.Now()}
	policy := &w.Config.Topology.Policy
	var side sync.WaitGroup
	side.Go(func() { f.reports = preflight.Run(ctx, w.Config.VCenters, preflightTime) })
	side.Go(func() { f.trials = w.TryTags(ctx) })
	f.nodes = nodesOf(ctx, w)
	categories := policy.Categories()
	query := survey.Query{
		Categories: categories, Definitions: len(categories) > 0, Privileges: true,
		Rules: len(f.nodes) > 0, Machines: map[string][]string{},
	}
	for i := range f.nodes {
		if m := f.nodes[i].Place.Machine; m != nil {
			query.Machines[m.Ref.VCenter] = append(query.Machines[m.Ref.VCenter], m.Ref.ID)
		}
	}
	f.surveys = w.Survey(ctx, query)
	side.Wait()
	f.states, f.health = w.States, w.Health()
	f.tagged = placement.Tagged(withTagged(f))
	if ctx.Err() != nil {
		return nil, fmt.Errorf("checking the vCenters: %w", context.Cause(ctx))
	}
	return f, nil
}

// withTagged returns the states as if their snapshots had what tags are attached to by now.
func withTagged(f *facts) []inventory.State {
	states := make([]inventory.State, len(f.states))
	for i, s := range f.states {
		if states[i] = s; s.Snapshot != nil {
			now := *s.Snapshot
			now.Tagged = f.trials[i].Tagged
			states[i].Snapshot = &now
		}
	}
	return states
}

// nodesOf looks at the Nodes that are ours.
func nodesOf(ctx context.Context, w *world.World) (nodes []node) {
	searches := 0
	for _, n := range w.Nodes {
		l := w.Look(n)
		if l.Foreign {
			continue
		}
		if id := l.Identity; errors.Is(l.Err, topology.ErrAbsent) && len(id.UUIDs) > 0 && searches < searchedOutside {
			searches++
			l.Err = cmp.Or(w.SearchOutside(ctx, id), l.Err)
		}
		nodes = append(nodes, node{l})
	}
	return nodes
}
