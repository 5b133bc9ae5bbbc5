// Package serving serves the secure port: the framework's paths, and /readyz.
package serving

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apihealthz "k8s.io/apiserver/pkg/server/healthz"
	appconfig "k8s.io/cloud-provider/app/config"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // the build's version as a metric
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/healthz"

	"vzones/cmd/vsphere-cloud-controller-manager/app/logging"
	"vzones/cmd/vsphere-cloud-controller-manager/app/readiness"
)

// shutdownTimeout is how long a request may take that is in flight when the daemon stops.
const shutdownTimeout = time.Second

// Serve serves on the secure port what the framework does, and /readyz, which the framework's
// own server has no place for. It takes the listener out of the configuration, so that the
// framework does not serve too. /healthz fails with the watchdog.
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
	_, _, err := secure.Serve(splitVerbose(genericapp.BuildHandlerChain(limitVerbosity(mux), &c.Authorization, &c.Authentication)), shutdownTimeout, stop)
	return err
}

// splitVerbose has /readyz?verbose authorized and answered as a path of its own.
func splitVerbose(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && r.URL.Query().Has("verbose") {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = readiness.VerbosePath, ""
		}
		next.ServeHTTP(w, r)
	})
}

// limitVerbosity refuses to set a verbosity beyond logging.MaxVerbosity.
func limitVerbosity(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/flags/v" && r.Method == http.MethodPut {
			text, err := io.ReadAll(io.LimitReader(r.Body, 16))
			if level, notANumber := strconv.Atoi(string(text)); err != nil || notANumber != nil || level > logging.MaxVerbosity {
				http.Error(w, fmt.Sprintf("write a number of at most %d", logging.MaxVerbosity), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
		}
		next.ServeHTTP(w, r)
	})
}
