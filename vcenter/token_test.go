package vcenter

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/vmware/govmomi/lookup/simulator"
	"github.com/vmware/govmomi/simulator"
	stsim "github.com/vmware/govmomi/sts/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

const (
	lookupPath = "/lookupservice/sdk"
	stsPath    = "/sts/STSService"
)

// withTokens is govmomi's simulator with its lookup and token services, behind a
// front, and tell the address that they are called by.
func withTokens(t *testing.T) (*front, config.VCenter) {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.Machine, m.Datastore, m.Portgroup = 0, 0, 0, 0, 0
	t.Cleanup(m.Remove)
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	m.Service.RegisterEndpoints = true
	s := m.Service.NewServer()
	t.Cleanup(s.Close)
	inner := s.URL.Host
	f := newFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		if r.URL.Path == stsPath {
			r.URL.Path += "/vsphere.local" // a real one serves both
		}
		m.Service.ServeMux.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		told := bytes.ReplaceAll(rec.Body.Bytes(), []byte("http://"+inner), []byte("https://"+r.Host))
		_, _ = w.Write(told)
	}))
	return f, f.config(t)
}

// firstCategories asks the tagging API for something.
func firstCategories(ctx context.Context, s *reader) error {
	return s.Tagging().With(ctx, func(service tags.Service) error {
		_, err := service.Categories(ctx)
		return err
	})
}

func TestLoginByCertificate(t *testing.T) {
	f, cfg := withTokens(t)
	creds := byCertificate(t, &cfg)
	calls, n := observing(5 * time.Second)
	s, err := login(t.Context(), &cfg, creds, calls)
	if err != nil {
		t.Fatal(err)
	}
	if err := firstCategories(t.Context(), s); err != nil {
		t.Errorf("tags: %v", err)
	}
	ending(t, s)
	for call, want := range map[string]int{"RetrieveServiceContent": 1, "token service: find": 1, "token service: get token": 2, "LoginByToken": 1,
		"tagging: log in": 1, "Login": 0} {
		if got := n.of(call); got != want {
			t.Errorf("%d calls of %s, want %d", got, call, want)
		}
	}
	if len(n.logins) != 1 || n.logins[0] != nil {
		t.Errorf("logins to the tagging API: %v", n.logins)
	}
	if got := f.requests("/rest/com/vmware/cis/session", ""); len(got) == 0 || !strings.HasPrefix(got[0].token, "SIGN ") || !strings.Contains(got[0].token, `signature_alg="RSA-SHA256"`) {
		t.Errorf("the tagging API was not logged in to by a signed token: %+v", got)
	}
	asked := f.requests(stsPath+"/vsphere.local", "")
	if len(asked) != 2 {
		t.Fatalf("%d requests to the token service's own address", len(asked))
	}
	for _, a := range asked {
		signedBy(t, a.body, creds)
	}
	signed := f.requests("/sdk", "LoginByToken")
	if len(signed) != 1 || !strings.Contains(signed[0].body, "Assertion") || !strings.Contains(signed[0].body, "SignatureValue") {
		t.Errorf("logged in without a signed token: %+v", signed)
	}
	key := strings.Split(creds.Key.Reveal(), "\n")[20]
	if got := f.requests("/", key); len(got) != 0 {
		t.Errorf("the key was sent: %v", got)
	}
}

// signedBy checks the signature of a token request by its certificate's key,
// which the simulator does not.
func signedBy(t *testing.T, body string, creds Credentials) {
	t.Helper()
	block, _ := pem.Decode([]byte(creds.Certificate))
	if !strings.Contains(body, base64.StdEncoding.EncodeToString(block.Bytes)) {
		t.Error("the request does not hold the certificate")
	}
	info := regexp.MustCompile(`(?s)<ds:SignedInfo.*</ds:SignedInfo>`).FindString(body)
	value := regexp.MustCompile(`<ds:SignatureValue[^>]*>([^<]*)<`).FindStringSubmatch(body)
	if info == "" || value == nil {
		t.Fatalf("not signed: %s", body)
	}
	signature, err := base64.StdEncoding.DecodeString(value[1])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(info))
	public := leaf(t, []byte(creds.Certificate)).PublicKey.(*rsa.PublicKey)
	if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature); err != nil {
		t.Errorf("the signature is not the certificate's: %v", err)
	}
}

