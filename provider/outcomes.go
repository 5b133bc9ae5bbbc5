package provider

import (
	"errors"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/topology"
)

// The outcomes of looking for a Node's machine and its place. A Node that is
// initialised is counted by the same rules as one that waits.
const (
	outcomePlaced    = "placed"
	outcomeForeign   = "foreign"
	outcomeMissing   = "topology_missing"
	outcomeInvalid   = "topology_invalid"
	outcomeAmbiguous = "ambiguous"
	outcomeAbsent    = "machine_not_found"
	outcomeAddress   = "address_missing"
	outcomeUnknown   = "unknown"
)

// OutcomesHelp explains the outcomes in a line.
const OutcomesHelp = "placed; foreign (another provider's); topology_missing (a required tag), topology_invalid (no label value), " +
	"ambiguous (several machines or tags), machine_not_found, address_missing, unknown (a vCenter cannot say)"

// Outcomes counts the Nodes by what is known of them now. Every outcome is in
// the result. Before the Nodes are known all are 0.
func (p *Provider) Outcomes() map[string]int {
	counts := map[string]int{
		outcomePlaced: 0, outcomeForeign: 0, outcomeMissing: 0, outcomeInvalid: 0,
		outcomeAmbiguous: 0, outcomeAbsent: 0, outcomeAddress: 0, outcomeUnknown: 0,
	}
	select {
	case <-p.ready:
	default:
		return counts
	}
	nodes, err := p.nodes.Lister().List(labels.Everything())
	if err != nil {
		return counts
	}
	for _, n := range nodes {
		if isForeign(n.Spec.ProviderID) {
			counts[outcomeForeign]++
			continue
		}
		_, err := p.describe(n)
		counts[outcomeOf(err)]++
	}
	return counts
}

// outcomeOf names the outcome of describe.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return outcomePlaced
	case errors.Is(err, topology.ErrMissing):
		return outcomeMissing
	case errors.Is(err, topology.ErrInvalid):
		return outcomeInvalid
	case errors.Is(err, topology.ErrAmbiguous):
		return outcomeAmbiguous
	case errors.Is(err, topology.ErrAbsent):
		return outcomeAbsent
	case errors.Is(err, errNoAddress):
		return outcomeAddress
	}
	return outcomeUnknown
}
