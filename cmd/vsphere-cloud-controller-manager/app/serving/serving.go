// Package serving serves the secure port: the framework's paths, and /readyz. It never lets
// client-go log the token of whoever asks.
package serving

import (
	"net/http"
	"time"

	apihealthz "k8s.io/apiserver/pkg/server/healthz"
	appconfig "k8s.io/cloud-provider/app/config"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // the build's version as a metric
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/healthz"

	"vzones/cmd/vsphere-cloud-controller-manager/app/readiness"
)

// shutdownTimeout is what a request gets that is being answered when the daemon
// stops.
const shutdownTimeout = time.Second

// Serve serves on the secure port what the framework does, and /readyz besides,
// for which the framework's own server has no place. Taking the listener out of
// its configuration is what keeps it from serving too. /healthz fails with the
// watchdog.
func Serve(c *appconfig.CompletedConfig, watchdog apihealthz.HealthChecker, ready *readiness.Handler, stop <-chan struct{}) error {
	secure := c.SecureServing
	if secure == nil {
		return nil
	}
	c.SecureServing = nil
	mux := genericapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, healthz.NewMutableHealthzHandler(watchdog))
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle("/readyz", ready)
	mux.HandleFunc(readiness.VerbosePath, ready.Verbose)
	_, _, err := secure.Serve(verbosely(genericapp.BuildHandlerChain(mux, &c.Authorization, &c.Authentication)), shutdownTimeout, stop)
	return err
}

// verbosely has /readyz?verbose authorized and answered as a path of its own.
func verbosely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && r.URL.Query().Has("verbose") {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = readiness.VerbosePath, ""
		}
		next.ServeHTTP(w, r)
	})
}
