package metrics

import (
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/provider/absence"
	"vzones/provider/nodes"
	"vzones/provider/report"
	"vzones/vcenter"
	"vzones/vcenter/session"
)

// Health is what the metrics need of a fleet.
type Health interface{ Health() []vcenter.Health }

// A States shows states at the time of the scrape: collect sends each metric that has a value then.
type States struct {
	metrics.BaseStableCollector
	descs   []*metrics.Desc
	collect func(ch chan<- metrics.Metric)
}

// DescribeWithStability implements metrics.StableCollector.
func (s *States) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *States) CollectWithStability(ch chan<- metrics.Metric) { s.collect(ch) }

// desc adds a metric to those that are shown.
func (s *States) desc(name, help string, labels ...string) *metrics.Desc {
	d := metrics.NewDesc(Subsystem+"_"+name, help, labels, nil, metrics.ALPHA, "")
	s.descs = append(s.descs, d)
	return d
}

// gauge returns the value of a gauge.
func gauge(d *metrics.Desc, v float64, labels ...string) metrics.Metric {
	return metrics.NewLazyConstMetric(d, metrics.GaugeValue, v, labels...)
}

// NewLeading returns the metric that says whether this instance leads, with or without an election:
// it leads once the channel is closed.
func NewLeading(leading <-chan struct{}) *States {
	s := &States{}
	leads := s.desc("leading", "1 if this instance leads, so that it reads the vCenters and writes to Nodes, 0 if it stands by.")
	s.collect = func(ch chan<- metrics.Metric) { ch <- gauge(leads, number(isClosed(leading))) }
	return s
}

// NewUndeletedNodes returns the metric of Nodes that are kept, whose counts by reason are read
// at each scrape. An instance shows it once leading is closed.
func NewUndeletedNodes(leading <-chan struct{}, counts func() map[string]int) *States {
	s := &States{}
	kept := s.desc("undeleted_nodes", "Nodes that are not ready, whose machines are not found and that are not deleted, by the reason: "+absence.KeptHelp+".", "reason")
	s.collect = func(ch chan<- metrics.Metric) {
		if isClosed(leading) {
			for reason, n := range counts() {
				ch <- gauge(kept, float64(n), reason)
			}
		}
	}
	return s
}

// NewTopology returns the metrics of a topology controller whose stats are false until it runs.
func NewTopology(stats func() (nodes.Stats, bool)) *States {
	s := &States{}
	drifting := s.desc("topology_drifting_nodes", "Initialized Nodes with a topology label that differs from their placement.")
	resized := s.desc("instance_type_drifting_nodes", "Initialized Nodes with an instance type that differs from their machine's.")
	conflicting := s.desc("topology_conflicting_nodes", "Initialized Nodes with a conflict of tags, by its kind.", "kind")
	writes := s.desc("topology_writes_total", "Changes of initialized Nodes by the topology controller, by action.", "action")
	s.collect = func(ch chan<- metrics.Metric) {
		now, runs := stats()
		if !runs {
			return
		}
		ch <- gauge(drifting, float64(now.Drifting))
		ch <- gauge(resized, float64(now.Resized))
		for kind, n := range now.Conflicts {
			ch <- gauge(conflicting, float64(n), string(kind))
		}
		for action, n := range now.Writes {
			ch <- metrics.NewLazyConstMetric(writes, metrics.CounterValue, float64(n), string(action))
		}
	}
	return s
}

// NewFleet returns the metrics of vCenters and of the Nodes by outcome. An instance shows them once
// leading is closed.
func NewFleet(leading <-chan struct{}, fleet Health, outcomes func() (all, waiting map[string]int)) *States {
	s := &States{}
	up := s.desc("vcenter_up", "1 if a vCenter was read and its watch runs, else 0.", "vcenter")
	contact := s.desc("vcenter_snapshot_age_seconds", "Time since a vCenter last answered its watch, which is how old its snapshot may be. Absent before the first answer.", "vcenter")
	complete := s.desc("vcenter_snapshot_complete", "1 if all machines of a vCenter's configured datacenters are known, else 0: then no machine counts as absent.", "vcenter")
	indexed := s.desc("vcenter_indexed_uuids", "Different machine UUIDs in a vCenter's index.", "vcenter")
	watched := s.desc("vcenter_followed_machines", "Machines of a vCenter that belong to Nodes and are known in full.", "vcenter")
	unreadable := s.desc("vcenter_unreadable_tag_objects", "Objects above the followed machines of a vCenter whose tags the account may not read.", "vcenter")
	rejected := s.desc("vcenter_credentials_rejected", "1 if a vCenter has rejected credentials and has accepted none since, else 0. Open sessions continue.", "vcenter")
	missing := s.desc("vcenter_credentials_missing", "1 if the configured credentials of a vCenter are not there or cannot be read, else 0. Open sessions continue.", "vcenter")
	loginRejected := s.desc("vcenter_login_rejected", "1 if a vCenter cannot be read because it rejects the login, else 0.", "vcenter")
	tags := s.desc("vcenter_tags_known", "1 if the last reading of a vCenter's tags ended well, or none is needed, else 0. Absent before the first has ended.", "vcenter")
	untrusted := s.desc("vcenter_certificate_untrusted", "1 if a vCenter, or what it is reached by, shows a certificate that is not trusted, else 0.", "vcenter")
	expiry := s.desc("vcenter_certificate_expiry_timestamp_seconds", "When the certificate that a vCenter showed last is not trusted any more. Absent where any certificate is accepted, or this one by its thumbprint.", "vcenter")
	byOutcome := s.desc("nodes", "Nodes by what is known of them: "+report.Help+".", "outcome")
	uninitialized := s.desc("uninitialized_nodes", "Nodes that are not initialized yet, by the same outcomes as all Nodes.", "outcome")
	s.collect = func(ch chan<- metrics.Metric) {
		if !isClosed(leading) {
			return
		}
		for _, h := range fleet.Health() {
			ch <- gauge(up, number(h.Err == nil && h.Snapshot != nil), h.VCenter)
			ch <- gauge(complete, number(h.Snapshot != nil && h.Snapshot.Incomplete == nil), h.VCenter)
			ch <- gauge(rejected, number(h.Rejected), h.VCenter)
			ch <- gauge(missing, number(h.CredentialsErr != nil), h.VCenter)
			ch <- gauge(loginRejected, number(errors.Is(h.Err, session.ErrRejected)), h.VCenter)
			ch <- gauge(untrusted, number(errors.As(h.Err, new(*session.UntrustedError))), h.VCenter)
			if h.Tags != vcenter.TagsNotRead {
				ch <- gauge(tags, number(h.Tags == vcenter.TagsRead), h.VCenter)
			}
			if !h.CertificateEnds.IsZero() {
				ch <- gauge(expiry, float64(h.CertificateEnds.Unix()), h.VCenter)
			}
			if !h.LastContact.IsZero() {
				ch <- gauge(contact, time.Since(h.LastContact).Seconds(), h.VCenter)
			}
			if h.Snapshot != nil {
				ch <- gauge(indexed, float64(h.Snapshot.Len()), h.VCenter)
				ch <- gauge(watched, float64(len(h.Snapshot.Machines)), h.VCenter)
				ch <- gauge(unreadable, float64(len(h.Snapshot.NotPermitted)), h.VCenter)
			}
		}
		all, waiting := outcomes()
		for outcome, n := range all {
			ch <- gauge(byOutcome, float64(n), outcome)
			ch <- gauge(uninitialized, float64(waiting[outcome]), outcome)
		}
	}
	return s
}
