package main

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
)

// keptNodes shows why Nodes are not deleted, at the time it is asked. An instance that
// stands by shows nothing.
type keptNodes struct {
	metrics.BaseStableCollector
	leads  <-chan struct{}
	counts func() map[string]int

	nodes *metrics.Desc
}

func newKeptNodes(leads <-chan struct{}, counts func() map[string]int) *keptNodes {
	return &keptNodes{leads: leads, counts: counts, nodes: metrics.NewDesc(subsystem+"_undeleted_nodes",
		"Nodes that are not ready, whose machines are not found and that are not deleted, by why: "+nodes.KeptHelp+".",
		[]string{"reason"}, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements metrics.StableCollector.
func (k *keptNodes) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- k.nodes }

// CollectWithStability implements metrics.StableCollector.
func (k *keptNodes) CollectWithStability(ch chan<- metrics.Metric) {
	select {
	case <-k.leads:
	default:
		return
	}
	for reason, n := range k.counts() {
		ch <- metrics.NewLazyConstMetric(k.nodes, metrics.GaugeValue, float64(n), reason)
	}
}
