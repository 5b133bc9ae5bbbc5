package main

import (
	"time"

	"k8s.io/component-base/metrics"
)

// reloads counts how often a changed configuration was applied or refused.
type reloads struct {
	total      *metrics.CounterVec
	successful *metrics.Gauge
	since      *metrics.Gauge
}

func newReloads(r registry) *reloads {
	c := &reloads{
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: subsystem, Name: "config_reloads_total", StabilityLevel: metrics.ALPHA,
			Help: "Changes of the configuration since the start, by result: applied or refused.",
		}, []string{"result"}),
		successful: metrics.NewGauge(&metrics.GaugeOpts{
			Subsystem: subsystem, Name: "config_last_reload_successful", StabilityLevel: metrics.ALPHA,
			Help: "1 if the configuration as it is written is in force, 0 if it was refused and the one before is.",
		}),
		since: metrics.NewGauge(&metrics.GaugeOpts{
			Subsystem: subsystem, Name: "config_last_reload_success_timestamp_seconds", StabilityLevel: metrics.ALPHA,
			Help: "When a configuration was last read and put in force, in seconds since 1970.",
		}),
	}
	r.MustRegister(c.total, c.successful, c.since)
	for _, result := range []string{"applied", "refused"} {
		c.total.WithLabelValues(result).Add(0)
	}
	c.inForce()
	return c
}

func (c *reloads) inForce() {
	c.successful.Set(1)
	c.since.Set(float64(time.Now().Unix()))
}

func (c *reloads) applied() {
	c.total.WithLabelValues("applied").Inc()
	c.inForce()
}

func (c *reloads) refused() {
	c.total.WithLabelValues("refused").Inc()
	c.successful.Set(0)
}
