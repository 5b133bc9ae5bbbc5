package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
	"vzones/vcenter"
)

const subsystem = "vsphere_ccm"

// registry is what metrics are registered with.
type registry interface {
	MustRegister(...metrics.Registerable)
	CustomMustRegister(...metrics.StableCollector)
}

// observer counts what is asked of the vCenters.
type observer struct {
	requests *metrics.CounterVec
	duration *metrics.HistogramVec
	logins   *metrics.CounterVec
	watches  *metrics.CounterVec
}

var _ vcenter.Observer = (*observer)(nil)

func newObserver(r registry) *observer {
	o := &observer{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: subsystem, Name: "vcenter_requests_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests to a vCenter, by call and result.",
		}, []string{"vcenter", "call", "result"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Subsystem: subsystem, Name: "vcenter_request_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Time that requests to a vCenter took, by call. WaitForUpdatesEx is held open by the vCenter while nothing changes.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 30},
		}, []string{"vcenter", "call"}),
		logins: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: subsystem, Name: "vcenter_logins_total", StabilityLevel: metrics.ALPHA,
			Help: "Attempts to log in to a vCenter, by result.",
		}, []string{"vcenter", "result"}),
		watches: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: subsystem, Name: "vcenter_watch_starts_total", StabilityLevel: metrics.ALPHA,
			Help: "How often the watch of a vCenter has begun. Each time after the first is a restart, which reads everything anew.",
		}, []string{"vcenter"}),
	}
	r.MustRegister(o.requests, o.duration, o.logins, o.watches)
	return o
}

// Requested implements vcenter.Observer.
func (o *observer) Requested(name, call string, took time.Duration, err error) {
	o.requests.WithLabelValues(name, call, result(err)).Inc()
	o.duration.WithLabelValues(name, call).Observe(took.Seconds())
}

// LoggedIn implements vcenter.Observer.
func (o *observer) LoggedIn(name string, err error) {
	o.logins.WithLabelValues(name, result(err)).Inc()
}

// WatchStarted implements vcenter.Observer.
func (o *observer) WatchStarted(name string) { o.watches.WithLabelValues(name).Inc() }

// result tells the ends of calls and logins apart: ok, timeout, canceled (by the
// daemon itself) and error; of logins also rejected (the credentials).
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, vcenter.ErrRejected):
		return "rejected"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "error"
}

// states shows what is known of vCenters and Nodes at the time it is asked.
type states struct {
	metrics.BaseStableCollector
	// leads is closed when this instance leads. One that stands by knows
	// nothing, so it shows nothing.
	leads    <-chan struct{}
	fleet    interface{ Health() []vcenter.Health }
	outcomes func() (all, waiting map[string]int)

	up, contact, complete, indexed, followed, closed, nodes, uninitialized *metrics.Desc
	// rejected, refused, untrusted and ends are of how it is logged in.
	rejected, refused, untrusted, ends, tags *metrics.Desc
}

func newStates(leads <-chan struct{}, fleet interface{ Health() []vcenter.Health }, outcomes func() (all, waiting map[string]int)) *states {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(subsystem+"_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &states{
		leads:         leads,
		fleet:         fleet,
		outcomes:      outcomes,
		up:            desc("vcenter_up", "1 if a vCenter was read and its watch runs, else 0.", "vcenter"),
		contact:       desc("vcenter_snapshot_age_seconds", "Time since a vCenter last answered its watch, which is how old its snapshot may be. Absent before the first answer.", "vcenter"),
		complete:      desc("vcenter_snapshot_complete", "1 if all machines of a vCenter's configured datacenters are known, else 0: then no machine counts as absent.", "vcenter"),
		indexed:       desc("vcenter_indexed_uuids", "Different machine UUIDs in a vCenter's index.", "vcenter"),
		followed:      desc("vcenter_followed_machines", "Machines of a vCenter that belong to Nodes and are known in full.", "vcenter"),
		closed:        desc("vcenter_unreadable_tag_objects", "Objects above the followed machines of a vCenter whose tags the account may not read.", "vcenter"),
		rejected:      desc("vcenter_credentials_rejected", "1 if a vCenter has rejected credentials and has accepted none since, else 0. A session that is open lasts all the same.", "vcenter"),
		refused:       desc("vcenter_login_rejected", "1 if a vCenter cannot be read because it rejects the login, else 0.", "vcenter"),
		tags:          desc("vcenter_tags_known", "1 if the last reading of a vCenter's tags ended well, or none is needed, else 0. Absent before the first has ended.", "vcenter"),
		untrusted:     desc("vcenter_certificate_untrusted", "1 if a vCenter, or what it is reached by, shows a certificate that is not trusted, else 0.", "vcenter"),
		ends:          desc("vcenter_certificate_expiry_timestamp_seconds", "When the certificate that a vCenter showed last is not trusted any more. Absent where any certificate is accepted, or this one by its thumbprint.", "vcenter"),
		uninitialized: desc("uninitialized_nodes", "Nodes that are not initialised yet by what is known of them, of the same outcomes as those of all Nodes.", "outcome"),
		nodes:         desc("nodes", "Nodes by what is known of them: "+nodes.OutcomesHelp+".", "outcome"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (s *states) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{s.up, s.contact, s.complete, s.indexed, s.followed, s.closed, s.nodes, s.uninitialized, s.rejected, s.refused, s.untrusted, s.ends, s.tags} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *states) CollectWithStability(ch chan<- metrics.Metric) {
	select {
	case <-s.leads:
	default:
		return
	}
	gauge := func(d *metrics.Desc, v float64, label string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, v, label)
	}
	for _, v := range s.fleet.Health() {
		gauge(s.up, number(v.Trouble == nil && v.Snapshot != nil), v.VCenter)
		if v.Tags != vcenter.TagsNotRead {
			gauge(s.tags, number(v.Tags == vcenter.TagsRead), v.VCenter)
		}
		gauge(s.rejected, number(v.Rejected), v.VCenter)
		gauge(s.refused, number(errors.Is(v.Trouble, vcenter.ErrRejected)), v.VCenter)
		gauge(s.untrusted, number(errors.As(v.Trouble, new(*vcenter.UntrustedError))), v.VCenter)
		if !v.CertificateEnds.IsZero() {
			gauge(s.ends, float64(v.CertificateEnds.Unix()), v.VCenter)
		}
		if !v.Contact.IsZero() {
			gauge(s.contact, time.Since(v.Contact).Seconds(), v.VCenter)
		}
		if v.Snapshot == nil {
			gauge(s.complete, 0, v.VCenter)
			continue
		}
		gauge(s.complete, number(v.Snapshot.Incomplete == nil), v.VCenter)
		gauge(s.indexed, float64(len(v.Snapshot.Index)), v.VCenter)
		gauge(s.followed, float64(len(v.Snapshot.Machines)), v.VCenter)
		gauge(s.closed, float64(len(v.Snapshot.NotPermitted)), v.VCenter)
	}
	all, waiting := s.outcomes()
	for outcome, n := range all {
		gauge(s.nodes, float64(n), outcome)
		gauge(s.uninitialized, float64(waiting[outcome]), outcome)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
