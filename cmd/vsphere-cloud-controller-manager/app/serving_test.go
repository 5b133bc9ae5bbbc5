package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
	basemetrics "k8s.io/component-base/metrics"

	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/test/logcapture"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://%s"}}]
users: [{name: u, user: {token: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// reviews is an API server that only reviews tokens and accesses. A token is its user name. The user
// monitor may read /metrics and /readyz/verbose.
func reviews(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			var review authenticationv1.TokenReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			review.Status.Authenticated = !strings.HasPrefix(review.Spec.Token, "made-up")
			review.Status.User.Username = review.Spec.Token
			answer = &review
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			var review authorizationv1.SubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			asked := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Spec.User == "monitor" && asked != nil && (asked.Path == "/metrics" || asked.Path == "/readyz/verbose") && asked.Verb == "get"
			answer = &review
		default:
			t.Errorf("the API server was asked for %s", r.URL.Path)
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// frameworkConfig returns the framework's configuration and its address. The port is a free port unless
// it is 0.
func frameworkConfig(t *testing.T, port int) (*appconfig.CompletedConfig, string) {
	t.Helper()
	return frameworkConfigFor(t, port, reviews(t))
}

func frameworkConfigFor(t *testing.T, port int, api *httptest.Server) (*appconfig.CompletedConfig, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, fmt.Appendf(nil, kubeconfig, strings.TrimPrefix(api.URL, "http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	controllers := slices.Sorted(maps.Keys(app.DefaultInitFuncConstructors))
	flags := pflag.NewFlagSet("framework", pflag.ContinueOnError)
	for _, set := range opts.Flags(controllers, nil, nil, nil, nil).FlagSets {
		flags.AddFlagSet(set)
	}
	args := []string{
		"--kubeconfig=" + file, "--authentication-kubeconfig=" + file, "--authorization-kubeconfig=" + file,
		"--cloud-provider=vsphere", "--authentication-skip-lookup", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	address := ""
	if port != 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		opts.SecureServing.Listener = l
		address = l.Addr().String()
	}
	c, err := opts.Config(controllers, nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Complete(), address
}

type securePort struct {
	t       *testing.T
	address string
	client  *http.Client
}

func newSecurePort(t *testing.T, address string) *securePort {
	t.Helper()
	return &securePort{t: t, address: address, client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}}
}

func (p *securePort) get(path, token string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "https://"+p.address+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// registerOnce registers a metric in the registry of the process. With -count it runs only once.
var registerOnce = sync.OnceFunc(func() {
	counter := basemetrics.NewCounter(&basemetrics.CounterOpts{
		Subsystem: metrics.Subsystem, Name: "test_total", Help: "Made by a test.", StabilityLevel: basemetrics.ALPHA,
	})
	metrics.Served{}.MustRegister(counter)
	counter.Inc()
})

// probes is the framework's default for --authorization-always-allow-paths.
var probes = []string{"/healthz", "/readyz", "/livez"}

// TestServe: all paths except /healthz and /readyz need authentication and authorization, even
// /readyz?verbose, and the framework has no listener of its own.
func TestServe(t *testing.T) {
	c, address := frameworkConfig(t, 10258)
	registerOnce()
	var mu sync.Mutex
	current := inventory.State{VCenter: "east"}
	leads := make(chan struct{})
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{leading: leads, health: func() []vcenter.Health {
		mu.Lock()
		defer mu.Unlock()
		return []vcenter.Health{{State: current}}
	}}, probes, stop)
	if err != nil {
		t.Fatal(err)
	}
	if c.SecureServing != nil {
		t.Error("the framework would serve on the same listener")
	}
	p := newSecurePort(t, address)
	expect := func(path, token string, code int, says string) {
		t.Helper()
		if got, body := p.get(path, token); got != code || !strings.Contains(body, says) {
			t.Errorf("%s of %q: %d %.200q, want %d %q", path, token, got, body, code, says)
		}
	}
	expect("/healthz", "", 200, "ok")
	expect("/readyz", "", 200, "ok: standing by")
	close(leads)
	expect("/readyz", "", 503, "not ready")
	expect("/readyz?verbose", "", 401, "")
	expect("/readyz?verbose=", "visitor", 403, "")
	expect("/readyz/verbose", "visitor", 403, "")
	expect("/readyz?verbose", "monitor", 503, "vcenter east: connecting: no answer yet")
	mu.Lock()
	current.Snapshot = &inventory.Snapshot{}
	mu.Unlock()
	expect("/readyz", "", 200, "ok")
	expect("/readyz?verbose=1&x", "monitor", 200, "vcenter east: synced")
	expect("/readyz/verbose", "monitor", 200, "vcenter east: synced")
	for _, token := range []string{"", "visitor", "monitor"} {
		if _, body := p.get("/readyz", token); strings.Contains(body, "east") {
			t.Errorf("/readyz names a vCenter to %q: %q", token, body)
		}
	}
	expect("/healthz", "", 200, "ok")

	expect("/metrics", "", 401, "")
	expect("/metrics", "visitor", 403, "")
	expect("/metrics", "monitor", 200, "kubernetes_build_info")
	expect("/metrics", "monitor", 200, "\nvsphere_ccm_test_total 1\n")
	expect("/metrics/slis", "", 401, "")
	expect("/configz", "monitor", 403, "")
	expect("/debug/pprof/", "", 401, "")
	expect("/nowhere", "", 401, "")

	end()
	awaitClosed(t, address)
}

func awaitClosed(t *testing.T, address string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for the port %s to be closed: %v", address, err)
	}
}

// endServing stops the server, and returns after its last log line.
func endServing(t *testing.T, log *logcapture.Log, stop chan struct{}) {
	t.Helper()
	close(stop)
	for _, last := range []string{"Stopped listening", "Shutting down DynamicServingCertificateController"} {
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			return strings.Contains(log.String(), last), nil
		})
		if err != nil {
			t.Errorf("waiting for the log line %q: %v", last, err)
		}
	}
}

// TestServeWithoutAPIServer: while the API server reviews no token, a token opens nothing, is not
// logged and delays its client only for a while, and probes work. Afterwards the token is accepted.
func TestServeWithoutAPIServer(t *testing.T) {
	const token = "monitor"
	for name, state := range map[string]*atomic.Int32{"fails": new(atomic.Int32), "hangs": new(atomic.Int32)} {
		t.Run(name, func(t *testing.T) {
			answers := reviews(t)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case state.Load() == 1:
					answers.Config.Handler.ServeHTTP(w, r)
					return
				case name == "hangs":
					// The server notices a closed connection only after it has read the body.
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer api.Close()
			c, address := frameworkConfigFor(t, 10258, api)
			leads := make(chan struct{})
			stop := make(chan struct{})
			log := logcapture.Capture(t, false)
			defer endServing(t, log, stop)
			if err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{leading: leads}, probes, stop); err != nil {
				t.Fatal(err)
			}
			p := newSecurePort(t, address)
			began := time.Now()
			if code, body := p.get("/metrics", token); code != http.StatusUnauthorized || time.Since(began) > 20*time.Second {
				t.Errorf("%d %.200q after %v", code, body, time.Since(began))
			}
			for _, path := range []string{"/healthz", "/readyz"} {
				if code, body := p.get(path, ""); code != http.StatusOK {
					t.Errorf("%s without an API server: %d %q, want 200", path, code, body)
				}
			}
			if !strings.Contains(log.String(), "Unable to authenticate the request") {
				t.Errorf("the log has no error:\n%s", log)
			}
			state.Store(1)
			if code, body := p.get("/metrics", token); code != http.StatusOK {
				t.Errorf("afterwards: %d %.200q", code, body)
			}
			if strings.Contains(log.String(), `"token":"`+token) || strings.Contains(log.String(), "Bearer "+token) {
				t.Errorf("the token is in the log:\n%s", log)
			}
		})
	}
}

// TestMadeUpTokens: a client with many invalid tokens causes few reviews and log lines, in each header
// for tokens, and blocks no other client.
func TestMadeUpTokens(t *testing.T) {
	for name, show := range map[string]func(http.Header, string){
		"bearer": func(h http.Header, token string) { h.Set("Authorization", "Bearer "+token) },
		"websocket": func(h http.Header, token string) {
			h.Set("Connection", "Upgrade")
			h.Set("Upgrade", "websocket")
			h.Set("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte(token))+", x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := reviews(t)
			asked := new(atomic.Int32)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				answers.Config.Handler.ServeHTTP(w, r)
			}))
			defer api.Close()
			c, address := frameworkConfigFor(t, 10258, api)
			stop := make(chan struct{})
			log := logcapture.Capture(t, false)
			defer endServing(t, log, stop)
			if err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{leading: make(chan struct{})}, probes, stop); err != nil {
				t.Fatal(err)
			}
			p := newSecurePort(t, address)
			began := time.Now()
			rejected := 0
			for i := range 300 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+[]string{"/metrics", "/healthz"}[i%2], http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				show(req.Header, fmt.Sprintf("made-up-%d", i))
				res, err := p.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if res.StatusCode == http.StatusUnauthorized {
					rejected++
				}
			}
			// klog writes an error to the logs of three severities, which all end here.
			most := 21 + int(time.Since(began)/time.Second)
			if lines := strings.Count(log.String(), "Unable to authenticate the request") / 3; rejected != 300 || int(asked.Load()) > most || lines > most {
				t.Errorf("%d of 300 were refused, with %d requests to the API server and %d lines, want at most %d", rejected, asked.Load(), lines, most)
			}
			if code, _ := p.get("/healthz", ""); code != http.StatusOK {
				t.Errorf("a probe of the same client: %d, want 200", code)
			}
			// Clients whose addresses have the same hash share a limit, so one of these may be limited with the first.
			var codes []int
			for _, other := range []byte{2, 3, 4, 5} {
				p.client.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, other)}}).DialContext
				code, _ := p.get("/metrics", "monitor")
				codes = append(codes, code)
			}
			if !slices.Contains(codes, http.StatusOK) {
				t.Errorf("/metrics for other clients: %v, want 200 for one", codes)
			}
		})
	}
}

