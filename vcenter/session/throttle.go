package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/vcenter/credentials"
)

// failuresMax bounds for how many credentials it is remembered that their login failed.
const failuresMax = 10

// LoginLimits bound how often a vCenter is shown credentials that it rejects, and
// how often it is asked for sessions that it may open after the daemon has given up.
// Zero fields have the defaults.
type LoginLimits struct {
	// Window is the time in which at most Failures attempts may have been rejected, of
	// whatever credentials and at whatever API; 180 s and 2 if zero. vCenter locks an
	// account by default after five within that time.
	Window   time.Duration
	Failures int
	// RejectedMin and RejectedMax bound the delay until rejected credentials are
	// tried again; 5 and 30 minutes if zero.
	RejectedMin, RejectedMax time.Duration
	// UnansweredMin and UnansweredMax bound the delay after a login that was not
	// answered; 2 and 15 minutes if zero.
	UnansweredMin, UnansweredMax time.Duration
	// RenewMin and RenewMax bound the time until a session is replaced through which nothing useful
	// comes although the server answers; 2 and 30 minutes if zero.
	RenewMin, RenewMax time.Duration
	// Queue is for somebody who does not try again. A login waits for those of its account that are
	// under way and that it could lock the account with, and a call of the REST API for its login as
	// long as that may take. Otherwise the one fails at once, the other as late as any call.
	Queue bool
}

func (l LoginLimits) withDefaults() LoginLimits {
	return LoginLimits{
		Window:        cmp.Or(l.Window, 180*time.Second),
		Failures:      cmp.Or(l.Failures, 2),
		RejectedMin:   cmp.Or(l.RejectedMin, 5*time.Minute),
		RejectedMax:   cmp.Or(l.RejectedMax, 30*time.Minute),
		UnansweredMin: cmp.Or(l.UnansweredMin, 2*time.Minute),
		UnansweredMax: cmp.Or(l.UnansweredMax, 15*time.Minute),
		RenewMin:      cmp.Or(l.RenewMin, 2*time.Minute),
		RenewMax:      cmp.Or(l.RenewMax, 30*time.Minute),
		Queue:         l.Queue,
	}
}

// A loginAPI is where credentials open a session.
type loginAPI int

const (
	// loginSOAP includes the token service and the session manager.
	loginSOAP loginAPI = iota
	loginREST
)

// A login is an attempt to open a session: at an API of a host, with credentials.
type login struct {
	api   loginAPI
	host  string
	creds credentials.Credentials
}

// A LoginThrottle prevents that an account is locked. It remembers which credentials one
// vCenter has rejected or has not answered to, and decides when they may be shown to it
// again. Every login begins an attempt and ends it. It makes no requests; it may be used
// concurrently. What it remembers of credentials at one API is one of:
//
//	state       what holds                           next        when
//	accepted    nothing is remembered, they may be   rejected    the API rejects them
//	            shown at once                        unanswered  it does not answer, or breaks the
//	                                                             connection for the second time
//	rejected    they wait for 5 to 30 minutes, twice unanswered  as above
//	            as long after each rejection         accepted    the API accepts them; at SOAP, it
//	                                                             accepts others; Offer sees a change
//	unanswered  they wait for 2 to 15 minutes,       rejected    as above
//	            twice as long each time              accepted    the API accepts them; at SOAP, it
//	                                                             accepts others
//
// Another address makes all of them accepted. Beside this no attempt begins while two have
// failed or are under way in 180 s, of whatever credentials, API and entry of the account.
type LoginThrottle struct {
	limits LoginLimits
	// accounts count the logins of all entries. What counts for this one is kept when the address
	// changes, which may be another name of the same vCenter.
	accounts *Accounts

	mu       sync.Mutex
	failures []*failure
	// offered are the credentials that were configured last.
	offered credentials.Credentials
}

// A failure is what is remembered of credentials at one API since they last served there.
type failure struct {
	api   loginAPI
	creds credentials.Credentials
	// rejected, unanswered and broken count attempts by how they ended.
	rejected, unanswered, broken int
	// silent reports whether the last attempt was not answered.
	silent bool
	// denied reports whether an attempt was rejected, whatever came of those after it.
	denied bool
	// err is how the last attempt ended, until is when the next may begin, and
	// delays bound the time between the two.
	err    error
	until  time.Time
	delays delays
}

// NewLoginThrottle returns a throttle for one vCenter. Accounts are those of the whole fleet;
// nil stands for accounts of its own.
func NewLoginThrottle(limits LoginLimits, accounts *Accounts) *LoginThrottle {
	return &LoginThrottle{limits: limits.withDefaults(), accounts: cmp.Or(accounts, NewAccounts(limits))}
}

// Offer notes the credentials that are configured now, and returns nil if they may be shown to
// the SOAP API. Otherwise NextAttempt says when, for its error. Those of the session that is
// open are empty without one.
//
// Credentials that come in the place of others may be right by now, so a rejection of them is forgotten:
// with a session only that by the REST API. A new revision of the same credentials may mean that the
// vCenter accepts them by now: every rejection of them is forgotten. When those of the session are
// configured again, rejections of others are: whatever comes next is a change. That credentials were
// not answered is kept: it does not depend on what they replace.
func (t *LoginThrottle) Offer(creds, inUse credentials.Credentials, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.offered
	t.offered = creds
	isRewritten := creds.Equal(before) && creds.Revision != before.Revision
	switch {
	case creds.Equal(inUse) && !inUse.IsEmpty():
		t.forget(func(f *failure) bool { return (isRewritten || !f.creds.Equal(creds)) && f.forgetRejection() })
		return nil
	case isRewritten, !creds.Equal(before):
		t.forget(func(f *failure) bool {
			return f.creds.Equal(creds) && (isRewritten || inUse.IsEmpty() || f.api == loginREST) && f.forgetRejection()
		})
	}
	return t.postponed(loginSOAP, creds, now)
}

