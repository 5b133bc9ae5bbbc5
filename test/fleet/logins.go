package fleet

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
)

// logins is how a vCenter treats logins now. It is part of faults, whose mutex
// guards it.
type logins struct {
	delay      time.Duration
	rejectREST bool
	lockout    Lockout
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

// DefaultLockout is vCenter's own.
var DefaultLockout = Lockout{Failures: 5, Window: 180 * time.Second, Duration: 900 * time.Second}

// RejectRESTLogin refuses every login to the REST API, right passwords too, while
// the SOAP API accepts them. Open sessions stay.
func (v *VCenter) RejectRESTLogin() { v.setFault(func(f *faults) { f.logins.rejectREST = true }) }

// SlowLogin makes every login, SOAP and REST alike, take that long, and nothing else.
// A login whose client has gone meanwhile opens its session all the same.
func (v *VCenter) SlowLogin(d time.Duration) { v.setFault(func(f *faults) { f.logins.delay = d }) }

// SetLockout begins to count failed logins. While the account is locked, right
// passwords are refused as wrong ones are. Recover ends it and opens the account.
func (v *VCenter) SetLockout(l Lockout) {
	v.setFault(func(f *faults) { f.logins.lockout, f.logins.failures, f.logins.locked = l, nil, time.Time{} })
}

// FailLogin is a login of another client with a wrong password.
func (v *VCenter) FailLogin() { v.faults.accepts("") }

// Locked reports whether the account is locked now.
func (v *VCenter) Locked() bool {
	v.faults.mu.Lock()
	defer v.faults.mu.Unlock()
	return time.Now().Before(v.faults.logins.locked)
}

// accepts reports whether a login with this password, which may be a right one,
// succeeds now.
func (l *logins) accepts(right bool, now time.Time) bool {
	if now.Before(l.locked) {
		return false
	}
	if right || l.lockout.Failures == 0 {
		return right
	}
	l.failures = slices.DeleteFunc(l.failures, func(t time.Time) bool { return now.Sub(t) >= l.lockout.Window })
	if l.failures = append(l.failures, now); len(l.failures) >= l.lockout.Failures {
		l.failures, l.locked = nil, now.Add(l.lockout.Duration)
	}
	return false
}

func (f *faults) loginDelay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins.delay
}

func (f *faults) rejectsREST() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins.rejectREST
}

// isLogin reports whether a request opens a session.
func isLogin(r *http.Request, method string) bool {
	return slices.Contains([]string{"Login", "LoginByToken", "CloneSession"}, method) || isRESTLogin(r)
}

func isRESTLogin(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.RawQuery == "" && !strings.HasPrefix(r.URL.Path, vim25.Path) &&
		(r.URL.Path == restSessionPath || r.URL.Path == "/api/session")
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
		left := v.faults.loginDelay() - time.Since(began)
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