// TestServeNothing: --secure-port=0 is valid, and opens no port.
func TestServeNothing(t *testing.T) {
	c, _ := frameworkConfig(t, 0)
	if c.SecureServing != nil {
		t.Fatal("the framework has a listener for --secure-port=0")
	}
	if err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{}, probes, nil); err != nil {
		t.Error(err)
	}
}

// TestLimitVerbosity: no request sets a verbosity at which client-go logs bodies.
func TestLimitVerbosity(t *testing.T) {
	for body, want := range map[string]int{"0": http.StatusOK, "7": http.StatusOK, "8": http.StatusBadRequest, "": http.StatusBadRequest, "a": http.StatusBadRequest} {
		set := ""
		h := limitVerbosity(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			set = string(text)
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/debug/flags/v", strings.NewReader(body)))
		if w.Code != want || want == http.StatusOK && set != body {
			t.Errorf("verbosity %q: %d, and %q is set, want %d", body, w.Code, set, want)
		}
	}
}

// TestConcurrentFailures: a client is accepted again within a minute after many failures, even if the
// API server reviewed all of them concurrently.
func TestConcurrentFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := false
		limited := limitFailures(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			if good {
				return nil, true, nil
			}
			time.Sleep(10 * time.Second)
			return nil, false, errors.New("the API server does not answer")
		}))
		r := &http.Request{RemoteAddr: "192.0.2.1:1", Header: http.Header{"Authorization": {"Bearer made-up"}}, TLS: &tls.ConnectionState{}}
		var all sync.WaitGroup
		for range 5000 {
			all.Go(func() { _, _, _ = limited.AuthenticateRequest(r) })
		}
		all.Wait()
		good = true
		time.Sleep(time.Minute)
		if _, ok, _ := limited.AuthenticateRequest(r); !ok {
			t.Error("a client is rejected a minute after its failures")
		}
	})
}

