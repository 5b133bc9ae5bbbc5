package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"vzones/cmd/vzones/internal/preflight"
	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	// preflightTime bounds the connection to a vCenter without a login.
	preflightTime = 10 * time.Second
	// searchedOutside is how many Nodes without a machine are looked for beyond the configured
	// datacenters, which takes requests for each of them.
	searchedOutside = 20
)

// open opens a world, and connects to each vCenter without a login meanwhile.
func open(ctx context.Context, flags world.Flags) (*world.World, []preflight.Report, error) {
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	var reports []preflight.Report
	var side sync.WaitGroup
	flags.Beside = func(cfg *config.Config) {
		side.Go(func() { reports = preflight.Run(beside, cfg.VCenters, min(preflightTime, flags.Timeout)) })
	}
	w, err := world.Open(ctx, &flags)
	if err != nil {
		cancel()
	}
	side.Wait()
	return w, reports, err
}

// read reads all facts of a world, which has the vCenters and the Nodes.
func read(ctx context.Context, w *world.World, reports []preflight.Report) (*facts, error) {
	f := &facts{config: w.Config, reports: reports, now: time.Now()}
	policy := &w.Config.Topology.Policy
	var side sync.WaitGroup
	side.Go(func() { f.csi = w.CSIDriver(ctx) })
	side.Go(func() { f.account = accountOf(ctx, w.Client, w.Config, w.Daemon) })
	f.nodes = nodesOf(ctx, w)
	categories := policy.Categories()
	query := survey.Query{
		Categories: categories, Tagged: policy.VolumeCategories(), Definitions: len(categories) > 0, Privileges: true,
		Rules: len(f.nodes) > 0, Machines: map[string][]string{},
	}
	for i := range f.nodes {
		if m := f.nodes[i].Place.Machine; m != nil {
			query.Machines[m.Ref.VCenter] = append(query.Machines[m.Ref.VCenter], m.Ref.ID)
		}
	}
	f.surveys = w.Survey(ctx, query)
	side.Wait()
	f.states, f.health = completed(w.States, f.surveys, categories), w.Health()
	f.tagged = tagged(f.states, f.surveys)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("checking the vCenters: %w", context.Cause(ctx))
	}
	return f, nil
}

// completed returns states as if their snapshots had what they have only once there are Nodes: which
// categories cannot be seen.
func completed(states []inventory.State, surveys []survey.Survey, categories []string) []inventory.State {
	all := slices.Clone(states)
	for i := range all {
		if all[i].Snapshot == nil {
			continue
		}
		now := *all[i].Snapshot
		if s := &surveys[i]; s.Err == nil && s.CategoriesErr == nil {
			now.InvisibleCategories = slices.DeleteFunc(slices.Clone(categories), func(name string) bool {
				return slices.ContainsFunc(s.Categories, func(c survey.Category) bool { return c.Name == name })
			})
		}
		all[i].Snapshot = &now
	}
	return all
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
