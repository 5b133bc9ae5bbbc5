package vcenter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

const (
	restSession = "vmware-api-session-id"
	bearer      = "Bearer made-up-token"
)

// tickets is a session manager that is logged in to a vCenter and shares its
// session.
func tickets(t *testing.T, cfg config.VCenter) (*front, config.VCenter) {
	t.Helper()
	admin, err := login(t.Context(), &cfg, Credentials{User: cfg.User, Password: cfg.Password}, callsWithin(5*time.Second, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.logout(context.WithoutCancel(t.Context())); err != nil {
			t.Logf("logging out: %v", err)
		}
	})
	f := newFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != bearer {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ticket, err := vim.NewManager(admin.vim).AcquireCloneTicket(r.Context())
		if faults.SessionLost(err) { // it looks after its session
			if err = vim.NewManager(admin.vim).Login(r.Context(), admin.userinfo()); err == nil {
				ticket, err = vim.NewManager(admin.vim).AcquireCloneTicket(r.Context())
			}
		}
		if err != nil {
			t.Errorf("no ticket: %v", err)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": ticket})
	}))
	cfg.CA = append(append([]byte{}, cfg.CA...), f.cert.pem()...)
	return f, cfg
}

func shared(f *front) Credentials {
	return Credentials{SessionManagerURL: f.URL + "/session?key=made-up-query", SessionManagerToken: config.NewPassword("made-up-token")}
}

// acceptClones has the tagging API behind a front know SOAP sessions, as that of a
// vCenter 8.0 U3 does: the simulator does not.
func acceptClones(f *front, behind http.Handler, user, password string) {
	var mu sync.Mutex
	known := map[string]string{}
	f.answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
		id := r.Header.Get(restSession)
		cookie, err := r.Cookie(soap.SessionCookieName)
		if id == "" || err != nil || cookie.Value != id {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if known[id] == "" {
			rec := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, "/rest/com/vmware/cis/session", nil)
			req.SetBasicAuth(user, password)
			behind.ServeHTTP(rec, req)
			var answer struct{ Value string }
			if json.Unmarshal(rec.Body.Bytes(), &answer) != nil {
				return false
			}
			known[id] = answer.Value
		}
		r.Header.Set(restSession, known[id])
		r.Body = io.NopCloser(strings.NewReader(body))
		behind.ServeHTTP(w, r)
		return true
	})
}

// TestFleetByClonedSession: machines and tags are read with one session, and when it
// ends the session manager is asked anew.
func TestFleetByClonedSession(t *testing.T) {
	sim, vc, cfg := eastBehindFront(t)
	east := sim.VCenters()[0]
	manager, cfg := tickets(t, cfg)
	acceptClones(vc, east, cfg.User, cfg.Password.Reveal())
	logins := east.Requests()["Login"]
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return shared(manager), nil
	}, quick)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	if n := east.Requests()["Login"] - logins; n != 0 {
		t.Errorf("%d logins with a password", n)
	}
	if n := len(manager.requests("/session", "")); n != 1 {
		t.Errorf("%d requests to the session manager", n)
	}
	east.EndSessions()
	before := time.Now()
	w.until("a newer snapshot of another session", func(states []inventory.State) bool {
		return len(manager.requests("/session", "")) == 2 && east.Requests()["CreatePropertyCollector"] == 2 && states[0].Trouble == nil && states[0].Snapshot.ReadAt.After(before) && w.zone(id) == "east/a"
	})
	sessions := east.SOAPSessions()
	w.stop()
	if n := east.SOAPSessions(); n != sessions-1 {
		t.Errorf("%d sessions are left of %d", n, sessions)
	}
	if n := len(vc.requests("/rest/com/vmware/cis/session", "")); n != 0 {
		t.Errorf("%d requests for or against a session of the tagging API", n)
	}
}

