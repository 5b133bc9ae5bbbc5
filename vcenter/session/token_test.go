package session_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "github.com/vmware/govmomi/lookup/simulator"

	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

func TestLoginByCertificate(t *testing.T) {
	f, cfg := vcentertest.WithTokens(t)
	creds := vcentertest.CertificateCredentials(t, &cfg)
	e, n := endpoint(&cfg, 30*time.Second)
	s, err := session.Open(t.Context(), e, creds)
	if err != nil {
		t.Fatal(err)
	}
	if err := readCategories(t.Context(), s); err != nil {
		t.Errorf("tags: %v", err)
	}
	closing(t, s)
	for call, want := range map[string]int{"RetrieveServiceContent": 1, "token service: find": 1, "service versions": 1, "token service: get token": 2, "LoginByToken": 1,
		"tagging: log in": 1, "Login": 0} {
		if got := n.Count(call); got != want {
			t.Errorf("%d calls of %s, want %d", got, call, want)
		}
	}
	if got := n.Logins(); len(got) != 2 || got[0] != nil || got[1] != nil {
		t.Errorf("logins: %v", got)
	}
	if got := f.Requests("/rest/com/vmware/cis/session", ""); len(got) == 0 || !strings.HasPrefix(got[0].Authorization, "SIGN ") || !strings.Contains(got[0].Authorization, `signature_alg="RSA-SHA256"`) {
		t.Errorf("the tagging API was not logged in to by a signed token: %+v", got)
	}
	if asked := f.Requests(vcentertest.STSPath+"/vsphere.local", ""); len(asked) != 2 {
		t.Fatalf("%d requests to the token service's own address", len(asked))
	}
	signed := f.Requests("/sdk", "LoginByToken")
	if len(signed) != 1 || !strings.Contains(signed[0].Body, "Assertion") || !strings.Contains(signed[0].Body, "SignatureValue") {
		t.Errorf("logged in without a signed token: %+v", signed)
	}
	key := strings.Split(creds.Key.Reveal(), "\n")[20]
	if got := f.Requests("/", key); len(got) != 0 {
		t.Errorf("the key was sent: %v", got)
	}
}

