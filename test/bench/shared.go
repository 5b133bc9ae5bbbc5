package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"vzones/test/bench/figures"
)

// shared are the cases of vCenters that many clusters share: up to 40,000 of
// their machines are no Nodes.
func shared() []benchCase {
	var all []benchCase
	for _, others := range []int{2000, 20000} {
		all = append(all, benchCase{
			name: fmt.Sprintf("start-all-%d", others), about: fmt.Sprintf("the daemon starts beside %d VMs that are no Nodes", others),
			fleet:   layout{vcenters: 3, nodes: 300, others: others},
			measure: startup(nil), runs: repeats, deadline: 3 * time.Minute,
		})
	}
	return append(all, benchCase{
		name: "rest-all", about: "no Node changes beside 40,000 VMs that are no Nodes, of which 100 are used each second, and beside none",
		fleet:   layout{vcenters: 3, nodes: 300, others: 40000},
		measure: rest, deadline: 9 * time.Minute,
		bounds: []figures.Bound{{Of: figures.RequestsGrowth, Max: 1.1}, {Of: figures.CPUGrowth, Max: 1.1}, {Of: figures.MemoryGrowth, Max: 20}},
	})
}

// rest measures what the daemon asks for and holds in a window in which no Node
// changes, beside the machines of the case that are no Nodes and beside none.
func rest(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
	result.TimeOf = "window"
	window := 2 * time.Minute
	if b.short {
		window = time.Minute
	}
	var err error
	if result.Daemon, err = b.restOnce(ctx, c, window); err != nil {
		return err
	}
	c.fleet.others = 0
	if err := b.replace(ctx, c.fleet); err != nil {
		return err
	}
	if result.Smaller, err = b.restOnce(ctx, c, window); err != nil {
		return err
	}
	s := result.Smaller
	result.Notes = append(result.Notes, fmt.Sprintf("beside no VM that is no Node: %d requests, %.0f KiB, %.2f s of CPU, %.1f MiB at rest",
		s.Requests.Total, float64(s.Requests.Bytes)/(1<<10), s.CPUSeconds, float64(s.RestBytes)/(1<<20)))
	return nil
}

// useOthers changes power state and host name of a hundred fillers each second until the context is done.
func (b *bench) useOthers(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	vcenters := b.stack.Fleet.VCenters()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			vcenters[n%len(vcenters)].UseFiller(n)
		case <-ctx.Done():
			return
		}
	}
}

func (b *bench) restOnce(ctx context.Context, c benchCase, window time.Duration) (*figures.Reading, error) {
	machines := b.stack.Fleet.Machines()
	t, err := b.launch(ctx, c.name, b.daemon, machines)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, machines); err != nil {
		return nil, t.abandon(err)
	}
	using, stop := context.WithCancel(ctx)
	var g sync.WaitGroup
	if c.fleet.others > 0 {
		g.Go(func() { b.useOthers(using) })
	}
	reading, _, err := t.quiet(ctx, machines, window)
	stop()
	g.Wait()
	return reading, err
}
