package preflight_test

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

	"vzones/cmd/vzones/internal/preflight"
	"vzones/config"
	"vzones/test/fleet"
)

const timeout = time.Minute

func start(t *testing.T) (*fleet.VCenter, config.VCenter) {
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

func run(t *testing.T, cfg *config.VCenter) preflight.Report {
	t.Helper()
	return preflight.Run(t.Context(), []config.VCenter{*cfg}, timeout)[0]
}

func TestReached(t *testing.T) {
	v, cfg := start(t)
	r := run(t, &cfg)
	if r.Failed != preflight.Done || r.Err != nil || r.APIVersion != "8.0.3" || r.Certificate == nil || r.Proxy != "" {
		t.Errorf("%+v", r)
	}
	block, _ := pem.Decode(v.Certificate())
	if string(r.Certificate.Raw) != string(block.Bytes) {
		t.Error("another certificate")
	}
	if n := v.Sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
	// A name is resolved.
	cfg.Server = "localhost"
	if r := run(t, &cfg); r.Failed != preflight.Done {
		t.Errorf("%+v", r)
	}
}

// listen returns where something answers that is not a vCenter.
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

// TestSteps: each step fails in its way.
func TestSteps(t *testing.T) {
	v, cfg := start(t)
	for name, c := range map[string]struct {
		change func(*config.VCenter)
		failed preflight.Step
		text   string
	}{
		"not a CA":           {func(c *config.VCenter) { c.CA = []byte("x") }, preflight.Settings, "caData holds no PEM certificate"},
		"no such name":       {func(c *config.VCenter) { c.Server = "vcenter.invalid" }, preflight.Resolve, "lookup vcenter.invalid"},
		"nobody listens":     {func(c *config.VCenter) { c.Port = 1 }, preflight.Connect, "connection refused"},
		"no TLS":             {func(c *config.VCenter) { *c = listen(t, *c, httptest.NewServer(http.NotFoundHandler())) }, preflight.TLS, "HTTP"},
		"not a vCenter":      {func(c *config.VCenter) { *c = listen(t, *c, httptest.NewTLSServer(http.NotFoundHandler())) }, preflight.Answer, "HTTP status 404"},
		"another page":       {func(c *config.VCenter) { *c = listen(t, *c, page("<html>")) }, preflight.Answer, "does not answer as a vCenter does"},
		"another server":     {func(c *config.VCenter) { *c = listen(t, *c, page("<namespaces/>")) }, preflight.Answer, "does not name the vSphere API"},
		"an unknown CA":      {func(c *config.VCenter) { c.CA = nil }, preflight.Trust, "unknown authority"},
		"another thumbprint": {func(c *config.VCenter) { c.CA, c.Thumbprint = nil, "AA:BB" }, preflight.Trust, "not the configured thumbprint"},
	} {
		changed := cfg
		c.change(&changed)
		r := run(t, &changed)
		if r.Failed != c.failed || r.Err == nil || !strings.Contains(r.Err.Error(), c.text) {
			t.Errorf("%s: %q, %v", name, r.Failed, r.Err)
		}
		if (r.Certificate == nil) == (c.failed == preflight.Trust || c.failed == preflight.Answer) {
			t.Errorf("%s: certificate %v", name, r.Certificate)
		}
	}
	v.Hang()
	begin := time.Now()
	r := preflight.Run(t.Context(), []config.VCenter{cfg}, 300*time.Millisecond)[0]
	if r.Err == nil || time.Since(begin) > timeout {
		t.Errorf("%+v after %v", r, time.Since(begin))
	}
}

// TestNoNameServer: where no DNS server answers in time, the name is what fails.
func TestNoNameServer(t *testing.T) {
	usual := net.DefaultResolver
	defer func() { net.DefaultResolver = usual }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	cfg := config.VCenter{Name: "east", Server: "vcenter.example.com", Port: 443}
	if r := preflight.Run(t.Context(), []config.VCenter{cfg}, 300*time.Millisecond)[0]; r.Failed != preflight.Resolve {
		t.Errorf("%q: %v", r.Failed, r.Err)
	}
}

func page(text string) *httptest.Server {
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(text))
	}))
}

// TestSideBySide: vCenters that hang take the time of one, and the context ends all.
func TestSideBySide(t *testing.T) {
	v, cfg := start(t)
	v.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	for _, r := range preflight.Run(ctx, []config.VCenter{cfg, cfg, cfg, cfg}, time.Minute) {
		if r.Err == nil {
			t.Errorf("%+v", r)
		}
	}
	if took := time.Since(begin); took > timeout/2 {
		t.Errorf("it took %v", took)
	}
}