func stsFault(w http.ResponseWriter, code, text string) bool {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault xmlns:ns0="http://docs.oasis-open.org/ws-sx/ws-trust/200512/"><faultcode>ns0:`+
		code+`</faultcode><faultstring>`+text+`</faultstring></S:Fault></S:Body></S:Envelope>`)
	return true
}

func invalidLogin(w http.ResponseWriter) bool {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body><e:Fault><faultcode>ServerFaultCode</faultcode>`+
		`<faultstring>Cannot complete login</faultstring><detail><InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin"/></detail></e:Fault></e:Body></e:Envelope>`)
	return true
}

// TestTokenTrouble: each error names the server and who logs in, and only a
// refused certificate is a rejection.
func TestTokenTrouble(t *testing.T) {
	own := func(path string, f func(http.ResponseWriter) bool) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ string) bool {
			return strings.HasPrefix(r.URL.Path, path) && f(w)
		}
	}
	tell := func(text string) func(http.ResponseWriter, *http.Request, string) bool {
		return own(lookupPath, func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`+text+`</Body></Envelope>`)
			return true
		})
	}
	service := func(url string) func(http.ResponseWriter, *http.Request, string) bool {
		content := tell(`<RetrieveServiceContentResponse xmlns="urn:lookup"><returnval><lookupService type="L">l</lookupService><serviceRegistration type="R">r</serviceRegistration><deploymentInformationService type="D">d</deploymentInformationService><l10n type="L">l</l10n></returnval></RetrieveServiceContentResponse>`)
		list := tell(`<ListResponse xmlns="urn:lookup"><returnval><serviceVersion>2</serviceVersion><serviceEndpoints><url>` + url + `</url></serviceEndpoints></returnval></ListResponse>`)
		return func(w http.ResponseWriter, r *http.Request, body string) bool {
			if strings.Contains(body, "<List ") {
				return list(w, r, body)
			}
			return content(w, r, body)
		}
	}
	stranger := newFront(t, http.NotFoundHandler())
	for name, c := range map[string]struct {
		instead  func(http.ResponseWriter, *http.Request, string) bool
		rejected bool
		want     string // empty for a login
	}{
		"certificate refused": {own(stsPath, func(w http.ResponseWriter) bool { return stsFault(w, "FailedAuthentication", "Invalid credentials") }), true, "the token service rejects the certificate"},
		"clocks differ":       {own(stsPath, func(w http.ResponseWriter) bool { return stsFault(w, "InvalidTimeRange", "The token is not yet valid") }), false, "The token is not yet valid"},
		"no token service":    {own(stsPath, func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusNotFound); return true }), false, "404 Not Found"},
		"token refused": {func(w http.ResponseWriter, _ *http.Request, body string) bool {
			return strings.Contains(body, "LoginByToken") && invalidLogin(w)
		}, true, "the certificate is rejected"},
		"no lookup service":             {own(lookupPath, func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusNotFound); return true }), false, ""},
		"lookup knows nothing":          {tell(`<RetrieveServiceContentResponse xmlns="urn:lookup"/>`), false, "finding the token service: the lookup service's answer cannot be used"},
		"lookup tells no URL":           {service("https://%zz/"), false, "finding the token service: the lookup service's answer cannot be used"},
		"a token service without TLS":   {service("http://u:made-up@127.0.0.1/sts"), false, "the token service is at http://127.0.0.1/sts, where tokens can be read by others"},
		"a token service nobody trusts": {service(stranger.URL + "/sts"), false, "the certificate of 127.0.0.1 is not trusted: offered subject \"CN=front\""},
	} {
		t.Run(name, func(t *testing.T) {
			f, cfg := withTokens(t)
			f.answer(c.instead)
			creds := byCertificate(t, &cfg)
			s, err := login(t.Context(), &cfg, creds, callsWithin(5*time.Second, 3))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				ending(t, s)
				return
			}
			prefix := "logging in to " + strings.TrimPrefix(f.URL, "https://") + ` as certificate "CN=vzones-solution-user": `
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "made-up") {
				t.Fatalf("%v\nwant %s… %s", err, prefix, c.want)
			}
			if errors.Is(err, session.ErrRejected) != c.rejected {
				t.Errorf("rejected is %v: %v", !c.rejected, err)
			}
			if n := len(stranger.requests("/", "")); n != 0 {
				t.Errorf("%d requests to a server that is not trusted", n)
			}
		})
	}
}

// TestCertificateInTheTaggingAPI: what refuses it there is told as at the login.
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
		}, true, "the certificate is rejected"},
		"no further token": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == stsPath+"/vsphere.local" && stsFault(w, "FailedAuthentication", "Invalid credentials")
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
			f, cfg := withTokens(t)
			calls, n := observing(5 * time.Second)
			s, err := login(t.Context(), &cfg, byCertificate(t, &cfg), calls)
			if err != nil {
				t.Fatal(err)
			}
			defer ending(t, s)
			f.answer(func(w http.ResponseWriter, r *http.Request, _ string) bool { return c.instead(w, r) })
			err = firstCategories(t.Context(), s)
			if err == nil || !strings.HasPrefix(err.Error(), "logging in to the tagging API of 127.0.0.1:") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if errors.Is(err, session.ErrRejected) != c.rejected || len(n.logins) != 1 || n.logins[0] == nil {
				t.Errorf("rejected is %v, logins %v", !c.rejected, n.logins)
			}
		})
	}
}

func TestLoginWithNothing(t *testing.T) {
	f, cfg := withTokens(t)
	if _, err := login(t.Context(), &cfg, Credentials{}, callsWithin(time.Second, 1)); !errors.Is(err, credentials.ErrNone) || errors.Is(err, session.ErrRejected) {
		t.Errorf("%v", err)
	}
	if n := len(f.requests("/", "")); n != 0 {
		t.Errorf("%d requests", n)
	}
	_, err := login(t.Context(), &cfg, Credentials{Certificate: "none"}, callsWithin(time.Second, 1))
	if err == nil || !strings.Contains(err.Error(), "does not begin with a CERTIFICATE block") {
		t.Errorf("%v", err)
	}
}

// TestSilentTokenService: what does not answer costs its deadline. Without an
// answer of the lookup service the vCenter's own token service is asked.
func TestSilentTokenService(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for name, c := range map[string]struct {
		path string
		want string
	}{
		"lookup service": {lookupPath, ""},
		"token service":  {stsPath, "no answer within 300ms"},
		"login":          {"/sdk", "no answer within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			f, cfg := withTokens(t)
			f.answer(hang(c.path))
			began := time.Now()
			s, err := login(t.Context(), &cfg, byCertificate(t, &cfg), callsWithin(timeout, 3))
			if took := time.Since(began); took < timeout || took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				ending(t, s)
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// certified is a fleet whose first vCenter is behind a front that has a token
// service, and takes a certificate.
func certified(t *testing.T, change func(*front)) *world {
	t.Helper()
	sim, f, cfg := eastBehindFront(t)
	_, tokens := stsim.New(nil, []types.BaseOptionValue{&types.OptionValue{Key: "config.vpxd.sso.sts.uri", Value: f.URL + stsPath}})
	f.answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
		if r.URL.Path == stsPath {
			r.Body = io.NopCloser(strings.NewReader(body))
			tokens.ServeHTTP(w, r)
			return true
		}
		return false
	})
	if change != nil {
		change(f)
	}
	byCertificate(t, &cfg)
	return follow(t, sim, cfg, FromFile, quick)
}

func TestFleetByCertificate(t *testing.T) {
	w := certified(t, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	w.stop()
	if n := w.sim.VCenters()[0].Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestRejectedCertificateIsTriedOnce as a password is.
func TestRejectedCertificateIsTriedOnce(t *testing.T) {
	var f *front
	w := certified(t, func(x *front) {
		f = x
		f.answer(func(w http.ResponseWriter, r *http.Request, _ string) bool {
			return r.URL.Path == stsPath && stsFault(w, "FailedAuthentication", "Invalid credentials")
		})
	})
	for range 4 {
		w.until("trouble", func(states []inventory.State) bool { return states[0].Trouble != nil })
		<-w.changed
	}
	if n := len(f.requests(stsPath, "")); n != 1 {
		t.Errorf("the certificate was shown %d times", n)
	}
	if err := w.fleet.States()[0].Trouble; !errors.Is(err, session.ErrRejected) {
		t.Errorf("%v", err)
	}
}
