package session_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestSessionManagerErrors checks that each error contains the cause and no secret, and that only a rejected token is
// not sent again.
func TestSessionManagerErrors(t *testing.T) {
	_, _, cfg := vcentertest.EastBehindFront(t)
	manager, cfg := vcentertest.SessionManager(t, cfg)
	local := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent over http", r.Method, r.URL) }))
	t.Cleanup(local.Close)
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	const noTicket = `the session manager's answer is not a JSON object whose "token" is a session ticket`
	for name, c := range map[string]struct {
		instead  func(http.ResponseWriter, *http.Request, string) bool
		change   func(*credentials.Credentials, *config.VCenter)
		rejected bool
		want     string
	}{
		"a wrong token": {nil, func(c *credentials.Credentials, _ *config.VCenter) {
			c.SessionManagerToken = config.NewPassword("made-up-other")
		}, true, "the session manager rejects the token"},
		"forbidden":           {answer(http.StatusForbidden, ""), nil, true, "the session manager rejects the token (403 Forbidden)"},
		"broken":              {answer(http.StatusInternalServerError, "made-up-token"), nil, false, "the session manager answers 500 Internal Server Error"},
		"no JSON":             {answer(http.StatusOK, "made-up-ticket"), nil, false, noTicket},
		"no ticket":           {answer(http.StatusOK, `{"token":""}`), nil, false, noTicket},
		"too long":            {answer(http.StatusOK, `{"token":"`+strings.Repeat("x", 64<<10)+`"}`), nil, false, noTicket},
		"a ticket of another": {answer(http.StatusOK, `{"token":"made-up-ticket"}`), nil, true, "cloning the session: vCenter rejects the ticket"},
		"an untrusted server": {nil, func(_ *credentials.Credentials, c *config.VCenter) { c.CA = c.CA[:len(c.CA)-len(manager.Cert.PEM())] }, false, `the certificate of the session manager 127.0.0.1 of vCenter "east" is not trusted, so the token is not sent: it is signed by an unknown CA`},
		"an answer cut off": {func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"token":"made-up-ticket`)
			return true
		}, nil, false, "reading the session manager's answer: unexpected EOF"},
		"no URL": {nil, func(c *credentials.Credentials, _ *config.VCenter) {
			c.SessionManagerURL = "https://sm/%zz?made-up-query"
		}, false, "the session manager's address is not a valid URL"},
		"http": {nil, func(c *credentials.Credentials, _ *config.VCenter) {
			c.SessionManagerURL = "http://192.0.2.1/made-up-path"
		}, false, "the session manager's address is an http URL"},
		"http on this host": {nil, func(c *credentials.Credentials, _ *config.VCenter) {
			c.SessionManagerURL = local.URL + "/made-up-path"
		}, false, "the session manager's address is an http URL"},
		"nobody listens there": {nil, func(c *credentials.Credentials, _ *config.VCenter) {
			c.SessionManagerURL = "https://127.0.0.1:1/s?made-up-query"
		}, false, "connection refused"},
		"the tunnel falls down": {func(http.ResponseWriter, *http.Request, string) bool { panic(http.ErrAbortHandler) }, nil, false, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			manager.Answer(c.instead)
			creds, cfg := vcentertest.SharedCredentials(manager), cfg
			if c.change != nil {
				c.change(&creds, &cfg)
			}
			s, err := open(t, &cfg, creds, 30*time.Second)
			if err == nil {
				closing(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), " as a session of ") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v\nwant %s", err, c.want)
			}
			for _, secret := range []string{"made-up-token", "made-up-query", "made-up-ticket", "made-up-other"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s is in %v", secret, err)
				}
			}
			if errors.Is(err, session.ErrRejected) != c.rejected {
				t.Errorf("rejected is %v: %v", !c.rejected, err)
			}
		})
	}
}

// TestSessionManagerIsVerified checks that insecureFlag and thumbprint do not apply to a session manager, which
// receives a token.
func TestSessionManagerIsVerified(t *testing.T) {
	_, vc, cfg := vcentertest.EastBehindFront(t)
	manager, both := vcentertest.SessionManager(t, cfg)
	own := manager.Cert.Cert
	cfg.TrustAt = "vsphere.yaml:9: vcenter.east.caFile"
	const rejected = "the certificate of the session manager 127.0.0.1 of vCenter \"east\" is not trusted, so the token is not sent: it is signed by an unknown CA: "
	const neither = "CAs; insecureFlag and thumbprint do not apply to it ("
	for name, c := range map[string]struct {
		change func(*config.VCenter)
		want   string // empty for a login
	}{
		"insecureFlag":                {func(c *config.VCenter) { c.CA, c.Insecure = nil, true }, neither},
		"insecureFlag, another CA":    {func(c *config.VCenter) { c.Insecure = true }, neither},
		"insecureFlag, its CA":        {func(c *config.VCenter) { c.CA, c.Insecure = manager.Cert.PEM(), true }, ""},
		"its fingerprint":             {func(c *config.VCenter) { c.Thumbprint = soap.ThumbprintSHA256(own) }, neither},
		"insecureFlag and thumbprint": {func(c *config.VCenter) { c.Insecure, c.Thumbprint = true, soap.ThumbprintSHA1(own) }, neither},
		"another CA":                  {func(*config.VCenter) {}, "CAs (vsphere.yaml:9"},
		"its CA":                      {func(c *config.VCenter) { c.CA = both.CA }, ""},
		"its CA and a thumbprint":     {func(c *config.VCenter) { c.CA, c.Thumbprint = manager.Cert.PEM(), soap.ThumbprintSHA256(vc.Cert.Cert) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(manager.Requests("/", ""))
			cfg := cfg
			c.change(&cfg)
			s, err := open(t, &cfg, vcentertest.SharedCredentials(manager), 30*time.Second)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				closing(t, s)
				return
			}
			if n := len(manager.Requests("/", "")) - before; n != 0 {
				t.Errorf("%d requests with the token", n)
			}
			if err == nil {
				closing(t, s)
				t.Fatal("the session manager is trusted")
			}
			var untrusted *session.UntrustedError
			if !strings.Contains(err.Error(), rejected) || !strings.Contains(err.Error(), c.want) || !errors.As(err, &untrusted) || errors.Is(err, session.ErrRejected) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}
