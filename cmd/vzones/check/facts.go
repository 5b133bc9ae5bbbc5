package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

const (
	// preflightTime bounds the connection to a vCenter without a login.
	preflightTime = 10 * time.Second
	// searchedOutside is how many Nodes without a machine are looked for beyond the configured
	// datacenters, which takes requests for each of them.
	searchedOutside = 20
)

// facts are all that was read. Findings follow from them alone. The slices by vCenter are in
// configured order.
type facts struct {
	config *config.Config
	states []inventory.State
	// health has what else is known of each vCenter, reports what came of reaching it.
	health  []vcenter.Health
	reports []preflight
	surveys []world.Survey
	// all are the Nodes of the cluster, none without a cluster, and nodes those of them that are ours.
	all, nodes []*node
	copies     copies
	now        time.Time
}

// open opens a world, and connects to each vCenter without a login meanwhile.
func open(ctx context.Context, flags world.Flags) (*world.World, []preflight, error) {
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	var reports []preflight
	var side sync.WaitGroup
	flags.Beside = func(cfg *config.Config) {
		side.Go(func() { reports = runPreflights(beside, cfg.VCenters, min(preflightTime, flags.Timeout)) })
	}
	w, err := world.Open(ctx, &flags)
	if err != nil {
		cancel()
	}
	side.Wait()
	return w, reports, err
}

// read reads all facts of a world, which has the vCenters and the Nodes.
func read(ctx context.Context, w *world.World, reports []preflight) (*facts, error) {
	f := &facts{config: w.Config, reports: reports, now: time.Now()}
	var side sync.WaitGroup
	side.Go(func() { f.copies = readCopies(ctx, w) })
	f.lookAt(ctx, w)
	categories := w.Config.Topology.Policy.Categories()
	query := world.SurveyQuery{Categories: categories, Definitions: true, Machines: map[string][]string{}}
	for _, n := range f.nodes {
		if m := n.Place.Machine; m != nil {
			query.Machines[m.Ref.VCenter] = append(query.Machines[m.Ref.VCenter], m.Ref.ID)
		}
	}
	f.surveys = w.Survey(ctx, query)
	side.Wait()
	f.states, f.health = completed(w.States, f.surveys, categories), w.Health()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("checking the vCenters: %w", context.Cause(ctx))
	}
	return f, nil
}

// completed returns states as if their snapshots had what they have only once there are Nodes: which
// categories cannot be seen.
func completed(states []inventory.State, surveys []world.Survey, categories []string) []inventory.State {
	all := slices.Clone(states)
	for i := range all {
		if all[i].Snapshot == nil {
			continue
		}
		now := *all[i].Snapshot
		if s := &surveys[i]; s.Err == nil && s.CategoriesErr == nil {
			now.InvisibleCategories = slices.DeleteFunc(slices.Clone(categories), func(name string) bool {
				return slices.ContainsFunc(s.Categories, func(c world.Category) bool { return c.Name == name })
			})
		}
		all[i].Snapshot = &now
	}
	return all
}

// lookAt looks at the Nodes.
func (f *facts) lookAt(ctx context.Context, w *world.World) {
	searches := 0
	for _, of := range w.Nodes {
		n := newNode(w.Look(of))
		f.all = append(f.all, n)
		if n.Foreign {
			n.otherProvider = w.Placer.OtherProvider(w.States, of)
			continue
		}
		if id := n.Identity; errors.Is(n.Err, topology.ErrAbsent) && len(id.UUIDs) > 0 && searches < searchedOutside {
			searches++
			n.Err = cmp.Or(w.SearchOutside(ctx, id), n.Err)
		}
		f.nodes = append(f.nodes, n)
		if n.Place.Machine != nil {
			n.lost = slices.DeleteFunc(placement.Contenders(w.States, w.Placer.Topology().Policy, n.Place.Machine), func(c topology.Contender) bool {
				return c.By.Ref.Type != "VirtualMachine" || c.Fate != topology.FateOtherPath
			})
		}
	}
}

// survey returns that of a vCenter, nil if there is none.
func (f *facts) survey(vcenter string) *world.Survey {
	for i := range f.surveys {
		if f.surveys[i].VCenter == vcenter && f.surveys[i].Err == nil {
			return &f.surveys[i]
		}
	}
	return nil
}

// findings returns all that is wrong.
func (f *facts) findings() []Finding {
	found := f.warnings()
	places := f.hostPlaces()
	for i := range f.states {
		reached, read := f.reach(i)
		found = append(found, reached...)
		if !read {
			continue
		}
		found = append(found, f.tagging(i)...)
		found = append(found, f.datacenters(i)...)
		found = append(found, f.unreadable(i)...)
		found = append(found, f.unchecked(i)...)
		if s := &f.surveys[i]; s.Err == nil {
			found = append(found, f.unread(i, places)...)
			found = append(found, f.categories(s)...)
		}
	}
	found = append(found, f.absent()...)
	found = append(found, f.untagged(places)...)
	found = append(found, f.conflicts(places)...)
	found = append(found, f.unplaced()...)
	found = append(found, f.providerIDs()...)
	found = append(found, f.byName()...)
	found = append(found, f.machines()...)
	found = append(found, f.controlPlane()...)
	found = append(found, f.labels()...)
	found = append(found, f.stale()...)
	found = f.withoutDriver(found)
	slices.SortStableFunc(found, func(a, b Finding) int { return strings.Compare(a.Object, b.Object) })
	return found
}
