// Package metrics contains the metrics of the daemon.
package metrics

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Subsystem is the prefix of all metrics. Dashboards and alerts depend on it.
const Subsystem = "vsphere_ccm"

// A Registry registers metrics.
type Registry interface {
	MustRegister(...metrics.Registerable)
	CustomMustRegister(...metrics.StableCollector)
}

// Served is the registry that the framework serves at /metrics.
type Served struct{}

// MustRegister implements Registry.
func (Served) MustRegister(m ...metrics.Registerable) { legacyregistry.MustRegister(m...) }

// CustomMustRegister implements Registry.
func (Served) CustomMustRegister(m ...metrics.StableCollector) {
	legacyregistry.CustomMustRegister(m...)
}

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
