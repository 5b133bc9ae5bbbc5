package metrics

import (
	"k8s.io/component-base/metrics"

	"vzones/provider"
)

// UndeletedNodes shows why Nodes are not deleted, at the time it is asked. An instance that
// stands by shows nothing.
type UndeletedNodes struct {
	metrics.BaseStableCollector
	leads  <-chan struct{}
	counts func() map[string]int

	nodes *metrics.Desc
}

func NewUndeletedNodes(leads <-chan struct{}, counts func() map[string]int) *UndeletedNodes {
	return &UndeletedNodes{leads: leads, counts: counts, nodes: metrics.NewDesc(Subsystem+"_undeleted_nodes",
		"Nodes that are not ready, whose machines are not found and that are not deleted, by why: "+provider.KeptHelp+".",
		[]string{"reason"}, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements metrics.StableCollector.
func (k *UndeletedNodes) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- k.nodes }

// CollectWithStability implements metrics.StableCollector.
func (k *UndeletedNodes) CollectWithStability(ch chan<- metrics.Metric) {
	if !isClosed(k.leads) {
		return
	}
	for reason, n := range k.counts() {
		ch <- metrics.NewLazyConstMetric(k.nodes, metrics.GaugeValue, float64(n), reason)
	}
}
