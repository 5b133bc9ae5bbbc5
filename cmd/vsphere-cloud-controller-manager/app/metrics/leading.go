package metrics

import "k8s.io/component-base/metrics"

// Leading shows whether this instance leads, with or without an election.
type Leading struct {
	metrics.BaseStableCollector
	leading <-chan struct{}
	desc    *metrics.Desc
}

// NewLeading returns the metric of an instance that leads once the channel is closed.
func NewLeading(leading <-chan struct{}) *Leading {
	return &Leading{leading: leading, desc: metrics.NewDesc(Subsystem+"_leading",
		"1 if this instance leads, so that it reads the vCenters and writes to Nodes, 0 if it stands by.", nil, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements metrics.StableCollector.
func (l *Leading) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- l.desc }

// CollectWithStability implements metrics.StableCollector.
func (l *Leading) CollectWithStability(ch chan<- metrics.Metric) {
	ch <- metrics.NewLazyConstMetric(l.desc, metrics.GaugeValue, number(isClosed(l.leading)))
}
