package main

import (
	"net/http"
	"time"

	apihealthz "k8s.io/apiserver/pkg/server/healthz"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics/prometheus/slis"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/healthz"
)

// shutdownTimeout is what a request gets that is being answered when the daemon
// stops.
const shutdownTimeout = time.Second

// serve serves on the secure port what the framework does, and /readyz besides,
// for which the framework's own server has no place. Taking the listener out of
// its configuration is what keeps it from serving too. /healthz fails with the
// watchdog.
func serve(c *appconfig.CompletedConfig, watchdog apihealthz.HealthChecker, ready *readiness, stop <-chan struct{}) error {
	secure := c.SecureServing
	if secure == nil {
		return nil
	}
	c.SecureServing = nil
	mux := genericapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, healthz.NewMutableHealthzHandler(watchdog))
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle("/readyz", ready)
	mux.HandleFunc(readyzVerbose, ready.verbose)
	_, _, err := secure.Serve(verbosely(genericapp.BuildHandlerChain(mux, &c.Authorization, &c.Authentication)), shutdownTimeout, stop)
	return err
}

// readyzVerbose is the path of /readyz?verbose for who may get it. /readyz is open to
// everyone, in the framework's flags and in Kubernetes' own role for the public
// (system:public-info-viewer); its role for monitoring (system:monitoring) has this one.
const readyzVerbose = "/readyz/verbose"

// verbosely has /readyz?verbose authorized and answered as a path of its own.
func verbosely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && r.URL.Query().Has("verbose") {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = readyzVerbose, ""
		}
		next.ServeHTTP(w, r)
	})
}
