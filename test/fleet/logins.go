package fleet

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// logins is how a vCenter treats logins now.
type logins struct {
	reject, rejectREST bool
	loginDelay         time.Duration
	lockout            Lockout
	// failures are the failed logins within the lockout's window, and locked is
	// when the account is open again.
	failures []time.Time
	locked   time.Time
}

// Lockout is how failed logins lock the account, for whoever fails them: Failures
// of them within Window lock it for Duration. The zero value locks nothing.
type Lockout struct {
	Failures         int
	Window, Duration time.Duration
}

// RejectRESTLogin refuses every login to the REST API, right passwords too, while
// the SOAP API accepts them. Open sessions stay.
func (v *VCenter) RejectRESTLogin() { v.set(func(c *conditions) { c.rejectREST = true }) }

// SlowLogin makes every login, SOAP and REST alike, take that long, and nothing else.
// A login whose client has gone meanwhile opens its session all the same.
func (v *VCenter) SlowLogin(d time.Duration) { v.set(func(c *conditions) { c.loginDelay = d }) }

// SetLockout begins to count failed logins. While the account is locked, right
// passwords are refused as wrong ones are. Recover ends it and opens the account.
func (v *VCenter) SetLockout(l Lockout) {
	v.set(func(c *conditions) {
		c.lockout = l
		c.failures = nil
		c.locked = time.Time{}
	})
}

// FailLogin is a login of another client with a wrong password.
func (v *VCenter) FailLogin() { v.accepts("", v.Password()) }

// Locked reports whether the account is locked now.
func (v *VCenter) Locked() bool { return time.Now().Before(v.now().locked) }

// accepts reports whether a login with this password succeeds now, where another one may be right.
func (v *VCenter) accepts(password, want string) (ok bool) {
	v.set(func(c *conditions) {
		now := time.Now()
		if now.Before(c.locked) {
			return
		}
		ok = !c.reject && password == want
		if ok || c.lockout.Failures == 0 {
			return
		}
		c.failures = slices.DeleteFunc(c.failures, func(t time.Time) bool { return now.Sub(t) >= c.lockout.Window })
		c.failures = append(c.failures, now)
		if len(c.failures) >= c.lockout.Failures {
			c.failures = nil
			c.locked = now.Add(c.lockout.Duration)
		}
	})
	return ok
}

const restLogin = http.MethodPost + " /com/vmware/cis/session"

// isLogin reports whether requests of a kind open sessions.
func isLogin(kind string) bool {
	return slices.Contains([]string{"Login", "LoginByToken", "CloneSession", restLogin}, kind)
}

// serving is the key of the context that is done when the server stops.
type serving struct{}

// waitForLogin waits for as long as a login takes. It returns a request that is
// answered whether or not its client is still there.
func (v *VCenter) waitForLogin(r *http.Request) *http.Request {
	began := time.Now()
	var stopped <-chan struct{}
	if ctx, ok := r.Context().Value(serving{}).(context.Context); ok {
		stopped = ctx.Done()
	}
	for {
		changed := v.wake.next()
		left := v.now().loginDelay - time.Since(began)
		if left <= 0 {
			return r.WithContext(context.WithoutCancel(r.Context()))
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-changed:
		case <-stopped:
			t.Stop()
			panic(http.ErrAbortHandler)
		}
		t.Stop()
	}
}
