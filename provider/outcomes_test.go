package provider

import (
	"maps"
	"testing"
	"time"

	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// outcomes are those of all Nodes.
func (c *cluster) outcomes() map[string]int {
	all, _ := c.controller.Outcomes()
	return all
}

func keysOf(counts map[string]int) map[string]bool {
	keys := map[string]bool{}
	for k := range counts {
		keys[k] = true
	}
	return keys
}

// TestOutcomesOfNodesThatWait: of all Nodes those with the taint, by the same outcomes.
func TestOutcomesOfNodesThatWait(t *testing.T) {
	const uuidC, uuidD = "422e4956-ad22-1139-6d72-000000000003", "422e4956-ad22-1139-6d72-000000000004"
	noTag := in("east", "")
	alone(t, &fakeFleet{states: []inventory.State{stateOf("east", machine(uuidA), machine(uuidB, noTag), machine(uuidC, noTag))}}, func(c *cluster) {
		c.settle()
		all, waiting := c.controller.Outcomes()
		for what, counts := range map[string]struct{ got, want map[string]int }{
			"all":     {all, map[string]int{report.Placed: 1, report.Foreign: 2, "topology_missing": 2, "machine_not_found": 1, "provider_id_mismatch": 0}},
			"waiting": {waiting, map[string]int{report.Placed: 0, report.Foreign: 1, "topology_missing": 1, "machine_not_found": 1, "provider_id_mismatch": 0}},
		} {
			sum := 0
			for _, n := range counts.got {
				sum += n
			}
			for outcome, want := range counts.want {
				sum -= want
				if got := counts.got[outcome]; got != want {
					t.Errorf("%s: %d are %s, want %d", what, got, outcome, want)
				}
			}
			if sum != 0 {
				t.Errorf("%s: %v", what, counts.got)
			}
		}
		if !maps.Equal(keysOf(all), keysOf(waiting)) {
			t.Errorf("outcomes are %v and %v", all, waiting)
		}
		c.pass(time.Hour)
		if w := c.writes(); len(w) > 0 {
			t.Errorf("without the topology controller, and its condition, there are writes: %q", w)
		}
	},
		aNode("placed", untainted, withSystemUUID(uuidA)),
		aNode("untagged", withSystemUUID(uuidB)),
		aNode("untagged-later", untainted, withSystemUUID(uuidC)),
		aNode("lost", withSystemUUID(uuidD)),
		aNode("metal", untainted),
		aNode("other", withProviderID("aws:///i-1")),
	)
}
