package session

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Accounts record the pending and recently failed logins of a fleet: for each configured entry, and for each
// account at an address, which several entries may share.
type Accounts struct {
	limits LoginLimits

	mu sync.Mutex
	// used is keyed by *LoginThrottle and by account.
	used map[any]*accountUse
	// ended is closed and replaced when a login ends.
	ended chan struct{}
}

type account struct{ host, user string }

type accountUse struct {
	pending int
	failed  []time.Time
}

// NewAccounts returns the accounts of a fleet.
func NewAccounts(limits LoginLimits) *Accounts {
	return &Accounts{limits: limits.withDefaults(), used: map[any]*accountUse{}, ended: make(chan struct{})}
}

func accountOf(l login) account {
	return account{l.host, cmp.Or(l.creds.User, l.creds.Certificate, l.creds.SessionManagerURL)}
}

// postponed returns a *postponedError if one of these throttles or accounts must wait.
func (a *Accounts) postponed(now time.Time, whom ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tooMany(now, whom)
}

func (a *Accounts) tooMany(now time.Time, whom []any) error {
	maps.DeleteFunc(a.used, func(_ any, u *accountUse) bool {
		u.failed = within(u.failed, a.limits.Window, now)
		return u.pending == 0 && len(u.failed) == 0
	})
	for _, who := range whom {
		if u := a.used[who]; u != nil {
			if err := tooMany(u.failed, u.pending, a.limits); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin records a pending login, or returns the error of postponed.
func (a *Accounts) begin(now time.Time, whom ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.tooMany(now, whom); err != nil {
		return err
	}
	for _, who := range whom {
		if a.used[who] == nil {
			a.used[who] = &accountUse{}
		}
		a.used[who].pending++
	}
	return nil
}

func (a *Accounts) end(err error, now time.Time, whom ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.ended)
	a.ended = make(chan struct{})
	for _, who := range whom {
		u := a.used[who]
		u.pending--
		if errors.Is(err, ErrRejected) || errors.As(err, new(*unansweredError)) {
			u.failed = append(u.failed, now)
		}
	}
}

func (a *Accounts) nextEnd() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

func within(times []time.Time, window time.Duration, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= window })
}

// tooMany returns a *postponedError if one more failure could lock the account.
func tooMany(failed []time.Time, pending int, limits LoginLimits) error {
	if len(failed)+pending < limits.Failures {
		return nil
	}
	p := &postponedError{err: LockoutError{limits.Window}}
	if n := len(failed); n >= limits.Failures {
		p.until = failed[n-limits.Failures].Add(limits.Window)
	}
	return p
}
