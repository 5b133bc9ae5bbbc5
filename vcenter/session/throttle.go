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

const maxFailureRecords = 10

// LoginLimits limit logins that a vCenter rejects or does not answer. Zero fields have defaults.
type LoginLimits struct {
	// Failures is the maximum number of logins that are pending or failed within Window. It applies to each vCenter and to
	// each account at an address, summed over all APIs and passwords. By default vCenter locks an account after five
	// failures in 180 s.
	Window   time.Duration
	Failures int
	// The delays after a rejection, after an unanswered login, and before a useless session is replaced.
	RejectedMin, RejectedMax     time.Duration
	UnansweredMin, UnansweredMax time.Duration
	RenewMin, RenewMax           time.Duration
	// Queue lets logins wait for pending logins of the account. It is for callers that never retry.
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

type loginAPI int

const (
	// loginSOAP includes the token service and the session manager.
	loginSOAP loginAPI = iota
	loginREST
)

type login struct {
	api   loginAPI
	host  string
	creds credentials.Credentials
}

// A LoginThrottle decides when credentials may be sent to one vCenter again, so that no account is locked
// (decision 0023). It is safe for concurrent use. Credentials at one API are in one of these states:
//
//	state       meaning                              next        event
//	accepted    no delay: they may be sent at once   rejected    the API rejects them
//	                                                 unanswered  it does not answer, or breaks the
//	                                                             connection for the second time
//	rejected    delayed by 5 to 30 minutes, twice    unanswered  as above
//	            as long after each rejection         accepted    the API accepts them; at the SOAP
//	                                                             API: it accepts other credentials;
//	                                                             Offer detects a change
//	unanswered  delayed by 2 to 15 minutes, twice    rejected    as above
//	            as long each time                    accepted    the API accepts them; at the SOAP
//	                                                             API: it accepts other credentials
//
// A SOAP login leaves the REST API's delays unchanged. A new address resets all of them to accepted. LoginLimits.Failures applies in every state.
type LoginThrottle struct {
	limits LoginLimits
	// accounts survive Reset, because a new address may be another name of the same vCenter.
	accounts *Accounts

	mu       sync.Mutex
	failures []*failure
	offered  credentials.Credentials
}

// A failure records the failed logins with credentials at one API since the last success.
type failure struct {
	api   loginAPI
	creds credentials.Credentials
	// rejected and unanswered count the logins that cause a delay. allUnanswered also counts a first
	// broken connection, which causes none.
	rejected, unanswered, allUnanswered int
	lastWasUnanswered                   bool
	isRejectionReported                 bool
	err                                 error
	nextAttempt                         time.Time
	delays                              delays
}

// NewLoginThrottle returns a throttle for one vCenter. It creates accounts if they are nil.
func NewLoginThrottle(limits LoginLimits, accounts *Accounts) *LoginThrottle {
	return &LoginThrottle{limits: limits.withDefaults(), accounts: cmp.Or(accounts, NewAccounts(limits))}
}

// Offer sets the configured credentials. It returns nil if they are those of the open session or may be sent to the SOAP
// API now, and otherwise the reason for the delay. inUse are the credentials of the open session, or empty. Offer deletes
// failures that may be outdated, unless the last login with them was unanswered:
//   - New credentials other than those of the open session: the rejections of the new credentials, while a session is open only those by the REST API.
//   - A new revision of the same credentials: all their rejections.
//   - The credentials of the open session: all rejections of other credentials.
func (t *LoginThrottle) Offer(creds, inUse credentials.Credentials, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	previous := t.offered
	t.offered = creds
	isRewritten := creds.Equal(previous) && creds.Revision != previous.Revision
	switch {
	case creds.Equal(inUse) && !inUse.IsEmpty():
		t.forget(func(f *failure) bool { return (isRewritten || !f.creds.Equal(creds)) && f.clearRejected() })
		return nil
	case isRewritten, !creds.Equal(previous):
		t.forget(func(f *failure) bool {
			return f.creds.Equal(creds) && (isRewritten || inUse.IsEmpty() || f.api == loginREST) && f.clearRejected()
		})
	}
	return t.check(loginSOAP, creds, now)
}

// Offered reports whether this revision of the credentials was offered last.
func (t *LoginThrottle) Offered(creds credentials.Credentials) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return creds.Equal(t.offered) && creds.Revision == t.offered.Revision
}

func (t *LoginThrottle) begin(l login, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(l.api, l.creds, now); err != nil {
		return err
	}
	return t.accounts.begin(now, t, accountOf(l))
}

