package session_test

import (
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// A hostileAnswer is a call of a client with the answer of a hostile server.
type hostileAnswer struct {
	// path is a prefix of the request's path, body a part of its body.
	path, body string
	// byCertificate and byManager replace the login by password.
	byCertificate, byManager bool
	// opens reports whether the session is opened despite the answer.
	opens bool
	// An endless answer consists of begin and repeated filler, by default an Envelope and spaces.
	begin, filler string
	// call is made after a successful login.
	call func(*testing.T, *session.Session) error
}

func hostileAnswers() map[string]hostileAnswer {
	tags := func(t *testing.T, s *session.Session) error { return readCategories(t.Context(), s) }
	return map[string]hostileAnswer{
		"before the login": {path: "/sdk", body: "RetrieveServiceContent"},
		"the login":        {path: "/sdk", body: "<Login "},
		"a SOAP call": {path: "/sdk", body: "CurrentTime", opens: true, call: func(t *testing.T, s *session.Session) error {
			_, err := methods.GetCurrentTime(t.Context(), s.Client())
			return err
		}},
		"a page of objects": {path: "/sdk", body: "RetrievePropertiesEx", opens: true, begin: "<RetrievePropertiesExResponse><returnval>", filler: "<objects/>",
			call: func(t *testing.T, s *session.Session) error {
				_, err := methods.RetrievePropertiesEx(t.Context(), s.Client(), &types.RetrievePropertiesEx{This: s.Client().ServiceContent.PropertyCollector})
				return err
			}},
		"the login to tagging": {path: "/api/session", opens: true, call: tags},
		"a call of tagging":    {path: "/api/cis/tagging", opens: true, call: tags},
		"the lookup service":   {path: vcentertest.LookupPath, byCertificate: true, opens: true},
		"the token service":    {path: vcentertest.STSPath, byCertificate: true},
		"the session manager":  {path: "/session", byManager: true},
	}
}

// play answers one call like a hostile server and returns its error.
func (c *hostileAnswer) play(t *testing.T, timeout time.Duration, answer func(http.ResponseWriter, *http.Request)) error {
	t.Helper()
	var f *vcentertest.Front
	var cfg config.VCenter
	if c.byCertificate {
		f, cfg = vcentertest.WithTokens(t)
	} else {
		_, f, cfg = vcentertest.EastBehindFront(t)
	}
	creds := credentials.Credentials{User: cfg.User, Password: cfg.Password}
	if c.byCertificate {
		creds = vcentertest.CertificateCredentials(t, &cfg)
	}
	if c.byManager {
		f, cfg = vcentertest.SessionManager(t, cfg)
		creds = vcentertest.SharedCredentials(f)
	}
	cfg.Insecure = !c.byManager
	f.Answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.HasPrefix(r.URL.Path, c.path) || !strings.Contains(body, c.body) {
			return false
		}
		answer(w, r)
		return true
	})
	s, err := open(t, &cfg, creds, timeout)
	if (err == nil) != c.opens {
		t.Fatalf("opened: %v", err)
	}
	if err != nil {
		return err
	}
	defer closing(t, s)
	if c.call == nil {
		return nil
	}
	return c.call(t, s)
}

// TestRedirectsAreNotFollowed checks that passwords, tokens and session IDs stay with the server, and that answers of
// other servers are ignored.
func TestRedirectsAreNotFollowed(t *testing.T) {
	requests := make(chan string, 100)
	listen := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.URL.Path })
	plain := httptest.NewServer(listen)
	defer plain.Close()
	encrypted := httptest.NewTLSServer(listen)
	defer encrypted.Close()
	for name, c := range hostileAnswers() {
		for _, to := range []struct {
			status int
			url    string
		}{{http.StatusFound, plain.URL}, {http.StatusTemporaryRedirect, encrypted.URL}, {http.StatusPermanentRedirect, ""}} {
			t.Run(name+" to "+strings.Split(to.url+":itself", ":")[0], func(t *testing.T) {
				at := to.url
				err := c.play(t, 30*time.Second, func(w http.ResponseWriter, r *http.Request) {
					if at == "" {
						at = "https://" + r.Host
					}
					if r.URL.Path == "/elsewhere" {
						requests <- r.URL.Path
					}
					w.Header().Set("Location", strings.Replace(at, "://", "://made-up-user:made-up@", 1)+"/elsewhere?made-up-query")
					w.WriteHeader(to.status)
				})
				if c.opens && c.call == nil {
					if err != nil {
						t.Error(err)
					}
				} else if err == nil || !strings.Contains(err.Error(), "redirects to "+at+" ") || strings.Contains(err.Error(), "made-up") {
					t.Errorf("after a redirection: error %v, want one with %q and no user, password or query", err, "redirects to "+at)
				}
				for len(requests) > 0 {
					t.Errorf("the request went to %s%s", to.url, <-requests)
				}
			})
		}
	}
}

