package main

import "k8s.io/component-base/metrics"

// leading shows whether this instance leads, with or without an election.
type leading struct {
	metrics.BaseStableCollector
	leads <-chan struct{}
	desc  *metrics.Desc
}

func newLeading(leads <-chan struct{}) *leading {
	return &leading{leads: leads, desc: metrics.NewDesc(subsystem+"_leading",
		"1 if this instance leads, so that it reads the vCenters and writes to Nodes, 0 if it stands by.", nil, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements metrics.StableCollector.
func (l *leading) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- l.desc }

// CollectWithStability implements metrics.StableCollector.
func (l *leading) CollectWithStability(ch chan<- metrics.Metric) {
	leads := false
	select {
	case <-l.leads:
		leads = true
	default:
	}
	ch <- metrics.NewLazyConstMetric(l.desc, metrics.GaugeValue, number(leads))
}
