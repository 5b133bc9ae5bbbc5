package session_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/vcentertest"
)

// connectProxy is an HTTP proxy with its own name resolution.
type connectProxy struct {
	*httptest.Server
	hosts map[string]string // addresses by host:port

	mu         sync.Mutex
	tunnels    []string
	rejections int
}

const proxyUser, proxyPassword = "proxy-user", "made-up-proxy-password"

func newConnectProxy(t *testing.T, hosts map[string]string) *connectProxy {
	t.Helper()
	p := &connectProxy{hosts: hosts}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword))
	p.mu.Lock()
	ok := r.Method == http.MethodConnect && r.Header.Get("Proxy-Authorization") == want && p.hosts[r.Host] != ""
	if ok {
		p.tunnels = append(p.tunnels, r.Host)
	} else {
		p.rejections++
	}
	p.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	there, err := net.Dial("tcp", p.hosts[r.Host])
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(there, buffered); done <- struct{}{} }()
	go func() { _, _ = io.Copy(here, there); done <- struct{}{} }()
	<-done
}

func (p *connectProxy) seen() ([]string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(p.tunnels))), p.rejections
}

// errand is a login in a process of its own, because Go reads the environment's proxy once in a process and bypasses
// it for localhost.
type errand struct {
	Way, Server, CA, User, Password, Manager string
}

const errandVariable = "VZONES_TEST_ERRAND"

// TestErrand logs in through the environment's proxy and prints the error.
func TestErrand(t *testing.T) {
	text := os.Getenv(errandVariable)
	if text == "" {
		t.Skip("a part of TestProxy")
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	cfg := config.VCenter{Name: "east", Server: e.Server, Port: 443, CA: []byte(e.CA), RoundTrips: 1, User: e.User, Password: config.NewPassword(e.Password)}
	creds := credentials.Credentials{User: cfg.User, Password: cfg.Password}
	switch e.Way {
	case "certificate":
		creds = vcentertest.CertificateCredentials(t, &cfg)
	case "session manager":
		creds = credentials.Credentials{SessionManagerURL: e.Manager, SessionManagerToken: config.NewPassword("made-up-token")}
	}
	s, err := open(t, &cfg, creds, 30*time.Second)
	if err == nil {
		defer closing(t, s)
		// The simulator's tagging API does not know cloned sessions.
		if e.Way != "session manager" {
			err = readCategories(t.Context(), s)
		}
	}
	fmt.Printf("RESULT %v\n", err)
}

// run runs an errand with a proxy in the environment and returns its output.
func (e errand) run(t *testing.T, env ...string) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestErrand$", "-test.v")
	cmd.Env = append([]string{errandVariable + "=" + string(text), "HOME=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(string(out), proxyPassword) {
		t.Errorf("the proxy's password is printed:\n%s", out)
	}
	_, result, ok := strings.Cut(string(out), "RESULT ")
	result, _, _ = strings.Cut(result, "\n")
	if !ok {
		t.Errorf("no result:\n%s", out)
	}
	return result
}

// TestProxy checks that SOAP, tags, tokens and the session manager use the environment's proxy, and that no error
// contains its password.
func TestProxy(t *testing.T) {
	_, vc, cfg := vcentertest.EastBehindFront(t)
	tokens, _ := vcentertest.WithTokens(t)
	manager, _ := vcentertest.SessionManager(t, cfg)
	host := func(f *vcentertest.Front) string { return strings.TrimPrefix(f.URL, "https://") }
	login := errand{User: cfg.User, Password: cfg.Password.Reveal(), Manager: "https://sessions.example.test/session"}
	for name, c := range map[string]struct {
		way         string
		vc          *vcentertest.Front
		wrong       string // suffix of the proxy's password
		at, noProxy string
		want        string
		tunnels     string
	}{
		"password":          {vc: vc, want: "<nil>", tunnels: "[vc.example.test:443]"},
		"certificate":       {way: "certificate", vc: tokens, want: "<nil>", tunnels: "[vc.example.test:443]"},
		"session manager":   {way: "session manager", vc: vc, want: "<nil>", tunnels: "[sessions.example.test:443 vc.example.test:443]"},
		"a _ in the names":  {way: "session manager", vc: vc, want: "<nil>", tunnels: "[session_s.example.test:443 vc_1.example.test:443]"},
		"a wrong password":  {vc: vc, wrong: "x", want: "Proxy Authentication Required", tunnels: "[]"},
		"not for this host": {vc: vc, noProxy: ".example.test", want: "lookup vc.example.test", tunnels: "[]"},
		"no proxy there":    {vc: vc, at: "127.0.0.1:1", want: "connection refused", tunnels: "[]"},
		"no URL":            {vc: vc, wrong: "%zz", want: "lookup vc.example.test", tunnels: "[]"}, // as if it were not set
	} {
		t.Run(name, func(t *testing.T) {
			p := newConnectProxy(t, map[string]string{"vc.example.test:443": host(c.vc), "sessions.example.test:443": host(manager),
				"vc_1.example.test:443": host(c.vc), "session_s.example.test:443": host(manager)})
			e := login
			if e.Server = "vc.example.test"; name == "a _ in the names" {
				e.Server, e.Manager = "vc_1.example.test", "https://session_s.example.test/session"
			}
			e.Way, e.CA = c.way, string(c.vc.Cert.PEM())+string(manager.Cert.PEM())
			proxy := "http://" + proxyUser + ":" + proxyPassword + c.wrong + "@" + cmp.Or(c.at, strings.TrimPrefix(p.URL, "http://"))
			got := e.run(t, "HTTPS_PROXY="+proxy, "NO_PROXY="+c.noProxy)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if tunnels, rejected := p.seen(); fmt.Sprint(tunnels) != c.tunnels || (rejected > 0) != (name == "a wrong password") {
				t.Errorf("tunnels to %v, %d refused", tunnels, rejected)
			}
		})
	}
	if n := len(tokens.Requests(vcentertest.LookupPath, "")); n != 2 {
		t.Errorf("%d requests to the lookup service", n)
	}
	if n := len(tokens.Requests(vcentertest.STSPath, "")); n != 2 {
		t.Errorf("%d requests to the token service", n)
	}
}
