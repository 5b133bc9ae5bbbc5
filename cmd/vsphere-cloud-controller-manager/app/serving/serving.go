// Package serving serves the secure port: the framework's paths, and /readyz.
package serving

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/authentication/authenticator"
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
	c.Authentication.Authenticator = limitFailures(c.Authentication.Authenticator)
	mux := genericapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, healthz.NewMutableHealthzHandler(watchdog))
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle("/readyz", ready)
	mux.HandleFunc(readiness.VerbosePath, ready.Verbose)
	_, _, err := secure.Serve(splitVerbose(genericapp.BuildHandlerChain(limitVerbosity(mux), &c.Authorization, &c.Authentication)), shutdownTimeout, stop)
	return err
}

// limitFailures refuses a client that has shown wrong credentials more often than once a second: the
// API server is not asked, and nothing is logged. Clients are told apart by a hash of their address.
func limitFailures(next authenticator.Request) authenticator.Request {
	seed, clients := maphash.MakeSeed(), [256]*rate.Limiter{}
	for i := range clients {
		clients[i] = rate.NewLimiter(1, 20)
	}
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		client, _, _ := net.SplitHostPort(r.RemoteAddr)
		failures := clients[maphash.String(seed, client)%uint64(len(clients))]
		isAnonymous := r.Header.Get("Authorization")+r.Header.Get("Sec-WebSocket-Protocol") == "" && len(r.TLS.PeerCertificates) == 0
		if failures.Tokens() < 1 && !isAnonymous {
			return nil, false, nil
		}
		res, ok, err := next.AuthenticateRequest(r)
		if (err != nil || !ok) && failures.Tokens() > -50 { // it is served again within a minute
			failures.Reserve() // also beyond the limit, since many requests may be under way
		}
		return res, ok, err
	})
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