// TestAFloodOfClients: many clients with different addresses and tokens cause few reviews and log
// lines, and keep no scraper with an accepted token away.
func TestAFloodOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		limited := limitFailures(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			if asked++; r.Header.Get("Authorization") == "Bearer monitor" {
				return &authenticator.Response{User: &user.DefaultInfo{Name: "monitor"}}, true, nil
			}
			return nil, false, errors.New("unknown token")
		}))
		attempt := func(address, token string) bool {
			r := &http.Request{RemoteAddr: address, Header: http.Header{"Authorization": {"Bearer " + token}}, TLS: &tls.ConnectionState{}}
			_, ok, _ := limited.AuthenticateRequest(r)
			return ok
		}
		if !attempt("192.0.2.1:1", "monitor") {
			t.Fatal("the scraper is rejected")
		}
		asked = 0
		for i := range 8000 {
			attempt(fmt.Sprintf("10.0.%d.%d:1", i%4000/250, i%250), fmt.Sprintf("made-up-%d", i))
			time.Sleep(20 * time.Second / 8000)
		}
		if most := failuresBurst + 21*failuresPerSecond; asked > most || asked < failuresBurst {
			t.Errorf("8,000 attempts in 20 s cost %d reviews, want %d to %d", asked, failuresBurst, most)
		}
		if !attempt("192.0.2.1:1", "monitor") || !attempt("10.0.0.1:1", "monitor") {
			t.Error("the scraper is rejected during the flood")
		}
		if attempt("10.0.0.1:1", "another") {
			t.Error("a made-up token is accepted")
		}
		time.Sleep(time.Minute)
		before := asked
		if attempt("192.0.2.9:1", "late"); asked == before {
			t.Error("nothing reaches the API server a minute after the flood")
		}
	})
}

