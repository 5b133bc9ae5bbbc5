package metrics

import (
	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
)

// UndeletedNodes shows why Nodes are not deleted, at the time of the scrape. A standby shows
// nothing.
type UndeletedNodes struct {
	metrics.BaseStableCollector
	leading <-chan struct{}
	counts  func() map[string]int

	nodes *metrics.Desc
}

// NewUndeletedNodes returns the metric of Nodes that are kept, whose counts by reason are read
// at each scrape. Leading is closed when this instance leads.
func NewUndeletedNodes(leading <-chan struct{}, counts func() map[string]int) *UndeletedNodes {
	return &UndeletedNodes{leading: leading, counts: counts, nodes: metrics.NewDesc(Subsystem+"_undeleted_nodes",
		"Nodes that are not ready, whose machines are not found and that are not deleted, by the reason: "+nodes.KeptHelp+".",
		[]string{"reason"}, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements metrics.StableCollector.
func (u *UndeletedNodes) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- u.nodes }

// CollectWithStability implements metrics.StableCollector.
func (u *UndeletedNodes) CollectWithStability(ch chan<- metrics.Metric) {
	if !isClosed(u.leading) {
		return
	}
	for reason, n := range u.counts() {
		ch <- metrics.NewLazyConstMetric(u.nodes, metrics.GaugeValue, float64(n), reason)
	}
}
