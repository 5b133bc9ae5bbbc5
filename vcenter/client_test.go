package vcenter

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"

	"vzones/config"
	"vzones/vcenter/faults"
)

const bare = `
vcenters:
- name: east
- name: west
`

// tryLogin logs in to a simulated vCenter and out again.
func tryLogin(t *testing.T, cfg *config.VCenter) error {
	t.Helper()
	s, err := login(t.Context(), cfg, Credentials{User: cfg.User, Password: cfg.Password}, callsWithin(5*time.Second, 3))
	if err != nil {
		return err
	}
	if err := s.logout(t.Context()); err != nil {
		t.Errorf("logging out: %v", err)
	}
	return nil
}

func leaf(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTrust(t *testing.T) {
	sim, cfgs := simulate(t, bare)
	east, west := sim.VCenters()[0], sim.VCenters()[1]
	own, others := leaf(t, east.Certificate()), leaf(t, west.Certificate())

	for _, c := range []struct {
		name   string
		trust  func(*config.VCenter)
		refuse string // what the error says, empty for trust
	}{
		{"its CA", func(c *config.VCenter) {}, ""},
		{"its CA among others", func(c *config.VCenter) { c.CA = append(west.Certificate(), east.Certificate()...) }, ""},
		{"another CA", func(c *config.VCenter) { c.CA = west.Certificate() }, "certificate"},
		{"the system's CAs", func(c *config.VCenter) { c.CA = nil }, "certificate"},
		{"insecure", func(c *config.VCenter) { c.CA, c.Insecure = nil, true }, ""},
		{"insecure, another CA", func(c *config.VCenter) { c.CA, c.Insecure = west.Certificate(), true }, ""},
		{"SHA-1 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA1(own) }, ""},
		{"SHA-256 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA256(own) }, ""},
		{"thumbprint, another CA", func(c *config.VCenter) { c.CA, c.Thumbprint = west.Certificate(), soap.ThumbprintSHA256(own) }, ""},
		{"another thumbprint, its CA", func(c *config.VCenter) { c.Thumbprint = soap.ThumbprintSHA256(others) }, ""},
		{"another SHA-1 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA1(others) }, soap.ThumbprintSHA256(own)},
		{"another SHA-256 thumbprint", func(c *config.VCenter) { c.CA, c.Thumbprint = nil, soap.ThumbprintSHA256(others) }, soap.ThumbprintSHA256(own)},
		{"another thumbprint, another CA", func(c *config.VCenter) { c.CA, c.Thumbprint = west.Certificate(), soap.ThumbprintSHA256(others) }, soap.ThumbprintSHA256(own)},
	} {
		t.Run(c.name, func(t *testing.T) {
			east.ResetRequests()
			cfg := cfgs[0]
			c.trust(&cfg)
			err := tryLogin(t, &cfg)
			if c.refuse == "" {
				if err != nil || east.Requests()["Login"] != 1 {
					t.Fatalf("%v, requests %v", err, east.Requests())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.refuse) || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("the error does not say %q: %v", c.refuse, err)
			}
			var verification *tls.CertificateVerificationError
			var authority x509.UnknownAuthorityError
			if !errors.As(err, &verification) && !errors.As(err, &authority) {
				t.Errorf("not for the certificate: %v", err)
			}
			if n := east.Total(); n != 0 {
				t.Errorf("%d requests, credentials perhaps among them: %v", n, east.Requests())
			}
			if strings.Contains(err.Error(), cfg.Password.Reveal()) {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}

// certificate makes a self-signed one for an address and a name.
func certificate(t *testing.T, ip net.IP, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestTrustIsForTheAddress: a certificate that the CA vouches for, but for
// another server, is refused with a thumbprint configured as it is without. An
// IP address is no server name in TLS, so that it has to be compared by hand.
func TestTrustIsForTheAddress(t *testing.T) {
	cert, ca := certificate(t, net.ParseIP("192.0.2.1"), "elsewhere.example.com")
	var requests atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	port, err := strconv.Atoi(mustURL(t, srv.URL).Port())
	if err != nil {
		t.Fatal(err)
	}
	for name, thumbprint := range map[string]string{"no thumbprint": "", "another thumbprint": strings.TrimSuffix(strings.Repeat("AB:", 32), ":")} {
		for _, server := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+", "+server, func(t *testing.T) {
				err := tryLogin(t, &config.VCenter{Name: "east", Server: server, Port: port, CA: ca, Thumbprint: thumbprint, User: "me"})
				var host x509.HostnameError
				if !errors.As(err, &host) {
					t.Errorf("not refused for the address: %v", err)
				}
			})
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCAWithoutCertificate(t *testing.T) {
	for file, want := range map[string]string{"/etc/ca.pem": "/etc/ca.pem", "": "caData"} {
		_, err := newTrust(&config.VCenter{CAFile: file, CA: []byte("no PEM")})
		if err == nil || err.Error() != want+" holds no PEM certificate" {
			t.Errorf("%v", err)
		}
	}
}

func TestServerIsAnAddress(t *testing.T) {
	for server, want := range map[string]string{
		"vc.example.com": "https://vc.example.com:8443/sdk",
		"192.0.2.1":      "https://192.0.2.1:8443/sdk",
		"2001:db8::1":    "https://[2001:db8::1]:8443/sdk",
	} {
		c := clientOf(t, &config.VCenter{Server: server, Port: 8443})
		if c.URL().String() != want {
			t.Errorf("%s: %v, want %s", server, c.URL(), want)
		}
	}
}

// TestSilentServer: a server that accepts connections and never says a word
// costs the timeout and nothing more.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c // and kept open
		}
	}()
	defer func() {
		_ = l.Close()
		<-done
		for range len(accepted) {
			_ = (<-accepted).Close()
		}
	}()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	n, _ := strconv.Atoi(port)
	cfg := &config.VCenter{Name: "east", Server: host, Port: n, Insecure: true, RoundTrips: 3}
	before := goleak.IgnoreCurrent()

	const timeout = 100 * time.Millisecond
	started := time.Now()
	_, err = login(t.Context(), cfg, Credentials{User: "me"}, callsWithin(timeout, 3))
	// 10 s say that it ended for its deadline and not for another's.
	if took := time.Since(started); err == nil || took < timeout || took > 10*time.Second {
		t.Errorf("it took %v: %v", took, err)
	}
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("the error does not name the server: %v", err)
	}
	if len(accepted) == 0 {
		t.Error("nobody called")
	}
	goleak.VerifyNone(t, before)
}

// TestCallsEndWithTheirContext: stopping the daemon waits for no vCenter.
func TestCallsEndWithTheirContext(t *testing.T) {
	sim, cfgs := simulate(t, bare)
	s, err := login(t.Context(), &cfgs[0], Credentials{User: cfgs[0].User, Password: cfgs[0].Password}, callsWithin(time.Hour, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer s.soap.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := methods.GetCurrentTime(ctx, s.vim); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := sim.VCenters()[0].Requests()["CurrentTime"]; n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestMethod(t *testing.T) {
	for want, req := range map[string]soap.HasFault{
		"RetrievePropertiesEx": &methods.RetrievePropertiesExBody{},
		"Login":                &methods.LoginBody{},
		"FindAllByUuid":        &methods.FindAllByUuidBody{},
		"CloneVM_Task":         &methods.CloneVM_TaskBody{},
		"Body":                 &Body{},
		"odd":                  &odd{},
	} {
		if got := method(req); got != want {
			t.Errorf("%T is %s, want %s", req, got, want)
		}
	}
}

// Body and odd are requests that govmomi does not name as it does its own.
type (
	Body struct{}
	odd  struct{}
)

func (*Body) Fault() *soap.Fault { return nil }
func (*odd) Fault() *soap.Fault  { return nil }

func soapFault(f types.AnyType) error {
	var fault soap.Fault
	fault.Detail.Fault = f
	return soap.WrapSoapFault(&fault)
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":            {nil, false},
		"a SOAP fault":        {soapFault(types.NotAuthenticated{}), true},
		"a VIM fault":         {soap.WrapVimFault(&types.NotAuthenticated{}), true},
		"wrapped":             {fmt.Errorf("reading: %w", soapFault(types.NotAuthenticated{})), true},
		"wrapped twice":       {fmt.Errorf("vCenter: %w", fmt.Errorf("reading: %w", soapFault(types.NotAuthenticated{}))), true},
		"another fault":       {fmt.Errorf("reading: %w", soapFault(types.NoPermission{})), false},
		"a rejected password": {soapFault(types.InvalidLogin{}), false},
		"text that looks so":  {errors.New("NotAuthenticated"), false},
	} {
		if got := faults.SessionLost(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCallsAreRepeated(t *testing.T) {
	broken := &net.OpError{Op: "read", Net: "tcp", Err: temporary{}}
	for _, c := range []struct {
		name         string
		errs         []error
		tries, calls int
		ok           bool
	}{
		{"at once", nil, 3, 1, true},
		{"after the network broke", []error{broken, broken}, 3, 3, true},
		{"not for ever", []error{broken, broken, broken, broken}, 3, 3, false},
		{"once at least", []error{broken}, 0, 1, false},
		{"not a fault", []error{soapFault(types.NoPermission{})}, 3, 1, false},
		{"not what took too long", []error{context.DeadlineExceeded}, 3, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := &scripted{errs: c.errs}
			err := callsWithin(time.Minute, c.tries).roundTripper(next).RoundTrip(t.Context(), &methods.LoginBody{}, &methods.LoginBody{Res: &types.LoginResponse{}})
			if next.calls != c.calls || (err == nil) != c.ok {
				t.Errorf("%d calls, %v; want %d", next.calls, err, c.calls)
			}
		})
	}
}

type temporary struct{}

func (temporary) Error() string   { return "connection reset" }
func (temporary) Timeout() bool   { return false }
func (temporary) Temporary() bool { return true }

// scripted fails with one error after the other and then no more.
type scripted struct {
	errs  []error
	calls int
}

func (s *scripted) RoundTrip(ctx context.Context, _, _ soap.HasFault) error {
	s.calls++
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a call without a deadline")
	}
	if s.calls <= len(s.errs) {
		return &url.Error{Op: "Post", URL: "https://vc/sdk", Err: s.errs[s.calls-1]}
	}
	return nil
}

func callsWithin(timeout time.Duration, tries int) *calls {
	c := &calls{vcenter: "east", timeout: timeout, loginTimeout: timeout, attempts: newAttempts(LoginLimits{}), observer: unobserved{}, slots: make(chan struct{}, 8), guard: &guard{}, answered: new(atomic.Int64)}
	c.tries.Store(int32(tries))
	return c
}
