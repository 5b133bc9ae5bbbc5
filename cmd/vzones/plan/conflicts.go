package plan

import (
	"slices"

	"vzones/cmd/vzones/world"
	"vzones/topology"
	"vzones/topology/quote"
)

// conflictsOf returns the conflicts of Nodes' places, of each and of all together, each once. What
// depends on tags of objects without Nodes is not among them: a plan does not read these.
func conflictsOf(policy *topology.Policy, looks []*world.Look) []topology.Conflict {
	var placements []topology.Placement
	for _, l := range looks {
		if !l.Foreign {
			placements = append(placements, l.Place.Placement)
		}
	}
	fleet := policy.FleetConflicts(placements, nil)
	fleet.Volumes = nil
	all := policy.NotCSI()
	for _, p := range placements {
		all = append(all, fleet.Of(p)...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c topology.Conflict) bool {
		again := seen[keyOf(&c)]
		seen[keyOf(&c)] = true
		return again
	})
}

func keyOf(c *topology.Conflict) string { return string(c.Kind) + " " + c.Text() }

// conflictChanges returns the conflicts that arise, then those that end.
func conflictChanges(before, after []topology.Conflict) (changes []ConflictChange) {
	add := func(change string, of, without []topology.Conflict) {
		for i := range of {
			c := &of[i]
			if !slices.ContainsFunc(without, func(o topology.Conflict) bool { return keyOf(&o) == keyOf(c) }) {
				changes = append(changes, ConflictChange{Change: change, Kind: c.Kind, Labels: c.Labels, Text: quote.Text(c.Text())})
			}
		}
	}
	add(arises, after, before)
	add(ends, before, after)
	return changes
}
