package check

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
)

const runTimeout = time.Minute

func startVCenter(t *testing.T) (*fleet.VCenter, config.VCenter) {
	t.Helper()
	spec, err := fleet.Parse([]byte("vcenters: [{name: east, version: 8.0.3, datacenters: [{name: dc1}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	v := f.VCenters()[0]
	return v, config.VCenter{Name: "east", Server: v.Host(), Port: v.Port(), CA: v.Certificate()}
}

func runPreflight(t *testing.T, cfg *config.VCenter) preflight {
	t.Helper()
	return runPreflights(t.Context(), []config.VCenter{*cfg}, runTimeout)[0]
}

func TestReached(t *testing.T) {
	v, cfg := startVCenter(t)
	r := runPreflight(t, &cfg)
	if r.Failed != stepDone || r.Err != nil || r.APIVersion != "8.0.3" || r.Certificate == nil || r.Proxy != "" {
		t.Errorf("a vCenter that answers: got %+v, want its certificate and API version 8.0.3", r)
	}
	block, _ := pem.Decode(v.Certificate())
	if string(r.Certificate.Raw) != string(block.Bytes) {
		t.Error("got another certificate than that of the vCenter")
	}
	if n := v.Sessions(); n != 0 {
		t.Errorf("got %d sessions, want none", n)
	}
	// This server name has to be resolved.
	cfg.Server = "localhost"
	if r := runPreflight(t, &cfg); r.Failed != stepDone {
		t.Errorf("the vCenter by a name: got %+v, want no failed step", r)
	}
}

// listen returns the configuration of a server that is not a vCenter.
func listen(t *testing.T, cfg config.VCenter, s *httptest.Server) config.VCenter {
	t.Helper()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Server = "127.0.0.1"
	cfg.Port, err = strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Insecure = true
	return cfg
}

func TestSteps(t *testing.T) {
	v, cfg := startVCenter(t)
	for name, c := range map[string]struct {
		change func(*config.VCenter)
		failed preflightStep
		text   string
	}{
		"not a CA":           {func(c *config.VCenter) { c.CA = []byte("x") }, stepSettings, "caData contains no PEM certificate"},
		"no such name":       {func(c *config.VCenter) { c.Server = "vcenter.invalid" }, stepResolve, "lookup vcenter.invalid"},
		"nobody listens":     {func(c *config.VCenter) { c.Port = 1 }, stepConnect, "connection refused"},
		"no TLS":             {func(c *config.VCenter) { *c = listen(t, *c, httptest.NewServer(http.NotFoundHandler())) }, stepTLS, "HTTP"},
		"not a vCenter":      {func(c *config.VCenter) { *c = listen(t, *c, httptest.NewTLSServer(http.NotFoundHandler())) }, stepAnswer, "HTTP status 404"},
		"another page":       {func(c *config.VCenter) { *c = listen(t, *c, page("<html>")) }, stepAnswer, "does not answer like a vCenter"},
		"another server":     {func(c *config.VCenter) { *c = listen(t, *c, page("<namespaces/>")) }, stepAnswer, "does not list the vSphere API"},
		"an unknown CA":      {func(c *config.VCenter) { c.CA = nil }, stepTrust, "unknown CA"},
		"another thumbprint": {func(c *config.VCenter) { c.CA, c.Thumbprint = nil, "AA:BB" }, stepTrust, "not the configured thumbprint"},
	} {
		changed := cfg
		c.change(&changed)
		r := runPreflight(t, &changed)
		if r.Failed != c.failed || r.Err == nil || !strings.Contains(r.Err.Error(), c.text) {
			t.Errorf("%s: got failed step %q with %v, want %q with %q", name, r.Failed, r.Err, c.failed, c.text)
		}
		if (r.Certificate == nil) == (c.failed == stepTrust || c.failed == stepAnswer) {
			t.Errorf("%s: got the certificate %v, want one from step %q on", name, r.Certificate, stepTrust)
		}
	}
	v.Hang()
	begin := time.Now()
	r := runPreflights(t.Context(), []config.VCenter{cfg}, 300*time.Millisecond)[0]
	if r.Err == nil || time.Since(begin) > runTimeout {
		t.Errorf("a vCenter that hangs: got %+v after %v, want an error within %v", r, time.Since(begin), runTimeout)
	}
}

// If DNS servers time out, the failed step is the name resolution.
func TestNoNameServer(t *testing.T) {
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	cfg := config.VCenter{Name: "east", Server: "vcenter.example.com", Port: 443}
	if r := runPreflights(t.Context(), []config.VCenter{cfg}, 300*time.Millisecond)[0]; r.Failed != stepResolve {
		t.Errorf("no DNS server answers: got failed step %q with %v, want %q", r.Failed, r.Err, stepResolve)
	}
}

func page(text string) *httptest.Server {
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(text))
	}))
}

// vCenters that hang are tried concurrently, and cancellation stops all of them.
func TestSideBySide(t *testing.T) {
	v, cfg := startVCenter(t)
	v.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	for _, r := range runPreflights(ctx, []config.VCenter{cfg, cfg, cfg, cfg}, time.Minute) {
		if r.Err == nil {
			t.Errorf("a vCenter that hangs: got %+v, want an error", r)
		}
	}
	if took := time.Since(begin); took > runTimeout/2 {
		t.Errorf("four vCenters that hang took %v, want the time of one", took)
	}
}
