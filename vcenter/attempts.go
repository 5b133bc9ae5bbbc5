package vcenter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

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
}

func (l LoginLimits) withDefaults() LoginLimits {
	return LoginLimits{
		Window:        orDefault(l.Window, 180*time.Second),
		Failures:      orDefault(l.Failures, 2),
		RejectedMin:   orDefault(l.RejectedMin, 5*time.Minute),
		RejectedMax:   orDefault(l.RejectedMax, 30*time.Minute),
		UnansweredMin: orDefault(l.UnansweredMin, 2*time.Minute),
		UnansweredMax: orDefault(l.UnansweredMax, 15*time.Minute),
	}
}

// refusalsMax bounds how many refusals are remembered.
const refusalsMax = 10

// A loginAPI is where credentials open a session.
type loginAPI int

const (
	// loginSOAP includes the token service and the session manager.
	loginSOAP loginAPI = iota
	loginTags
)

// attempts remembers which credentials one vCenter has rejected or has not answered
// to, and decides when they may be shown to it again. Every login begins an attempt
// and ends it. It makes no calls and has no clock; it may be used concurrently.
type attempts struct {
	limits LoginLimits

	mu sync.Mutex
	// pending is how many attempts are under way.
	pending int
	// failures are when attempts ended that were rejected, or may have been, within
	// the window. They outlive a change of the address, which may be another name of
	// the same vCenter.
	failures []time.Time
	refusals []*refusal
}

// refusal is what is remembered of credentials at one API since they last served there.
type refusal struct {
	api   loginAPI
	creds Credentials
	// rejected, unanswered and broken count attempts by how they ended.
	rejected, unanswered, broken int
	// silent reports whether the last attempt was not answered.
	silent bool
	// denied reports whether an attempt was rejected, whatever came of those after it.
	denied bool
	// err is how the last attempt ended, until is when the next may begin, and
	// after is the time between the two.
	err   error
	until time.Time
	after time.Duration
}

func newAttempts(limits LoginLimits) *attempts { return &attempts{limits: limits.withDefaults()} }

// may returns nil if credentials may be shown now, and otherwise a *postponed.
func (a *attempts) may(api loginAPI, creds Credentials, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.postponed(api, creds, now)
}

// begin is may, and counts the attempt as under way if it may be made.
func (a *attempts) begin(api loginAPI, creds Credentials, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.postponed(api, creds, now)
	if err == nil {
		a.pending++
	}
	return err
}

func (a *attempts) postponed(api loginAPI, creds Credentials, now time.Time) error {
	if r := a.refusal(api, creds); r != nil && now.Before(r.until) {
		return r.postponed(false)
	}
	a.failures = slices.DeleteFunc(a.failures, func(t time.Time) bool { return now.Sub(t) >= a.limits.Window })
	if len(a.failures)+a.pending < a.limits.Failures {
		return nil
	}
	p := &postponed{err: errFailures{a.limits.Window}}
	if n := len(a.failures); n >= a.limits.Failures {
		p.until = a.failures[n-a.limits.Failures].Add(a.limits.Window)
	}
	return p
}

// end ends an attempt that has begun. The error is nil if the credentials were
// accepted. The returned one tells in addition when they are tried again, if that is
// not as soon as after any other failure.
func (a *attempts) end(api loginAPI, creds Credentials, err error, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending--
	var silence *unanswered
	switch {
	case err == nil:
		a.accepted(api, creds)
		return nil
	case errors.Is(err, ErrRejected):
		r := a.remember(api, creds)
		r.rejected++
		r.silent, r.denied = false, true
		r.postpone(err, now, growing(r.rejected, a.limits.RejectedMin, a.limits.RejectedMax))
	case errors.As(err, &silence):
		r := a.remember(api, creds)
		r.silent = true
		// One connection that breaks is no reason to wait.
		if r.broken++; !silence.long && r.broken == 1 {
			a.failures = append(a.failures, now)
			return err
		}
		r.unanswered++
		r.postpone(err, now, growing(r.unanswered, a.limits.UnansweredMin, a.limits.UnansweredMax))
	default:
		return err
	}
	a.failures = append(a.failures, now)
	return a.refusal(api, creds).postponed(true)
}

// accepted forgets what contradicts that credentials were accepted.
func (a *attempts) accepted(api loginAPI, creds Credentials) {
	a.refusals = slices.DeleteFunc(a.refusals, func(r *refusal) bool {
		if api == loginSOAP { // whether the tagging API accepts these is another question
			return r.api == loginSOAP || !r.creds.Equal(creds)
		}
		return r.api == api && r.creds.Equal(creds)
	})
}

