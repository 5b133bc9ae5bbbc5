package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/component-base/version"

	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

const (
	preflightTimeout = 10 * time.Second
	// maxOutsideSearches limits the Nodes without a VM that are searched outside the configured
	// datacenters: each search takes several requests.
	maxOutsideSearches = 20
)

// facts contains everything that was read.
type facts struct {
	config   *config.Config
	vcenters []*vcenterFacts
	states   []inventory.State
	// allNodes are all Nodes of the cluster; empty without a cluster.
	allNodes nodeList
	// nodes are the Nodes that the daemon manages.
	nodes  nodeList
	copies copies
	daemon *daemonCheck
	now    time.Time
}

type vcenterFacts struct {
	config    *config.VCenter
	state     *inventory.State
	health    vcenter.Health
	preflight *preflight
	survey    *world.Survey
}

// surveyed returns the survey, or nil if it failed.
func (v *vcenterFacts) surveyed() *world.Survey {
	if v == nil || v.survey.Err != nil {
		return nil
	}
	return v.survey
}

func (v *vcenterFacts) tagsErr(policy *topology.Policy) error {
	s := v.surveyed()
	switch {
	case len(policy.Categories()) == 0:
		return nil
	case s != nil && s.CategoriesErr != nil:
		return s.CategoriesErr
	case s != nil && s.TagsErr != nil:
		return s.TagsErr
	case v.health.Tags == vcenter.TagsFailed:
		return errors.New("its tags could not be read")
	}
	return nil
}

// lacksDatacenter reports whether a Node has no VM because the account does not see a configured
// datacenter.
func (v *vcenterFacts) lacksDatacenter(n *node) bool {
	if v == nil || v.state.Snapshot == nil || v.state.Snapshot.Incomplete == nil {
		return false
	}
	isOutside := errors.Is(n.Err, inventory.ErrOutside) && n.VCenter() == v.state.VCenter
	return isOutside || errors.Is(n.Err, v.state.Snapshot.Incomplete)
}

func (v *vcenterFacts) hasUnreadable() bool {
	return v != nil && v.state.Snapshot != nil && len(v.state.Snapshot.Unreadable) > 0
}

func (v *vcenterFacts) datacenterFilter() func(*world.Object) bool {
	return v.survey.Within(v.config.Datacenters)
}

// outside returns the IDs of the objects that no Node depends on: they are neither in a configured
// datacenter nor above one.
func (v *vcenterFacts) outside() map[string]bool {
	outside := map[string]bool{}
	for _, o := range v.survey.Objects {
		// If the path upwards is broken, the datacenter of the object is unknown.
		outside[o.Ref.ID] = o.Up().Broken == nil
	}
	inDatacenter := v.datacenterFilter()
	for _, o := range v.survey.Objects {
		if !inDatacenter(o) {
			continue
		}
		for ancestor := o; ancestor != nil; ancestor = ancestor.Parent {
			delete(outside, ancestor.Ref.ID)
		}
	}
	return outside
}

func open(ctx context.Context, flags world.Flags) (*world.World, []preflight, error) {
	preflightCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reports []preflight
	var wg sync.WaitGroup
	flags.OnConfig = func(cfg *config.Config) {
		wg.Go(func() { reports = runPreflights(preflightCtx, cfg.VCenters, min(preflightTimeout, flags.Timeout)) })
	}
	w, err := world.Open(ctx, &flags)
	if err != nil {
		cancel()
	}
	wg.Wait()
	return w, reports, err
}

func read(ctx context.Context, w *world.World, reports []preflight) (*facts, error) {
	f := &facts{config: w.Config, now: time.Now()}
	var wg sync.WaitGroup
	wg.Go(func() { f.copies = readCopies(ctx, w) })
	wg.Go(func() { f.daemon = readDaemon(ctx, w, version.Get().GitVersion) })
	f.decideNodes(ctx, w)
	categories := w.Config.Topology.Policy.Categories()
	query := world.SurveyQuery{Categories: categories, Definitions: true, VMs: map[string][]string{}}
	for _, n := range f.nodes {
		if m := n.Place.VM; m != nil {
			query.VMs[m.Ref.VCenter] = append(query.VMs[m.Ref.VCenter], m.Ref.ID)
		}
	}
	surveys := w.Survey(ctx, query)
	wg.Wait()
	f.states = completed(w.States, surveys, categories)
	health := w.Health()
	for i := range f.states {
		f.vcenters = append(f.vcenters, &vcenterFacts{
			config: &w.Config.VCenters[i], state: &f.states[i], health: health[i], preflight: &reports[i], survey: &surveys[i],
		})
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("checking the vCenters: %w", context.Cause(ctx))
	}
	return f, nil
}

// completed returns copies of the states with InvisibleCategories from the surveys: snapshots lack them if
// there are no Nodes.
func completed(states []inventory.State, surveys []world.Survey, categories []string) []inventory.State {
	clones := slices.Clone(states)
	for i := range clones {
		if clones[i].Snapshot == nil {
			continue
		}
		snapshot := *clones[i].Snapshot
		if s := &surveys[i]; s.Err == nil && s.CategoriesErr == nil {
			snapshot.InvisibleCategories = slices.DeleteFunc(slices.Clone(categories), func(name string) bool {
				return slices.ContainsFunc(s.Categories, func(c world.Category) bool { return c.Name == name })
			})
		}
		clones[i].Snapshot = &snapshot
	}
	return clones
}

func (f *facts) decideNodes(ctx context.Context, w *world.World) {
	searches := 0
	for _, kubeNode := range w.Nodes {
		n := newNode(w.Look(kubeNode))
		f.allNodes = append(f.allNodes, n)
		if n.Foreign {
			n.otherProvider = w.Placer.OtherProvider(w.States, kubeNode)
			continue
		}
		if id := n.Identity; errors.Is(n.Err, topology.ErrAbsent) && len(id.UUIDs) > 0 && searches < maxOutsideSearches {
			searches++
			n.Err = cmp.Or(w.SearchOutside(ctx, id), n.Err)
		}
		f.nodes = append(f.nodes, n)
		if n.Place.VM != nil {
			n.overridden = slices.DeleteFunc(placement.Contenders(w.States, w.Placer.Topology().Policy, n.Place.VM), func(c topology.Contender) bool {
				return c.By.Ref.Type != "VirtualMachine" || c.Fate != topology.FateOtherPath
			})
		}
	}
}

func (f *facts) vcenter(name string) *vcenterFacts {
	i := slices.IndexFunc(f.vcenters, func(v *vcenterFacts) bool { return v.state.VCenter == name })
	if i < 0 {
		return nil
	}
	return f.vcenters[i]
}
