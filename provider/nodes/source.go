package nodes

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/nodestate"
	"vzones/provider/placement"
	"vzones/topology"
)

// Source is what package reconcile needs.
type Source struct {
	*placement.Placer
	Fleet
}

// Unwritten returns the labels without which a Node is not initialized, and that the
// reconciler has to write.
func (s Source) Unwritten(node *v1.Node) map[string]string {
	levels := s.Topology().Policy.Levels
	if s.IsForeign(node) || !nodestate.IsUninitialized(node) || !slices.ContainsFunc(levels, func(r topology.Rule) bool { return topology.IsReservedLevel(r.Label) }) {
		return nil
	}
	d, err := s.Initial(node)
	if err != nil {
		return nil
	}
	return d.Unwritten
}

// Reason returns the reason of the Event for an error.
func (s Source) Reason(err error) string { return condition.Of(err).Event }