// TestTagsOfAnOlderVCenter: one whose tagging API does not know SOAP sessions is
// read without tags, and says why.
func TestTagsOfAnOlderVCenter(t *testing.T) {
	sim, vc, cfg := eastBehindFront(t)
	manager, cfg := tickets(t, cfg)
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return shared(manager), nil
	}, quick)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	want := "the tagging API of " + strings.TrimPrefix(vc.URL, "https://") + " does not know the session that was cloned, as a vCenter before 8.0 U3 does not"
	w.until("tags unknown", func([]inventory.State) bool { return strings.Contains(w.zone(id), want) })
	if err := w.fleet.States()[0].Trouble; err != nil {
		t.Errorf("trouble: %v", err)
	}
	if n := len(manager.requests("/session", "")); n != 1 {
		t.Errorf("%d requests to the session manager", n)
	}
}

// TestSessionManagerTrouble: each error says what is wrong and nothing secret, and
// only a rejected token is not shown again.
func TestSessionManagerTrouble(t *testing.T) {
	_, _, cfg := eastBehindFront(t)
	manager, cfg := tickets(t, cfg)
	elsewhere := newFront(t, http.NotFoundHandler())
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	redirect := func(to string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if strings.HasSuffix(r.URL.Path, "/there") {
				return false
			}
			http.Redirect(w, r, to, http.StatusFound)
			return true
		}
	}
	const noTicket = `the session manager's answer is no JSON object with a "token" that is the ticket of a session`
	for name, c := range map[string]struct {
		instead  func(http.ResponseWriter, *http.Request, string) bool
		change   func(*Credentials, *config.VCenter)
		rejected bool
		want     string // empty for a login
	}{
		"a wrong token":        {nil, func(c *Credentials, _ *config.VCenter) { c.SessionManagerToken = config.NewPassword("made-up-other") }, true, "the session manager rejects the token"},
		"forbidden":            {answer(http.StatusForbidden, ""), nil, true, "the session manager rejects the token (403 Forbidden)"},
		"broken":               {answer(http.StatusInternalServerError, "made-up-token"), nil, false, "the session manager answers 500 Internal Server Error"},
		"no JSON":              {answer(http.StatusOK, "made-up-ticket"), nil, false, noTicket},
		"no ticket":            {answer(http.StatusOK, `{"token":""}`), nil, false, noTicket},
		"too long":             {answer(http.StatusOK, `{"token":"`+strings.Repeat("x", maxTicket)+`"}`), nil, false, noTicket},
		"a ticket of another":  {answer(http.StatusOK, `{"token":"made-up-ticket"}`), nil, true, "cloning the session with the ticket that was given: vCenter rejects the ticket"},
		"redirected elsewhere": {redirect(elsewhere.URL), nil, false, "it redirects elsewhere, where the token is not sent"},
		"redirected to http":   {redirect("http://" + strings.TrimPrefix(manager.URL, "https://") + "/there"), nil, false, "it redirects elsewhere"},
		"redirected here":      {redirect("/there"), nil, false, ""},
		"an untrusted server":  {nil, func(_ *Credentials, c *config.VCenter) { c.CA = c.CA[:len(c.CA)-len(manager.cert.pem())] }, false, `the certificate of the session manager 127.0.0.1 of vCenter "east" is not trusted, and it is not sent the token: offered subject "CN=front"`},
		"an answer cut off": {func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"token":"made-up-ticket`)
			return true
		}, nil, false, "reading the session manager's answer: unexpected EOF"},
		"no URL":                {nil, func(c *Credentials, _ *config.VCenter) { c.SessionManagerURL = "https://sm/%zz?made-up-query" }, false, "the session manager's address is no URL"},
		"http":                  {nil, func(c *Credentials, _ *config.VCenter) { c.SessionManagerURL = "http://192.0.2.1/made-up-path" }, false, "the session manager's address is an http URL"},
		"no token, no account":  {nil, func(c *Credentials, _ *config.VCenter) { c.SessionManagerToken = config.Password{} }, false, "there is no token for the session manager, and none of a service account: open " + serviceAccountToken},
		"nobody listens there":  {nil, func(c *Credentials, _ *config.VCenter) { c.SessionManagerURL = "https://127.0.0.1:1/s?made-up-query" }, false, "connection refused"},
		"the tunnel falls down": {func(http.ResponseWriter, *http.Request, string) bool { panic(http.ErrAbortHandler) }, nil, false, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			manager.answer(c.instead)
			creds, cfg := shared(manager), cfg
			if c.change != nil {
				c.change(&creds, &cfg)
			}
			s, err := login(t.Context(), &cfg, creds, callsWithin(5*time.Second, 3))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				ending(t, s)
				return
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
	if n := len(elsewhere.requests("/", "")); n != 0 {
		t.Errorf("%d requests elsewhere", n)
	}
}

