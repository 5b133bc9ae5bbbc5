package metrics

import (
	"maps"
	"testing"

	"k8s.io/component-base/metrics"
)

// TestLeading: of all instances one shows that it leads, and each says whether it does.
func TestLeading(t *testing.T) {
	for want, ch := range map[float64]<-chan struct{}{0: make(chan struct{}), 1: leads()} {
		r := metrics.NewKubeRegistry()
		r.CustomMustRegister(NewLeading(ch))
		if got := gather(t, r)["vsphere_ccm_leading"].samples; !maps.Equal(got, map[string]float64{"": want}) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
