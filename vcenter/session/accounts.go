package session

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// Accounts count the logins that failed of all entries of the configuration together:
// several may lead to one vCenter with the same account, which vCenter locks whichever
// entry's login failed. The throttle of each entry asks it. Nil counts nothing.
type Accounts struct {
	limits LoginLimits

	mu   sync.Mutex
	used map[account]*accountUse
	// ended is closed, and replaced, when a login ends.
	ended chan struct{}
}

// An account is an address and who logs in there.
type account struct{ host, user string }

// accountUse are the logins of an account under way, and when others failed within the
// window.
type accountUse struct {
	pending int
	failed  []time.Time
}

// NewAccounts returns the accounts of a fleet, of which none has failed.
func NewAccounts(limits LoginLimits) *Accounts {
	return &Accounts{limits: limits.withDefaults(), used: map[account]*accountUse{}, ended: make(chan struct{})}
}

func accountOf(l login) account {
	return account{l.host, cmp.Or(l.creds.User, l.creds.Certificate, l.creds.SessionManagerURL)}
}

// begin returns a *postponedError if a login of the account has to wait, and otherwise
// counts it as under way.
func (a *Accounts) begin(of account, now time.Time) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.used[of]
	if u == nil {
		u = &accountUse{}
		a.used[of] = u
	}
	u.failed = within(u.failed, a.limits.Window, now)
	if err := tooMany(u.failed, u.pending, a.limits); err != nil {
		return err
	}
	u.pending++
	return nil
}

// end ends a login that has begun, with its error.
func (a *Accounts) end(of account, err error, now time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.ended)
	a.ended = make(chan struct{})
	u := a.used[of]
	if u == nil {
		return
	}
	u.pending--
	if errors.Is(err, ErrRejected) || errors.As(err, new(*unansweredError)) {
		u.failed = append(u.failed, now)
	}
	if u.pending == 0 && len(u.failed) == 0 {
		delete(a.used, of)
	}
}

// nextEnd returns a channel that is closed when a login ends, nil if that is not known.
func (a *Accounts) nextEnd() <-chan struct{} {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}
