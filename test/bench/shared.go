package main

import (
	"context"
	"fmt"
	"time"

	"vzones/test/bench/figures"
)

// tenfold is how much more machines that are no Nodes the larger fleet of a case has.
const tenfold = 10

// shared are the cases of vCenters that many clusters share: 2,000 and 20,000 of
// their machines are no Nodes.
func shared() []benchCase {
	const few = 2000
	var all []benchCase
	for _, others := range []int{few, few * tenfold} {
		all = append(all, benchCase{
			name: fmt.Sprintf("start-all-%d", others), about: fmt.Sprintf("the daemon starts beside %d VMs that are no Nodes", others),
			fleet:   layout{vcenters: 3, nodes: 300, others: others},
			measure: startup(nil), runs: repeats, deadline: 3 * time.Minute,
		})
	}
	return append(all, benchCase{
		name: "rest-all", about: fmt.Sprintf("nothing changes beside %d VMs that are no Nodes, and beside a tenth of them", few*tenfold),
		fleet:   layout{vcenters: 3, nodes: 300, others: few * tenfold},
		measure: rest, deadline: 9 * time.Minute,
		bounds: []figures.Bound{{Of: figures.RequestsGrowth, Max: 1.1}, {Of: figures.BytesGrowth, Max: 1.1}},
	})
}

// rest measures what the daemon asks for and holds in a window in which nothing
// changes, beside the machines of the case that are no Nodes and beside a tenth.
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
	smaller := c.fleet
	smaller.others /= tenfold
	if err := b.replace(ctx, smaller); err != nil {
		return err
	}
	if result.Smaller, err = b.restOnce(ctx, c, window); err != nil {
		return err
	}
	s := result.Smaller
	result.Notes = append(result.Notes, fmt.Sprintf("beside %d VMs that are no Nodes: %d requests, %.0f KiB, %.1f MiB at rest",
		smaller.others, s.Requests.Total, float64(s.Requests.Bytes)/(1<<10), float64(s.RestBytes)/(1<<20)))
	return nil
}

func (b *bench) restOnce(ctx context.Context, c benchCase, window time.Duration) (*figures.Reading, error) {
	machines := b.stack.Fleet.Machines()
	t, err := b.launch(ctx, c.name, b.daemon, machines)
	if err != nil {
		return nil, err
	}
	reading, _, err := t.quiet(ctx, machines, window)
	return reading, err
}
