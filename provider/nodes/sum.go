package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"vzones/provider/nodestate"
	"vzones/provider/report"
	"vzones/topology"
)

const (
	// firstSum is when the Nodes are first counted for the log: most of them are placed by then.
	firstSum = 10 * time.Second
	// sumEvery is the time between two counts.
	sumEvery = time.Minute
	// mostZones is how many zones a line of the log has.
	mostZones = 12
)

// A sum is how many Nodes of ours are placed.
type sum struct {
	// placed and unplaced are the initialized ones, by whether their place is known now, and
	// waiting those that are not initialized.
	placed, unplaced, waiting int
	// drifting are those with labels that are not those of their place.
	drifting int
	// zones has how many of the initialized ones have each region and zone as labels, in order.
	zones string
}

// logSum logs how many Nodes are placed, if that has changed, and does so again later.
func (c *Controller) logSum(ctx context.Context) {
	c.queue.AddAfter(item{job: sumNodes}, sumEvery)
	now := c.sum()
	if now == c.logged {
		return
	}
	c.logged = now
	klog.FromContext(ctx).Info("Nodes by placement", "placed", now.placed, "unplaced", now.unplaced, "waiting", now.waiting,
		"drifting", now.drifting, "zones", now.zones)
}

func (c *Controller) sum() sum {
	stats, _ := c.Stats()
	s := sum{drifting: stats.Drifting}
	zones := map[string]int{}
	for n, outcome := range c.outcomes() {
		switch {
		case outcome == report.Foreign:
			continue
		case nodestate.IsUninitialized(n):
			s.waiting++
			continue
		case outcome == report.Placed:
			s.placed++
		default:
			s.unplaced++
		}
		if zone := n.Labels[topology.LabelZone]; zone != "" {
			zones[n.Labels[topology.LabelRegion]+"/"+zone]++
		}
	}
	s.zones = abridge(zones)
	return s
}

// abridge returns how many Nodes each zone has, or how many zones there are if they are many.
func abridge(zones map[string]int) string {
	if len(zones) > mostZones {
		return fmt.Sprintf("%d zones", len(zones))
	}
	var counts []string
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		counts = append(counts, fmt.Sprintf("%s: %d", zone, zones[zone]))
	}
	return strings.Join(counts, ", ")
}