// TestARevokedToken: a token is limited again after it was revoked.
func TestARevokedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		limited := limitFailures(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			asked++
			return &authenticator.Response{User: &user.DefaultInfo{Name: "monitor"}}, asked == 1, nil
		}))
		r := &http.Request{RemoteAddr: "192.0.2.1:1", Header: http.Header{"Authorization": {"Bearer monitor"}}, TLS: &tls.ConnectionState{}}
		for range 1000 {
			_, _, _ = limited.AuthenticateRequest(r)
		}
		if asked > 22 {
			t.Errorf("the API server was asked %d times, want at most 22", asked)
		}
	})
}

// TestAnonymousRequests: anonymous clients get only the open paths, even with a self-signed
// certificate, and cause no API request.
func TestAnonymousRequests(t *testing.T) {
	answers := reviews(t)
	asked := new(atomic.Int32)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answers.Config.Handler.ServeHTTP(w, r)
	}))
	defer api.Close()
	c, address := frameworkConfigFor(t, 10258, api)
	stop := make(chan struct{})
	defer close(stop)
	if err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{leading: make(chan struct{})}, probes, stop); err != nil {
		t.Fatal(err)
	}
	own := vcentertest.Issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "monitor"}}, nil)
	for _, certificates := range [][]tls.Certificate{nil, {{Certificate: [][]byte{own.Cert.Raw}, PrivateKey: own.Key}}} {
		p := newSecurePort(t, address)
		p.client.Transport.(*http.Transport).TLSClientConfig.Certificates = certificates
		for i := range 100 {
			for path, want := range map[string]int{
				fmt.Sprintf("/%d", i): http.StatusUnauthorized, "/metrics": http.StatusUnauthorized, "/readyz?verbose": http.StatusUnauthorized, "/readyz/../metrics": http.StatusUnauthorized,
				"/healthz": http.StatusOK, "/readyz": http.StatusOK,
			} {
				if i > 0 && want == http.StatusOK {
					continue
				}
				if code, body := p.get(path, ""); code != want {
					t.Errorf("%s: %d %.100s, want %d", path, code, body, want)
				}
			}
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the API server was asked %d times, want never", n)
	}
}