// TestTokenErrors checks that each error contains the server and the user, and that only a rejected certificate is a
// rejection.
func TestTokenErrors(t *testing.T) {
	own := func(path string, f func(http.ResponseWriter) bool) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ string) bool {
			return strings.HasPrefix(r.URL.Path, path) && f(w)
		}
	}
	respond := func(text string) func(http.ResponseWriter, *http.Request, string) bool {
		return own(vcentertest.LookupPath, func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`+text+`</Body></Envelope>`)
			return true
		})
	}
	service := func(url string) func(http.ResponseWriter, *http.Request, string) bool {
		content := respond(`<RetrieveServiceContentResponse xmlns="urn:lookup"><returnval><lookupService type="L">l</lookupService><serviceRegistration type="R">r</serviceRegistration><deploymentInformationService type="D">d</deploymentInformationService><l10n type="L">l</l10n></returnval></RetrieveServiceContentResponse>`)
		list := respond(`<ListResponse xmlns="urn:lookup"><returnval><serviceVersion>2</serviceVersion><serviceEndpoints><url>` + url + `</url></serviceEndpoints></returnval></ListResponse>`)
		return func(w http.ResponseWriter, r *http.Request, body string) bool {
			if strings.Contains(body, "<List ") {
				return list(w, r, body)
			}
			return content(w, r, body)
		}
	}
	stranger := vcentertest.NewFront(t, http.NotFoundHandler())
	for name, c := range map[string]struct {
		instead  func(http.ResponseWriter, *http.Request, string) bool
		rejected bool
		want     string // empty for a login
	}{
		"certificate refused": {own(vcentertest.STSPath, func(w http.ResponseWriter) bool {
			return vcentertest.STSFault(w, "FailedAuthentication", "Invalid credentials")
		}), true, "the token service rejects the certificate"},
		"clocks differ": {own(vcentertest.STSPath, func(w http.ResponseWriter) bool {
			return vcentertest.STSFault(w, "InvalidTimeRange", "The token is not yet valid")
		}), false, "The token is not yet valid"},
		"no token service": {own(vcentertest.STSPath, func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusNotFound); return true }), false, "404 Not Found"},
		"token refused": {func(w http.ResponseWriter, _ *http.Request, body string) bool {
			return strings.Contains(body, "LoginByToken") && vcentertest.InvalidLogin(w)
		}, true, "the certificate is rejected"},
		"no versions":                   {own("/sdk/vimServiceVersions.xml", func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusForbidden); return true }), false, ""},
		"no lookup service":             {own(vcentertest.LookupPath, func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusNotFound); return true }), false, ""},
		"lookup knows nothing":          {respond(`<RetrieveServiceContentResponse xmlns="urn:lookup"/>`), false, "finding the token service: the vCenter's answer to token service: find cannot be used: panic: "},
		"lookup tells no URL":           {service("https://%zz/"), false, "finding the token service: the vCenter's answer to token service: find cannot be used: panic: "},
		"a token service without TLS":   {service("http://u:made-up@127.0.0.1/sts"), false, "the token service is at http://127.0.0.1/sts, where tokens would be sent unencrypted"},
		"a token service nobody trusts": {service(stranger.URL + "/sts"), false, "the certificate of 127.0.0.1 is not trusted: it is signed by an unknown CA"},
	} {
		t.Run(name, func(t *testing.T) {
			f, cfg := vcentertest.WithTokens(t)
			f.Answer(c.instead)
			creds := vcentertest.CertificateCredentials(t, &cfg)
			s, err := open(t, &cfg, creds, 30*time.Second)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				closing(t, s)
				return
			}
			prefix := "logging in to " + strings.TrimPrefix(f.URL, "https://") + ` as certificate "CN=vzones-solution-user": `
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "made-up") {
				t.Fatalf("%v\nwant %s… %s", err, prefix, c.want)
			}
			if errors.Is(err, session.ErrRejected) != c.rejected {
				t.Errorf("rejected is %v: %v", !c.rejected, err)
			}
			if n := len(stranger.Requests("/", "")); n != 0 {
				t.Errorf("%d requests to a server that is not trusted", n)
			}
		})
	}
}

func TestCertificateInTheTaggingAPI(t *testing.T) {
	for name, c := range map[string]struct {
		instead  func(http.ResponseWriter, *http.Request) bool
		rejected bool
		want     string
	}{
		"refused": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/rest/com/vmware/cis/session" {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}, true, "the certificate that opened the SOAP session is rejected"},
		"no further token": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == vcentertest.STSPath+"/vsphere.local" && vcentertest.STSFault(w, "FailedAuthentication", "Invalid credentials")
		}, true, "the token service rejects the certificate"},
		"broken": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/rest/com/vmware/cis/session" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			return false
		}, false, "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			f, cfg := vcentertest.WithTokens(t)
			creds := vcentertest.CertificateCredentials(t, &cfg)
			e, n := endpoint(&cfg, 30*time.Second)
			s, err := session.Open(t.Context(), e, creds)
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, s)
			f.Answer(func(w http.ResponseWriter, r *http.Request, _ string) bool { return c.instead(w, r) })
			err = readCategories(t.Context(), s)
			if err == nil || !strings.HasPrefix(err.Error(), "logging in to the tagging API of 127.0.0.1:") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("reading categories with a token: error %v, want a failed login to the tagging API with %q", err, c.want)
			}
			if errors.Is(err, session.ErrRejected) != c.rejected || len(n.Logins()) != 2 || n.Logins()[1] == nil {
				t.Errorf("rejected is %v, logins %v", !c.rejected, n.Logins())
			}
		})
	}
}

func TestLoginWithNothing(t *testing.T) {
	f, cfg := vcentertest.WithTokens(t)
	if _, err := open(t, &cfg, credentials.Credentials{}, time.Second); !errors.Is(err, credentials.ErrNone) || errors.Is(err, session.ErrRejected) {
		t.Errorf("login without credentials: error %v, want ErrNone", err)
	}
	if n := len(f.Requests("/", "")); n != 0 {
		t.Errorf("%d requests", n)
	}
}