func TestSilentSessionManager(t *testing.T) {
	_, _, cfg := eastBehindFront(t)
	manager, cfg := tickets(t, cfg)
	manager.answer(hang("/"))
	const timeout = 300 * time.Millisecond
	calls, n := observing(timeout)
	began := time.Now()
	_, err := login(t.Context(), &cfg, shared(manager), calls)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "no answer within 300ms") || took < timeout || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if n.of("session manager: get ticket") != 1 || n.of("CloneSession") != 0 {
		t.Errorf("calls %v", n.calls)
	}
}

// TestTokenOfTheServiceAccount: where no token is configured the Pod's is shown, as
// it is now, and that it is refused does not mean that the next one is.
func TestTokenOfTheServiceAccount(t *testing.T) {
	_, _, cfg := eastBehindFront(t)
	manager, cfg := tickets(t, cfg)
	file := filepath.Join(t.TempDir(), "token")
	m := sessionManager{url: manager.URL, tokenFile: file}
	accept, err := newTrust(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ content, want string }{
		{"made-up-token\n", ""},
		{"made-up-old\n", "the session manager answers 401 Unauthorized"},
		{"made-up-token", ""},
		{" \n", file + " holds no token"},
		{"made-up\ntoken", file + " holds no token"},
	} {
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		ticket, err := m.ticket(t.Context(), accept, callsWithin(5*time.Second, 1))
		if c.want == "" {
			if err != nil || ticket.IsEmpty() {
				t.Errorf("%q: %v, %v", c.content, ticket, err)
			}
		} else if err == nil || err.Error() != c.want || errors.Is(err, session.ErrRejected) {
			t.Errorf("%q: %v", c.content, err)
		}
	}
	// No header with a line break is sent.
	if n := len(manager.requests("/", "")); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestTokenFileIsBounded: nothing that is at its path hangs the login or fills the
// memory.
func TestTokenFileIsBounded(t *testing.T) {
	const none = "there is no token for the session manager, and none of a service account: read "
	dir := t.TempDir()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"pipe":      {func(path string) error { return syscall.Mkfifo(path, 0o600) }, ": is not a regular file, but a named pipe"},
		"directory": {func(path string) error { return os.Mkdir(path, 0o700) }, ": is not a regular file, but a directory: write the path of a file in it"},
		"large":     {func(path string) error { return os.WriteFile(path, make([]byte, config.MaxFile+1), 0o600) }, ": is too large: it has 1048577 bytes, at most 1048576 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			m := sessionManager{tokenFile: filepath.Join(dir, name)}
			if err := c.make(m.tokenFile); err != nil {
				t.Fatal(err)
			}
			token, err := m.authorization()
			if err == nil || token != "" || err.Error() != none+m.tokenFile+c.want {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
}

// TestClonedSessionWithoutCookie: without it tags cannot be asked for.
func TestClonedSessionWithoutCookie(t *testing.T) {
	_, _, cfg := eastBehindFront(t)
	sc := clientOf(t, &cfg)
	s := &session{soap: sc, vim: &vim25.Client{Client: sc}, creds: Credentials{SessionManagerURL: "https://sm/"}, calls: callsWithin(time.Second, 1)}
	if err := firstCategories(t.Context(), s); err == nil || !strings.HasSuffix(err.Error(), "the session that was cloned has no cookie") {
		t.Errorf("%v", err)
	}
}
