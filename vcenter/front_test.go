package vcenter

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/test/fleet"
)

// front is a TLS server before a simulated one. It sees what is asked, and answers
// instead where that is wanted.
type front struct {
	*httptest.Server
	cert issued

	mu   sync.Mutex
	seen []asked
	// instead answers a request, or returns false.
	instead func(w http.ResponseWriter, r *http.Request, body string) bool
}

type asked struct{ path, body, token string }

func newFront(t *testing.T, behind http.Handler) *front {
	t.Helper()
	f := &front{cert: issue(t, x509.Certificate{Subject: pkix.Name{CommonName: "front"},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, DNSNames: []string{"vc.example.test", "sessions.example.test", "vc_1.example.test", "session_s.example.test"}}, nil)}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f.mu.Lock()
		f.seen = append(f.seen, asked{r.URL.Path, string(body), r.Header.Get("Authorization")})
		instead := f.instead
		f.mu.Unlock()
		if instead != nil && instead(w, r, string(body)) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		behind.ServeHTTP(w, r)
	}))
	f.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{f.cert.cert.Raw}, PrivateKey: f.cert.key}}}
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *front) answer(instead func(w http.ResponseWriter, r *http.Request, body string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead = instead
}

// requests returns the requests to paths that begin so and have a text in their
// body.
func (f *front) requests(path, body string) []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []asked
	for _, a := range f.seen {
		if strings.HasPrefix(a.path, path) && strings.Contains(a.body, body) {
			found = append(found, a)
		}
	}
	return found
}

// config is how a vCenter behind the front is reached.
func (f *front) config(t *testing.T) config.VCenter {
	t.Helper()
	port, err := strconv.Atoi(mustURL(t, f.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	return config.VCenter{Name: "east", Server: "127.0.0.1", Port: port, CA: f.cert.pem(), RoundTrips: 3, IPFamilies: []string{"ipv4"}}
}

// hang answers nothing to paths that begin so.
func hang(paths ...string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		for _, p := range paths {
			if strings.HasPrefix(r.URL.Path, p) {
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			}
		}
		return false
	}
}

// userCertificate makes a certificate to log in with and its key.
func userCertificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
}

// byCertificate are the credentials of the configuration that holds the two.
func byCertificate(t *testing.T, cfg *config.VCenter) Credentials {
	t.Helper()
	user, key := userCertificate(t, "vzones-solution-user")
	cfg.User, cfg.Password = user, config.NewPassword(key)
	creds, err := FromFile(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

// counted counts the calls and logins that an Observer is told of.
type counted struct {
	mu     sync.Mutex
	calls  map[string]int
	logins []error
}

func (c *counted) Requested(_, call string, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[call]++
}

func (c *counted) LoggedIn(_ string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins = append(c.logins, err)
}

func (*counted) WatchStarted(string) {}

func (c *counted) of(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[call]
}

// observing are calls whose Observer counts.
func observing(timeout time.Duration) (*calls, *counted) {
	c, n := callsWithin(timeout, 3), new(counted)
	c.observer = n
	return c, n
}

// eastBehindFront simulates two vCenters, the first of them behind a front.
func eastBehindFront(t *testing.T) (*fleet.Fleet, *front, config.VCenter) {
	t.Helper()
	sim, cfgs := simulate(t, bareEast)
	f := newFront(t, sim.VCenters()[0])
	cfg := f.config(t)
	cfg.User, cfg.Password = cfgs[0].User, cfgs[0].Password
	return sim, f, cfg
}

const bareEast = `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east}
    clusters: [{name: c1, tags: {zone: a}, hosts: 1}]
    vms: [{name: n1, cluster: c1}]
`

// follow runs a Fleet of one vCenter.
func follow(t *testing.T, sim *fleet.Fleet, cfg config.VCenter, source CredentialSource, opts Options) *world {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	w := &world{T: t, ctx: ctx, sim: sim, cfgs: []config.VCenter{cfg}, fleet: NewFleet([]config.VCenter{cfg}, source, opts)}
	w.changed = w.fleet.Subscribe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.fleet.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	w.stop = func() { cancel(); <-done }
	t.Cleanup(w.stop)
	return w
}

func ending(t *testing.T, s *reader) {
	t.Helper()
	if err := s.logout(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("logging out: %v", err)
	}
}
