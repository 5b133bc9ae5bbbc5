package vcentertest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
)

// SessionManager starts a session manager that shares its vCenter session in exchange for the token
// of SharedCredentials.
func SessionManager(t *testing.T, cfg config.VCenter) (*Front, config.VCenter) {
	t.Helper()
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: net.JoinHostPort(cfg.Server, strconv.Itoa(cfg.Port)), Path: vim25.Path}, true)
	admin, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	m := vim.NewManager(admin)
	user := url.UserPassword(cfg.User, cfg.Password.Reveal())
	if err := m.Login(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Logout(context.WithoutCancel(t.Context())); err != nil {
			t.Logf("logging out: %v", err)
		}
		sc.CloseIdleConnections()
	})
	f := NewFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer made-up-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ticket, err := m.AcquireCloneTicket(r.Context())
		if faults.SessionLost(err) {
			if err = m.Login(r.Context(), user); err == nil {
				ticket, err = m.AcquireCloneTicket(r.Context())
			}
		}
		if err != nil {
			t.Errorf("no ticket: %v", err)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": ticket})
	}))
	cfg.CA = append(append([]byte{}, cfg.CA...), f.Cert.PEM()...)
	return f, cfg
}

// SharedCredentials returns the credentials for a session manager.
func SharedCredentials(f *Front) credentials.Credentials {
	return credentials.Credentials{SessionManagerURL: f.URL + "/session?key=made-up-query", SessionManagerToken: config.NewPassword("made-up-token")}
}

// AcceptClones makes the tagging API behind a front accept SOAP sessions, as vCenter 8.0 U3 does.
func AcceptClones(f *Front, vcenter http.Handler, user, password string) {
	var mu sync.Mutex
	sessions := map[string]string{}
	f.Answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
		id := r.Header.Get("vmware-api-session-id")
		cookie, err := r.Cookie(soap.SessionCookieName)
		if id == "" || err != nil || cookie.Value != id {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if sessions[id] == "" {
			rec := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/rest/com/vmware/cis/session", nil)
			req.SetBasicAuth(user, password)
			vcenter.ServeHTTP(rec, req)
			var answer struct{ Value string }
			if json.Unmarshal(rec.Body.Bytes(), &answer) != nil {
				return false
			}
			sessions[id] = answer.Value
		}
		r.Header.Set("vmware-api-session-id", sessions[id])
		r.Body = io.NopCloser(strings.NewReader(body))
		vcenter.ServeHTTP(w, r)
		return true
	})
}
