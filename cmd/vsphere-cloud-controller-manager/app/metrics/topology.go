package metrics

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
)

// Topology shows what the topology controller counts, at the time of the scrape. Where that
// does not run it shows nothing.
type Topology struct {
	metrics.BaseStableCollector
	stats func() (nodes.Stats, bool)

	drifting, resized, conflicting, writes *metrics.Desc
}

// NewTopology returns the metrics of a controller whose stats are false until it runs.
func NewTopology(stats func() (nodes.Stats, bool)) *Topology {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(Subsystem+"_topology_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &Topology{
		stats:    stats,
		drifting: desc("drifting_nodes", "Initialized Nodes with a topology label that differs from their placement."),
		resized: metrics.NewDesc(Subsystem+"_instance_type_drifting_nodes", "Initialized Nodes with an instance type that differs from their machine's.",
			nil, nil, metrics.ALPHA, ""),
		conflicting: desc("conflicting_nodes", "Initialized Nodes with a conflict of tags, by its kind.", "kind"),
		writes:      desc("writes_total", "Changes of initialized Nodes by the topology controller, by action.", "action"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (t *Topology) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{t.drifting, t.resized, t.conflicting, t.writes} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (t *Topology) CollectWithStability(ch chan<- metrics.Metric) {
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
