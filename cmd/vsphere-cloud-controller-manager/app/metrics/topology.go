package metrics

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/reconcile"
)

// Topology shows what the topology controller counts, at the time it is
// asked. Where that does not run it shows nothing.
type Topology struct {
	metrics.BaseStableCollector
	controller func() *reconcile.Controller

	drifting, resized, conflicting, writes *metrics.Desc
}

func NewTopology(controller func() *reconcile.Controller) *Topology {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(Subsystem+"_topology_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &Topology{
		controller: controller,
		drifting:   desc("drifting_nodes", "Initialised Nodes with a topology label that is not that of their place."),
		resized: metrics.NewDesc(Subsystem+"_instance_type_drifting_nodes", "Initialised Nodes with an instance type that is not that of their machine.",
			nil, nil, metrics.ALPHA, ""),
		conflicting: desc("conflicting_nodes", "Initialised Nodes with a conflict of tags, by its kind.", "kind"),
		writes:      desc("writes_total", "Changes of initialised Nodes by the topology controller, by action.", "action"),
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
	c := t.controller()
	if c == nil {
		return
	}
	s := c.Stats()
	ch <- metrics.NewLazyConstMetric(t.drifting, metrics.GaugeValue, float64(s.Drifting))
	ch <- metrics.NewLazyConstMetric(t.resized, metrics.GaugeValue, float64(s.Resized))
	for kind, n := range s.Conflicts {
		ch <- metrics.NewLazyConstMetric(t.conflicting, metrics.GaugeValue, float64(n), string(kind))
	}
	for action, n := range s.Writes {
		ch <- metrics.NewLazyConstMetric(t.writes, metrics.CounterValue, float64(n), string(action))
	}
}
