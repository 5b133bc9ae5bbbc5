package session

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Accounts record the pending and recently failed logins of each LoginThrottle and of each account at an address.
type Accounts struct {
	limits LoginLimits

	mu sync.Mutex
	// records is keyed by *LoginThrottle and by account.
	records map[any]*loginRecord
	// loginEnded is closed and replaced when a login ends.
	loginEnded chan struct{}
}

type account struct{ host, user string }

type loginRecord struct {
	pending int
	failed  []time.Time
}

// NewAccounts returns empty records for the throttles of all entries.
func NewAccounts(limits LoginLimits) *Accounts {
	return &Accounts{limits: limits.withDefaults(), records: map[any]*loginRecord{}, loginEnded: make(chan struct{})}
}

func accountOf(l login) account {
	return account{l.host, cmp.Or(l.creds.User, l.creds.Certificate, l.creds.SessionManagerURL)}
}

func (a *Accounts) check(now time.Time, keys ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.checkLocked(now, keys)
}

func (a *Accounts) checkLocked(now time.Time, keys []any) error {
	maps.DeleteFunc(a.records, func(_ any, u *loginRecord) bool {
		u.failed = recentTimes(u.failed, a.limits.Window, now)
		return u.pending == 0 && len(u.failed) == 0
	})
	for _, key := range keys {
		if u := a.records[key]; u != nil {
			if err := checkLockout(u.failed, u.pending, a.limits); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Accounts) begin(now time.Time, keys ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.checkLocked(now, keys); err != nil {
		return err
	}
	for _, key := range keys {
		if a.records[key] == nil {
			a.records[key] = &loginRecord{}
		}
		a.records[key].pending++
	}
	return nil
}

func (a *Accounts) end(err error, now time.Time, keys ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.loginEnded)
	a.loginEnded = make(chan struct{})
	for _, key := range keys {
		u := a.records[key]
		u.pending--
		if errors.Is(err, ErrRejected) || errors.As(err, new(*unansweredError)) {
			u.failed = append(u.failed, now)
		}
	}
}

func (a *Accounts) nextEnd() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.loginEnded
}

func recentTimes(times []time.Time, window time.Duration, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= window })
}

// checkLockout returns a *postponedError if one more failure could lock the account.
func checkLockout(failed []time.Time, pending int, limits LoginLimits) error {
	if len(failed)+pending < limits.Failures {
		return nil
	}
	p := &postponedError{err: LockoutError{limits.Window}}
	if n := len(failed); n >= limits.Failures {
		p.nextAttempt = failed[n-limits.Failures].Add(limits.Window)
	}
	return p
}
