package fleet

import (
	"context"
	"net/http"
	"slices"
	"time"
)

type logins struct {
	reject, rejectREST bool
	loginDelay         time.Duration
	lockout            Lockout
	// failures are the times of the failed logins within the lockout's window. locked is the end
	// of the current lockout.
	failures []time.Time
	locked   time.Time
}

// Lockout locks the account for Duration after Failures failed logins of any client within
// Window. The zero value never locks it.
type Lockout struct {
	Failures         int
	Window, Duration time.Duration
}

// RejectRESTLogin rejects every login to the REST API, including valid ones, while the SOAP API
// accepts them. Open sessions stay.
func (v *VCenter) RejectRESTLogin() { v.set(func(c *conditions) { c.rejectREST = true }) }

// SlowLogin delays every SOAP and REST login. A login opens its session even if its client has
// disconnected in the meantime.
func (v *VCenter) SlowLogin(d time.Duration) { v.set(func(c *conditions) { c.loginDelay = d }) }

// SetLockout begins to count failed logins. While the account is locked, the correct password is
// rejected like any other. Recover removes the lockout and unlocks the account.
func (v *VCenter) SetLockout(l Lockout) {
	v.set(func(c *conditions) {
		c.lockout = l
		c.failures = nil
		c.locked = time.Time{}
	})
}

// FailLogin is a failed login of another client.
func (v *VCenter) FailLogin() { v.accepts("", v.Password()) }

// Locked reports whether the account is locked.
func (v *VCenter) Locked() bool { return time.Now().Before(v.currentConditions().locked) }

// accepts reports whether a login with this password succeeds if want is the correct one.
func (v *VCenter) accepts(password, correct string) (ok bool) {
	v.set(func(c *conditions) {
		now := time.Now()
		if now.Before(c.locked) {
			return
		}
		ok = !c.reject && password == correct
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

func isLogin(kind string) bool {
	return slices.Contains([]string{"Login", "LoginByToken", "CloneSession", restLogin}, kind)
}

// serving is the context key of the context that ends with the server.
type serving struct{}

// waitForLogin waits for the login delay. The returned request continues after its client
// disconnects.
func (v *VCenter) waitForLogin(r *http.Request) *http.Request {
	began := time.Now()
	var stopped <-chan struct{}
	if ctx, ok := r.Context().Value(serving{}).(context.Context); ok {
		stopped = ctx.Done()
	}
	for {
		changed := v.wake.next()
		left := v.currentConditions().loginDelay - time.Since(began)
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