// Offered reports whether this revision of these credentials was offered last.
func (t *LoginThrottle) Offered(creds credentials.Credentials) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return creds.Equal(t.offered) && creds.Revision == t.offered.Revision
}

// begin returns a *postponedError if a login has to wait, and otherwise counts it as
// under way.
func (t *LoginThrottle) begin(l login, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.postponed(l.api, l.creds, now); err != nil {
		return err
	}
	return t.accounts.begin(now, t, accountOf(l))
}

// beginQueued is begin after the logins that are under way, if the limits say so, for which it waits
// for a time at most.
func (t *LoginThrottle) beginQueued(ctx context.Context, l login, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		ended := t.accounts.nextEnd()
		err := t.begin(l, time.Now())
		if err == nil || !t.limits.Queue || !NextAttempt(err).IsZero() {
			return err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return err
		}
	}
}

// waitTime returns how long a call of this deadline waits for a login that may take longer: as long as
// that for somebody who does not try again.
func (t *LoginThrottle) waitTime(call, login time.Duration) time.Duration {
	if t.limits.Queue {
		return max(call, login)
	}
	return call
}

func (t *LoginThrottle) postponed(api loginAPI, creds credentials.Credentials, now time.Time) error {
	if f := t.failure(api, creds); f != nil && now.Before(f.until) {
		return f.postponed(false)
	}
	return t.accounts.postponed(now, t)
}

// end ends an attempt that has begun. The error is nil if the credentials were
// accepted. The returned one says in addition when they are tried again, if that is
// not as soon as after any other failure.
func (t *LoginThrottle) end(l login, err error, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accounts.end(err, now, t, accountOf(l))
	var silence *unansweredError
	switch {
	case err == nil:
		t.accepted(l)
		return nil
	case errors.Is(err, ErrRejected):
		f := t.remember(l)
		f.rejected++
		f.silent = false
		f.denied = true
		f.postpone(err, now, f.rejected, delays{t.limits.RejectedMin, t.limits.RejectedMax})
	case errors.As(err, &silence):
		f := t.remember(l)
		f.silent = true
		// One connection that breaks is no reason to wait.
		if f.broken++; !silence.long && f.broken == 1 {
			return err
		}
		f.unanswered++
		f.postpone(err, now, f.unanswered, delays{t.limits.UnansweredMin, t.limits.UnansweredMax})
	default:
		return err
	}
	return t.failure(l.api, l.creds).postponed(true)
}

// accepted forgets what contradicts that credentials were accepted.
func (t *LoginThrottle) accepted(l login) {
	t.forget(func(f *failure) bool {
		if l.api == loginREST {
			return f.api == loginREST && f.creds.Equal(l.creds)
		}
		if f.api == loginREST && !f.creds.Equal(l.creds) {
			// They are replaced, and only the watch that still has them must not show them again.
			f.denied = false
		}
		return f.api == loginSOAP // the REST API may still reject these
	})
}

// forgetRejection forgets a rejection, and reports whether nothing else is to be remembered.
func (f *failure) forgetRejection() bool {
	f.denied = false
	return !f.silent
}

// Moved forgets which credentials failed: the address has changed, and may be that of
// another vCenter.
func (t *LoginThrottle) Moved() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = nil
}

func (t *LoginThrottle) forget(which func(*failure) bool) {
	t.failures = slices.DeleteFunc(t.failures, which)
}

// Rejected reports whether credentials were rejected at an API, and none were accepted there
// since. That of the REST API counts only where it is used: nobody logs in to it any more
// otherwise.
func (t *LoginThrottle) Rejected(withREST bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.failures, func(f *failure) bool { return f.denied && (withREST || f.api != loginREST) })
}

func (t *LoginThrottle) failure(api loginAPI, creds credentials.Credentials) *failure {
	for _, f := range t.failures {
		if f.api == api && f.creds.Equal(creds) {
			return f
		}
	}
	return nil
}

func (t *LoginThrottle) remember(l login) *failure {
	if f := t.failure(l.api, l.creds); f != nil {
		return f
	}
	t.failures = append(t.failures, &failure{api: l.api, creds: l.creds})
	t.failures = t.failures[max(0, len(t.failures)-failuresMax):]
	return t.failures[len(t.failures)-1]
}

// postpone notes the n-th failure of a kind.
func (f *failure) postpone(err error, now time.Time, n int, between delays) {
	f.err = err
	f.until = now.Add(delayAfter(n, between.least, between.most))
	f.delays = between
}

func (f *failure) postponed(tried bool) *postponedError {
	return &postponedError{err: f.err, until: f.until, delays: f.delays, silent: f.silent, tried: tried}
}

// delayAfter returns the delay after the n-th failure: it doubles from least to most and
// has jitter, so that the daemons of many clusters do not log in at the same time.
func delayAfter(n int, least, most time.Duration) time.Duration {
	backoff := wait.Backoff{Duration: least, Factor: 2, Jitter: 0.2, Steps: n, Cap: max(least, most*5/6)}
	var delay time.Duration
	for range n {
		delay = backoff.Step()
	}
	return min(most, delay)
}
