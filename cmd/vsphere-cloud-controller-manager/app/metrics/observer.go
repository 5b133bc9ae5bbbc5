package metrics

import (
	"context"
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/vcenter"
	"vzones/vcenter/session"
)

// An Observer counts requests to vCenters, logins and watches.
type Observer struct {
	requests *metrics.CounterVec
	duration *metrics.HistogramVec
	logins   *metrics.CounterVec
	watches  *metrics.CounterVec
}

var _ vcenter.Observer = (*Observer)(nil)

// NewObserver returns an Observer with registered metrics.
func NewObserver(r Registry) *Observer {
	o := &Observer{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: Subsystem, Name: "vcenter_requests_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests to a vCenter, by call and result.",
		}, []string{"vcenter", "call", "result"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Subsystem: Subsystem, Name: "vcenter_request_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Duration of requests to a vCenter, by call. The vCenter holds WaitForUpdatesEx open while nothing changes.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 30},
		}, []string{"vcenter", "call"}),
		logins: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: Subsystem, Name: "vcenter_logins_total", StabilityLevel: metrics.ALPHA,
			Help: "Attempts to log in to a vCenter, by result.",
		}, []string{"vcenter", "result"}),
		watches: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: Subsystem, Name: "vcenter_watch_starts_total", StabilityLevel: metrics.ALPHA,
			Help: "Starts of a vCenter's watch. Each start after the first is a restart, which reads everything again.",
		}, []string{"vcenter"}),
	}
	r.MustRegister(o.requests, o.duration, o.logins, o.watches)
	return o
}

// Requested implements vcenter.Observer.
func (o *Observer) Requested(name, call string, took time.Duration, err error) {
	o.requests.WithLabelValues(name, call, result(err)).Inc()
	o.duration.WithLabelValues(name, call).Observe(took.Seconds())
}

// LoggedIn implements vcenter.Observer.
func (o *Observer) LoggedIn(name string, err error) {
	o.logins.WithLabelValues(name, result(err)).Inc()
}

// WatchStarted implements vcenter.Observer.
func (o *Observer) WatchStarted(name string) { o.watches.WithLabelValues(name).Inc() }

func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, session.ErrRejected):
		return "rejected"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "error"
}
