package fleet

import (
	"strings"
	"sync"
)

// Load is the load that clients have put on a vCenter since it was started, or since
// ResetRequests.
type Load struct {
	// Requests are all that came in, answered or not, long polls included.
	Requests int
	// Logins are the attempts to open a session, SOAP and REST together.
	Logins int
	// TagReads are the requests to the tagging service, logins and logouts not
	// counted.
	TagReads int
	// InFlight is the largest number of requests at a time, long polls not counted.
	InFlight int
	// Sessions is the largest number of sessions that were open at a time, SOAP and
	// REST together, abandoned ones included.
	Sessions int
}

// peaks are the largest numbers at a time.
type peaks struct {
	mu                  sync.Mutex
	now, most, sessions int
}

// enter counts a request that has come in, and returns what counts that it is over.
func (p *peaks) enter(method string) (leave func()) {
	if method == "WaitForUpdatesEx" {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now++
	p.most = max(p.most, p.now)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now--
	}
}

func (p *peaks) opened(sessions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = max(p.sessions, sessions)
}

func (p *peaks) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = p.now
	p.sessions = 0
}

// Load returns the load since the start or the last reset.
func (v *VCenter) Load() Load {
	var l Load
	for kind, n := range v.Requests() {
		l.Requests += n
		switch {
		case isLogin(kind):
			l.Logins += n
		case strings.Contains(kind, "/tagging/"):
			l.TagReads += n
		}
	}
	sessions := v.Sessions()
	v.peaks.mu.Lock()
	defer v.peaks.mu.Unlock()
	l.InFlight = v.peaks.most
	l.Sessions = max(v.peaks.sessions, sessions)
	return l
}
