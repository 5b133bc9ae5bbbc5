// Package metrics owns the metrics of the daemon: their names, labels and help. It decides nothing.
package metrics

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Subsystem is the prefix of all metrics. Dashboards and alerts use it.
const Subsystem = "vsphere_ccm"

// A Registry registers metrics.
type Registry interface {
	MustRegister(...metrics.Registerable)
	CustomMustRegister(...metrics.StableCollector)
}

// Served is the registry of the process, which the framework serves at /metrics.
type Served struct{}

// MustRegister implements Registry.
func (Served) MustRegister(m ...metrics.Registerable) { legacyregistry.MustRegister(m...) }

// CustomMustRegister implements Registry.
func (Served) CustomMustRegister(m ...metrics.StableCollector) {
	legacyregistry.CustomMustRegister(m...)
}

// isClosed reports whether a channel is closed.
func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
