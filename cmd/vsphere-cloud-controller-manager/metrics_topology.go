package main

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
)

// topologyStats shows what is counted of the labels of Nodes, at the time it is
// asked. Where they are not kept it shows nothing.
type topologyStats struct {
	metrics.BaseStableCollector
	stats func() (nodes.Stats, bool)

	drifting, resized, conflicting, writes *metrics.Desc
}

func newTopologyStats(stats func() (nodes.Stats, bool)) *topologyStats {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(subsystem+"_topology_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &topologyStats{
		stats:    stats,
		drifting: desc("drifting_nodes", "Initialised Nodes with a topology label that is not that of their place."),
		resized: metrics.NewDesc(subsystem+"_instance_type_drifting_nodes", "Initialised Nodes with an instance type that is not that of their machine.",
			nil, nil, metrics.ALPHA, ""),
		conflicting: desc("conflicting_nodes", "Initialised Nodes with a conflict of tags, by its kind.", "kind"),
		writes:      desc("writes_total", "Changes of initialised Nodes by the topology controller, by action.", "action"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (t *topologyStats) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{t.drifting, t.resized, t.conflicting, t.writes} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (t *topologyStats) CollectWithStability(ch chan<- metrics.Metric) {
	s, ok := t.stats()
	if !ok {
		return
	}
	ch <- metrics.NewLazyConstMetric(t.drifting, metrics.GaugeValue, float64(s.Drifting))
	ch <- metrics.NewLazyConstMetric(t.resized, metrics.GaugeValue, float64(s.Resized))
	for kind, n := range s.Conflicts {
		ch <- metrics.NewLazyConstMetric(t.conflicting, metrics.GaugeValue, float64(n), string(kind))
	}
	for action, n := range s.Writes {
		ch <- metrics.NewLazyConstMetric(t.writes, metrics.CounterValue, float64(n), string(action))
	}
}
