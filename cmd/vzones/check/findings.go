package check

import (
	"slices"
	"strings"
)

// findings computes all findings, sorted by object.
func (f *facts) findings() []Finding {
	policy := &f.config.Topology.Policy
	hosts := f.hostPlaces()
	nodes := &nodeCheck{facts: f}
	places := &placeCheck{facts: f, policy: policy, hosts: hosts}
	categories := &categoryCheck{policy: policy, vcenters: f.vcenters, states: f.states, nodes: f.nodes, isZoned: !f.copies.noZones}
	found := f.warnings()
	for _, v := range f.vcenters {
		connection := &connectionCheck{vcenterFacts: v, states: f.states, nodes: f.nodes, hasCluster: len(f.allNodes) > 0, now: f.now}
		found = append(found, connection.find()...)
		if v.state.Err != nil {
			continue
		}
		account := &accountCheck{vcenterFacts: v, policy: policy, nodes: f.nodes, hosts: hosts}
		found = append(found, account.tagging()...)
		found = append(found, account.datacenters()...)
		found = append(found, nodes.unreadable(v.state.Snapshot)...)
		found = append(found, account.unchecked()...)
		if s := v.surveyed(); s != nil {
			found = append(found, account.unread()...)
			found = append(found, categories.definitions(s)...)
		}
	}
	found = append(found, categories.missing()...)
	found = append(found, places.untagged()...)
	found = append(found, places.conflicts()...)
	found = append(found, nodes.find()...)
	found = append(found, f.failureDomains()...)
	found = append(found, f.stale()...)
	found = f.withoutDriver(found)
	found = append(found, f.daemon.find(f.allNodes, found)...)
	slices.SortStableFunc(found, func(a, b Finding) int { return strings.Compare(a.Object, b.Object) })
	return found
}
