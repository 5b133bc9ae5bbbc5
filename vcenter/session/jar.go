package session

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
)

// maxCookie limits the session cookie in bytes. vCenter's has 40.
const maxCookie = 4 << 10

// A sessionJar stores the cookie of one SOAP session for one host, and no other cookie.
type sessionJar struct {
	host string

	mu      sync.Mutex
	session *http.Cookie
}

func newSessionJar(host string) *sessionJar { return &sessionJar{host: host} }

func (j *sessionJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	if !j.isForHost(u) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range cookies {
		if c.Name != soap.SessionCookieName {
			continue
		}
		j.session = nil
		expired := c.MaxAge < 0 || !c.Expires.IsZero() && c.Expires.Before(time.Now())
		if !expired && c.Value != "" && len(c.Value) <= maxCookie {
			j.session = &http.Cookie{Name: c.Name, Value: c.Value, Quoted: c.Quoted}
		}
	}
}

func (j *sessionJar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.session == nil || !j.isForHost(u) {
		return nil
	}
	return []*http.Cookie{j.session}
}

func (j *sessionJar) isForHost(u *url.URL) bool { return u.Scheme == "https" && u.Host == j.host }