func (t *LoginThrottle) beginQueued(ctx context.Context, l login, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
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

func (t *LoginThrottle) answerTimeout(call, login time.Duration) time.Duration {
	if t.limits.Queue {
		return max(call, login)
	}
	return call
}

func (t *LoginThrottle) check(api loginAPI, creds credentials.Credentials, now time.Time) error {
	if f := t.findFailure(api, creds); f != nil && now.Before(f.nextAttempt) {
		return f.asError(false)
	}
	return t.accounts.check(now, t)
}

func (t *LoginThrottle) end(l login, err error, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accounts.end(err, now, t, accountOf(l))
	var unanswered *unansweredError
	switch {
	case err == nil:
		t.recordSuccess(l)
		return nil
	case errors.Is(err, ErrRejected):
		f := t.findOrAddFailure(l)
		f.rejected++
		f.lastWasUnanswered = false
		f.isRejectionReported = true
		f.postpone(err, now, f.rejected, delays{t.limits.RejectedMin, t.limits.RejectedMax})
	case errors.As(err, &unanswered):
		f := t.findOrAddFailure(l)
		f.lastWasUnanswered = true
		if f.allUnanswered++; !unanswered.wasSlow && f.allUnanswered == 1 {
			return err
		}
		f.unanswered++
		f.postpone(err, now, f.unanswered, delays{t.limits.UnansweredMin, t.limits.UnansweredMax})
	default:
		return err
	}
	return t.findFailure(l.api, l.creds).asError(true)
}

func (t *LoginThrottle) recordSuccess(l login) {
	t.forget(func(f *failure) bool {
		if l.api == loginREST {
			return f.api == loginREST && f.creds.Equal(l.creds)
		}
		if f.api == loginREST && !f.creds.Equal(l.creds) {
			// Keep the failure, so that these replaced credentials are not sent again, but no longer report them as
			// rejected.
			f.isRejectionReported = false
		}
		// Keep failures of the REST API, which may reject credentials that the SOAP API accepts.
		return f.api == loginSOAP
	})
}

// clearRejected no longer reports the failure as a rejection. It returns true if the failure may be deleted, because the
// last login was not unanswered.
func (f *failure) clearRejected() bool {
	f.isRejectionReported = false
	return !f.lastWasUnanswered
}

// Reset forgets all failures, because a new address may lead to another vCenter.
func (t *LoginThrottle) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = nil
}

func (t *LoginThrottle) forget(isForgotten func(*failure) bool) {
	t.failures = slices.DeleteFunc(t.failures, isForgotten)
}

// Rejected reports whether a rejection is recorded that neither a login nor Offer has cleared. The REST API is ignored
// unless withREST is set.
func (t *LoginThrottle) Rejected(withREST bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.failures, func(f *failure) bool { return f.isRejectionReported && (withREST || f.api != loginREST) })
}

func (t *LoginThrottle) findFailure(api loginAPI, creds credentials.Credentials) *failure {
	for _, f := range t.failures {
		if f.api == api && f.creds.Equal(creds) {
			return f
		}
	}
	return nil
}

func (t *LoginThrottle) findOrAddFailure(l login) *failure {
	if f := t.findFailure(l.api, l.creds); f != nil {
		return f
	}
	t.failures = append(t.failures, &failure{api: l.api, creds: l.creds})
	t.failures = t.failures[max(0, len(t.failures)-maxFailureRecords):]
	return t.failures[len(t.failures)-1]
}

func (f *failure) postpone(err error, now time.Time, n int, bounds delays) {
	f.err = err
	f.nextAttempt = now.Add(delayAfter(n, bounds.min, bounds.max))
	f.delays = bounds
}

func (f *failure) asError(isFromAttempt bool) *postponedError {
	return &postponedError{err: f.err, nextAttempt: f.nextAttempt, delays: f.delays, wasUnanswered: f.lastWasUnanswered, isFromAttempt: isFromAttempt}
}

// delayAfter adds jitter, which keeps many clusters from logging in at the same time.
func delayAfter(n int, minDelay, maxDelay time.Duration) time.Duration {
	backoff := wait.Backoff{Duration: minDelay, Factor: 2, Jitter: 0.2, Steps: n, Cap: max(minDelay, maxDelay*5/6)}
	var delay time.Duration
	for range n {
		delay = backoff.Step()
	}
	return min(maxDelay, delay)
}