// replaced forgets that credentials were rejected: they have come in the place of
// others, and may be right by now. That they were not answered is no matter of which
// they are replaced by.
func (a *attempts) replaced(creds Credentials) {
	a.forget(func(r *refusal) bool { return r.creds.Equal(creds) && r.pardon() })
}

// back forgets that credentials other than these were rejected. These are configured
// again, so whatever comes next is a change.
func (a *attempts) back(creds Credentials) {
	a.forget(func(r *refusal) bool { return !r.creds.Equal(creds) && r.pardon() })
}

// pardon forgets a rejection, and reports whether nothing else is to be remembered.
func (r *refusal) pardon() bool {
	r.denied = false
	return !r.silent
}

// moved forgets which credentials were refused, by what may be another vCenter.
func (a *attempts) moved() { a.forget(func(*refusal) bool { return true }) }

func (a *attempts) forget(which func(*refusal) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusals = slices.DeleteFunc(a.refusals, which)
}

// rejected reports whether credentials were rejected at an API, and none were accepted there
// since. Without tags nobody logs in to the tagging API any more, so what it said is over.
func (a *attempts) rejected(tags bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.refusals, func(r *refusal) bool { return r.denied && (tags || r.api != loginTags) })
}

func (a *attempts) refusal(api loginAPI, creds Credentials) *refusal {
	for _, r := range a.refusals {
		if r.api == api && r.creds.Equal(creds) {
			return r
		}
	}
	return nil
}

func (a *attempts) remember(api loginAPI, creds Credentials) *refusal {
	if r := a.refusal(api, creds); r != nil {
		return r
	}
	a.refusals = append(a.refusals, &refusal{api: api, creds: creds})
	a.refusals = a.refusals[max(0, len(a.refusals)-refusalsMax):]
	return a.refusals[len(a.refusals)-1]
}

func (r *refusal) postpone(err error, now time.Time, after time.Duration) {
	r.err, r.until, r.after = err, now.Add(after), after
}

func (r *refusal) postponed(tried bool) *postponed {
	return &postponed{err: r.err, until: r.until, after: r.after, silent: r.silent, tried: tried}
}

// growing returns the delay after the n-th failure: it doubles from least to most and
// has jitter, so that the daemons of many clusters do not log in at the same time.
func growing(n int, least, most time.Duration) time.Duration {
	d := least
	for ; n > 1 && d < most; n-- {
		d *= 2
	}
	d = max(least, min(d, most*5/6))
	return min(most, d+rand.N(d/5+1))
}

// postponed is the error of a login that is not tried now, or has just failed and is
// not tried again soon. What it says is the same until the next attempt.
type postponed struct {
	err error
	// until is when the next attempt may be made, zero when another one has ended.
	// After is the time between the last and the next, zero if that was not of the
	// same credentials.
	until time.Time
	after time.Duration
	// silent reports whether the last attempt was not answered, tried whether the
	// error is of that attempt itself.
	silent, tried bool
}

func (p *postponed) Error() string {
	if p.until.IsZero() {
		return p.err.Error()
	}
	at := p.until.UTC().Format("15:04:05 UTC")
	if p.after == 0 {
		return fmt.Sprintf("%v; next attempt at %s", p.err, at)
	}
	left := ""
	if p.silent {
		left = "; it may have left a session in the vCenter"
	}
	return fmt.Sprintf("%v%s; next attempt at %s (%v after the last), or at once with other credentials", p.err, left, at, p.after.Round(time.Second))
}

func (p *postponed) Unwrap() error { return p.err }

// nextAttempt returns when the login that failed with an error is tried again, zero
// if that is not postponed.
func nextAttempt(err error) time.Time {
	var p *postponed
	if errors.As(err, &p) {
		return p.until
	}
	return time.Time{}
}

// untried reports whether an error is that of a login that was not tried.
func untried(err error) bool {
	var p *postponed
	return errors.As(err, &p) && !p.tried
}

// errFailures says that credentials that may be right have to wait.
type errFailures struct{ window time.Duration }

func (e errFailures) Error() string {
	return fmt.Sprintf("the credentials are not tried yet: another attempt that fails within %v could lock the account", e.window)
}

// unanswered is the error of a login that was sent and not answered: the server may
// reject it or open a session all the same.
type unanswered struct {
	error
	// long reports whether it took longer than any other call may.
	long bool
}

func (u *unanswered) Unwrap() error { return u.error }