// TestSilence checks that an unanswered call takes its deadline. If the lookup service does not answer, the vCenter's own
// token service is used.
func TestSilence(t *testing.T) {
	const timeout = 15 * time.Second
	for name, c := range hostileAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			err := c.play(t, timeout, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			if took := time.Since(began); took < timeout || took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if fails := !c.opens || c.call != nil; fails != (err != nil) || fails && !strings.Contains(err.Error(), "no answer within 15s") {
				t.Errorf("a server that hangs: error %v, want one with \"no answer within 15s\": %t", err, fails)
			}
		})
	}
}

// TestAnswersAreBounded checks the limits after decompression for every call.
func TestAnswersAreBounded(t *testing.T) {
	bomb := func(out io.Writer, begin, filler string) {
		_, err := io.WriteString(out, begin)
		filler = strings.Repeat(filler, 1<<20/len(filler))
		for range 16 {
			if err == nil {
				_, err = io.WriteString(out, filler)
			}
		}
	}
	const xml, json = `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`, `["`
	for name, c := range hostileAnswers() {
		for _, encoding := range []string{"gzip", ""} {
			if encoding == "" && c.call == nil {
				// This case takes long.
				continue
			}
			t.Run(name+" "+encoding, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := c.play(t, 30*time.Second, func(w http.ResponseWriter, r *http.Request) {
					begin := xml + c.begin
					if strings.HasPrefix(r.URL.Path, "/api") {
						begin = json
					}
					if w.Header().Set("Content-Encoding", encoding); encoding == "" {
						bomb(w, begin, cmp.Or(c.filler, " "))
						return
					}
					z := gzip.NewWriter(w)
					bomb(z, begin, cmp.Or(c.filler, " "))
					_ = z.Close()
				})
				runtime.ReadMemStats(&after)
				if c.opens && c.call == nil {
					if err != nil {
						t.Error(err)
					}
				} else if !errors.Is(err, session.LargeAnswer) && !c.byManager {
					t.Errorf("an answer that unpacks to gigabytes: error %v, want LargeAnswer", err)
				}
				// A buffer that doubles is allocated again each time.
				if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 && c.filler == "" || n > 400 {
					t.Errorf("%d MiB were allocated", n)
				}
			})
		}
	}
}

// TestErrorsAreOneLine checks that errors are one line of limited length, because they go into logs, Events and
// terminals.
func TestErrorsAreOneLine(t *testing.T) {
	hostile := strings.Repeat("made-up&#10;I1122 00:00:00.000000 1 fake.go:1] \u202e&#13;&#9;", 30_000)
	fault := `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Fault><faultcode>` + hostile + `</faultcode><faultstring>` + hostile + `</faultstring></Fault></Body></Envelope>`
	for name, c := range hostileAnswers() {
		for kind, body := range map[string]string{"a fault": fault, "no XML": "<" + hostile, "nothing": ""} {
			t.Run(name+" with "+kind, func(t *testing.T) {
				err := c.play(t, 30*time.Second, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/xml")
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = io.WriteString(w, body)
				})
				if c.opens && c.call == nil {
					return
				}
				if err == nil {
					t.Fatal("no error")
				}
				if text := err.Error(); len(text) > 2<<10 || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
					t.Errorf("the error has %d bytes and begins with %.300q", len(text), text)
				}
			})
		}
	}
}
