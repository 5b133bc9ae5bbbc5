package app

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
	lru "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/path"
	apihealthz "k8s.io/apiserver/pkg/server/healthz"
	appconfig "k8s.io/cloud-provider/app/config"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // the build's version as a metric
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/healthz"
)

const shutdownTimeout = time.Second

// serve serves the framework's paths and /readyz, which the framework's own server does not support, until
// stop is closed. It takes the listener from the framework. open has the form of
// --authorization-always-allow-paths.
func serve(c *appconfig.CompletedConfig, watchdog apihealthz.HealthChecker, ready *readyHandler, open []string, stop <-chan struct{}) error {
	secure := c.SecureServing
	if secure == nil {
		return nil
	}
	c.SecureServing = nil
	secure.Listener = newBoundedListener(secure.Listener)
	// HTTP/2 would allow 100 concurrent requests per connection.
	secure.DisableHTTP2 = true
	anyone, err := path.NewAuthorizer(open)
	if err != nil {
		return err
	}
	c.Authentication.Authenticator = rejectAnonymous(limitFailures(c.Authentication.Authenticator), anyone)
	mux := genericapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, healthz.NewMutableHealthzHandler(watchdog))
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle("/readyz", ready)
	mux.HandleFunc(verboseReadyPath, ready.serveVerbose)
	_, _, err = secure.Serve(splitVerbose(genericapp.BuildHandlerChain(limitVerbosity(mux), &c.Authorization, &c.Authentication)), shutdownTimeout, stop)
	return err
}

const (
	// failuresPerSecond and failuresBurst limit how many invalid credentials of all clients reach the API server.
	failuresPerSecond = 5
	failuresBurst     = 100
	acceptedMax       = 100
	acceptedFor       = 10 * time.Minute
)

// limitFailures rejects new credentials, without a call to the API server or a log line, after more invalid ones
// than one per second and client, or failuresPerSecond in total. Credentials that were accepted before are exempt.
func limitFailures(next authenticator.Request) authenticator.Request {
	seed := maphash.MakeSeed()
	total := rate.NewLimiter(failuresPerSecond, failuresBurst)
	var clients [256]*rate.Limiter
	for i := range clients {
		clients[i] = rate.NewLimiter(1, 20)
	}
	accepted := lru.NewLRUExpireCache(acceptedMax)
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		client, _, _ := net.SplitHostPort(r.RemoteAddr)
		failures := clients[maphash.String(seed, client)%uint64(len(clients))]
		shown := r.Header.Get("Authorization") + r.Header.Get("Sec-WebSocket-Protocol")
		for _, c := range r.TLS.PeerCertificates {
			shown += string(c.Raw)
		}
		credentials := maphash.String(seed, shown)
		_, wasAccepted := accepted.Get(credentials)
		if shown != "" && !wasAccepted && (failures.Tokens() < 1 || total.Tokens() < 1) {
			return nil, false, nil
		}
		res, ok, err := next.AuthenticateRequest(r)
		switch {
		case err == nil && ok && res != nil && res.User.GetName() != user.Anonymous:
			accepted.Add(credentials, nil, acceptedFor)
		case err != nil || !ok:
			accepted.Remove(credentials)
			// Many requests may fail at once. They exceed the limits only so far that the client is accepted
			// again within a minute.
			if failures.Tokens() > -50 {
				failures.Reserve()
			}
			if total.Tokens() > -50*failuresPerSecond {
				total.Reserve()
			}
		}
		return res, ok, err
	})
}

// rejectAnonymous rejects anonymous requests, except for open paths, without a call to the API server.
func rejectAnonymous(next authenticator.Request, open authorizer.Authorizer) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		res, ok, err := next.AuthenticateRequest(r)
		if !ok || err != nil || res.User.GetName() != user.Anonymous {
			return res, ok, err
		}
		decision, _, err := open.Authorize(r.Context(), authorizer.AttributesRecord{User: res.User, Verb: "get", Path: r.URL.Path})
		return res, decision == authorizer.DecisionAllow, err
	})
}

// splitVerbose gives /readyz?verbose a path of its own, with its own authorization.
func splitVerbose(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && r.URL.Query().Has("verbose") {
			r = r.Clone(r.Context())
			r.URL.Path = verboseReadyPath
			r.URL.RawPath = ""
		}
		next.ServeHTTP(w, r)
	})
}

func limitVerbosity(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/flags/v" && r.Method == http.MethodPut {
			text, err := io.ReadAll(io.LimitReader(r.Body, 16))
			if level, notANumber := strconv.Atoi(string(text)); err != nil || notANumber != nil || level > maxVerbosity {
				http.Error(w, fmt.Sprintf("write a number of at most %d", maxVerbosity), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
		}
		next.ServeHTTP(w, r)
	})
}
