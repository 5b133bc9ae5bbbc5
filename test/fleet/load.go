package fleet

import (
	"strings"
	"sync"
)

// Load is the load on a vCenter since its start or the last ResetRequests.
type Load struct {
	// Requests is the number of requests received, including long polls and unanswered ones.
	Requests int
	// Logins is the number of attempts to open a SOAP or REST session.
	Logins int
	// TagReads is the number of requests to the tagging service, without logins and logouts.
	TagReads int
	// InFlight is the peak number of concurrent requests, without long polls.
	InFlight int
	// Sessions is the peak number of open SOAP and REST sessions, including abandoned sessions.
	Sessions int
}

type peaks struct {
	mu                                 sync.Mutex
	inFlight, maxInFlight, maxSessions int
}

func (p *peaks) enter(method string) (leave func()) {
	if method == "WaitForUpdatesEx" {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight++
	p.maxInFlight = max(p.maxInFlight, p.inFlight)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.inFlight--
	}
}

func (p *peaks) opened(sessions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxSessions = max(p.maxSessions, sessions)
}

func (p *peaks) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxInFlight = p.inFlight
	p.maxSessions = 0
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
	l.InFlight = v.peaks.maxInFlight
	l.Sessions = max(v.peaks.maxSessions, sessions)
	return l
}
