package vcenter

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

// lockouts counts the logins that failed of all entries of the configuration together:
// several may lead to one vCenter with the same account, which vCenter locks whoever it
// was that failed. What it counts of one entry alone, attempts does too. The zero value
// and nil count nothing.
type lockouts struct {
	limits LoginLimits

	mu   sync.Mutex
	used map[loginAccount]*usage
}

// loginAccount is an address and who logs in there.
type loginAccount struct{ host, who string }

// usage are the logins of an account under way, and when others failed within the window.
type usage struct {
	pending  int
	failures []time.Time
}

func newLockouts(limits LoginLimits) *lockouts {
	return &lockouts{limits: limits.withDefaults(), used: map[loginAccount]*usage{}}
}

// account is that of a session.
func (s *session) account() loginAccount {
	return loginAccount{s.soap.URL().Host, cmp.Or(s.creds.User, s.creds.Certificate, s.creds.SessionManagerURL)}
}

// begin returns a *postponed if a login of the account has to wait, and otherwise counts it
// as under way.
func (a *lockouts) begin(of loginAccount, now time.Time) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.used[of]
	if u == nil {
		u = &usage{}
		a.used[of] = u
	}
	u.failures = slices.DeleteFunc(u.failures, func(t time.Time) bool { return now.Sub(t) >= a.limits.Window })
	if len(u.failures)+u.pending < a.limits.Failures {
		u.pending++
		return nil
	}
	p := &postponed{err: errFailures{a.limits.Window}}
	if n := len(u.failures); n >= a.limits.Failures {
		p.until = u.failures[n-a.limits.Failures].Add(a.limits.Window)
	}
	return p
}

// end ends a login that has begun, with its error.
func (a *lockouts) end(of loginAccount, err error, now time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.used[of]
	if u == nil {
		return
	}
	u.pending--
	if errors.Is(err, ErrRejected) || errors.As(err, new(*unanswered)) {
		u.failures = append(u.failures, now)
	}
	if u.pending == 0 && len(u.failures) == 0 {
		delete(a.used, of)
	}
}
