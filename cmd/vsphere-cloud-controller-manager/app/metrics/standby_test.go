package metrics

import (
	"testing"

	"k8s.io/component-base/metrics"

	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
)

// TestAStandbyShowsNothing: it has read no vCenter and knows no Node, which is
// no error.
func TestAStandbyShowsNothing(t *testing.T) {
	r := metrics.NewKubeRegistry()
	r.CustomMustRegister(NewFleet(make(chan struct{}), nil, nil), NewUndeletedNodes(make(chan struct{}), nil))
	families, err := r.Gather()
	if err != nil || len(families) != 0 {
		t.Errorf("%v, %v", families, err)
	}
}

// idle is a controller that has not begun.
func idle() *nodes.Controller {
	p := provider.New(nil, &config.Config{}, provider.Options{})
	return nodes.New(nil, p.Placer(), p.Checker(), nil)
}
