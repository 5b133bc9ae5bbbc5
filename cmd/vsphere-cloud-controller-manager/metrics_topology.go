package main

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/reconcile"
	"vzones/vcenter/inventory"
)

// topologyStats shows what the topology controller counts, at the time it is
// asked. Where that does not run it shows nothing.
type topologyStats struct {
	metrics.BaseStableCollector
	controller func() *reconcile.Controller
	states     func() []inventory.State

	drifting, conflicting, writes, unread *metrics.Desc
}

func newTopologyStats(controller func() *reconcile.Controller, states func() []inventory.State) *topologyStats {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(subsystem+"_topology_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &topologyStats{
		controller:  controller,
		states:      states,
		drifting:    desc("drifting_nodes", "Initialised Nodes with a topology label that is not that of their place."),
		conflicting: desc("conflicting_nodes", "Initialised Nodes with a conflict of tags, by its kind.", "kind"),
		unread:      desc("unreadable_objects", "Objects above initialised Nodes that count as untagged, because the account may not read their tags.", "vcenter"),
		writes:      desc("writes_total", "Changes of initialised Nodes by the topology controller, by action.", "action"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (t *topologyStats) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{t.drifting, t.conflicting, t.unread, t.writes} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (t *topologyStats) CollectWithStability(ch chan<- metrics.Metric) {
	c := t.controller()
	if c == nil {
		return
	}
	s := c.Stats()
	ch <- metrics.NewLazyConstMetric(t.drifting, metrics.GaugeValue, float64(s.Drifting))
	for kind, n := range s.Conflicts {
		ch <- metrics.NewLazyConstMetric(t.conflicting, metrics.GaugeValue, float64(n), string(kind))
	}
	for _, in := range t.states() {
		ch <- metrics.NewLazyConstMetric(t.unread, metrics.GaugeValue, float64(s.Unread[in.VCenter]), in.VCenter)
	}
	for action, n := range s.Writes {
		ch <- metrics.NewLazyConstMetric(t.writes, metrics.CounterValue, float64(n), string(action))
	}
}
