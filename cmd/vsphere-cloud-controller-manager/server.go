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
func serve(c *appconfig.CompletedConfig, watchdog apihealthz.HealthChecker, ready http.Handler, stop <-chan struct{}) error {
	secure := c.SecureServing
	if secure == nil {
		return nil
	}
	c.SecureServing = nil
	mux := genericapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, healthz.NewMutableHealthzHandler(watchdog))
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle("/readyz", ready)
	_, _, err := secure.Serve(genericapp.BuildHandlerChain(mux, &c.Authorization, &c.Authentication), shutdownTimeout, stop)
	return err
}
