package metrics

import (
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
)

// Reloads counts configuration reloads by result.
type Reloads struct {
	total      *metrics.CounterVec
	successful *metrics.Gauge
	timestamp  *metrics.Gauge
	isRejected atomic.Bool
}

// NewReloads returns the metrics for a configuration that was just read.
func NewReloads(r Registry) *Reloads {
	c := &Reloads{
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: Subsystem, Name: "config_reloads_total", StabilityLevel: metrics.ALPHA,
			Help: "Configuration changes since the start, by result: applied or rejected.",
		}, []string{"result"}),
		successful: metrics.NewGauge(&metrics.GaugeOpts{
			Subsystem: Subsystem, Name: "config_last_reload_successful", StabilityLevel: metrics.ALPHA,
			Help: "1 if the latest configuration is in force, 0 if it was rejected and the previous configuration is.",
		}),
		timestamp: metrics.NewGauge(&metrics.GaugeOpts{
			Subsystem: Subsystem, Name: "config_last_reload_success_timestamp_seconds", StabilityLevel: metrics.ALPHA,
			Help: "Time at which a configuration was last put in force, in seconds since 1970.",
		}),
	}
	r.MustRegister(c.total, c.successful, c.timestamp)
	for _, result := range []string{"applied", "rejected"} {
		c.total.WithLabelValues(result).Add(0)
	}
	c.inForce()
	return c
}

func (c *Reloads) inForce() {
	c.isRejected.Store(false)
	c.successful.Set(1)
	c.timestamp.Set(float64(time.Now().Unix()))
}

// Applied records a change that is in force.
func (c *Reloads) Applied() {
	c.total.WithLabelValues("applied").Inc()
	c.inForce()
}

// Rejected records a rejected change.
func (c *Reloads) Rejected() {
	c.total.WithLabelValues("rejected").Inc()
	c.isRejected.Store(true)
	c.successful.Set(0)
}

// IsRejected reports whether the configuration in the source was rejected.
func (c *Reloads) IsRejected() bool { return c.isRejected.Load() }
