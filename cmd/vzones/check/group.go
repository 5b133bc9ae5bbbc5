package check

import (
	"cmp"
	"maps"
	"slices"

	"vzones/topology/quote"
)

// A group is Nodes with something in common, by name.
type group []*node

func (g group) names() string {
	all := make([]string, len(g))
	for i, n := range g {
		all[i] = n.name()
	}
	return quote.Some(all, quote.Most)
}

// moids returns the managed object IDs of the Nodes' machines.
func (g group) moids() []string {
	ids := make([]string, len(g))
	for i, n := range g {
		ids[i] = n.Place.Machine.Ref.ID
	}
	return ids
}

// located returns the Nodes whose machines are on a known host and that are wanted.
func (f *facts) located(wanted func(*node) bool) (all group) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.above(typeHost) != nil && wanted(n) {
			all = append(all, n)
		}
	}
	return all
}

// by groups Nodes, and returns the groups in the order of their keys.
func by[K cmp.Ordered](nodes group, key func(*node) K) (groups []group) {
	of := map[K]group{}
	for _, n := range nodes {
		of[key(n)] = append(of[key(n)], n)
	}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		groups = append(groups, of[k])
	}
	return groups
}

func hostOf(n *node) string { return n.above(typeHost).Ref.String() }
