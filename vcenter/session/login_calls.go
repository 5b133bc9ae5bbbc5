package session

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// loginRoundTripper sends the SOAP requests that open sessions. None is repeated: the first
// may have left a session behind.
func (e *Endpoint) loginRoundTripper(next soap.RoundTripper) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) error {
		return e.openSession(ctx, method(req), func(ctx context.Context) error { return next.RoundTrip(ctx, req, res) })
	})
}

// openSession makes a call that opens a session. If it was sent and it is not known how
// it ended, the error is an *unansweredError.
func (e *Endpoint) openSession(ctx context.Context, name string, call func(context.Context) error) error {
	began := time.Now()
	sent, err := e.showCredentials(ctx, name, call)
	if err == nil || !sent || decided(err) {
		return err
	}
	return &unansweredError{err, errors.Is(err, context.DeadlineExceeded) || time.Since(began) >= e.timeout}
}

// exchangeCredentials makes a call that shows credentials and opens no session in the
// vCenter.
func (e *Endpoint) exchangeCredentials(ctx context.Context, name string, call func(context.Context) error) error {
	sent, err := e.showCredentials(ctx, name, call)
	if sent && errors.Is(err, context.DeadlineExceeded) {
		return &unansweredError{err, true}
	}
	return err
}

// showCredentials makes a call with credentials and reports whether they were sent.
func (e *Endpoint) showCredentials(ctx context.Context, name string, call func(context.Context) error) (bool, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	err := e.doWithin(ctx, name, e.loginTimeout, call)
	return sent.Load(), err
}

// errUnusable is how a login ends that panics, as govmomi does at odd answers.
var errUnusable = &unansweredError{errors.New("the answer cannot be used"), false}

// decided reports whether an error is the server's own answer to a request, and not that of
// a gateway before it that does not know how the request ended. Of the REST API's answers it is one
// by which neither the password was looked at nor a session opened.
func decided(err error) bool {
	if slices.Contains([]rest.Class{rest.NoSuchPath, rest.NotFound, rest.Busy}, rest.ClassOf(err)) {
		return !rest.HasStatus(err, http.StatusGatewayTimeout)
	}
	var fault interface{ Fault() types.BaseMethodFault }
	var refused faults.RefusedAnswer
	status := statusOf(err)
	return errors.As(err, &fault) || errors.As(err, &refused) && refused != LargeAnswer && refused != deepAnswer || status != 0 && status != http.StatusBadGateway && status != http.StatusGatewayTimeout
}

// statusOf returns the HTTP status that an error of govmomi is about, 0 if there is
// none. Its types for that are not exported.
func statusOf(err error) int {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	if err == nil {
		return 0
	}
	code, text, _ := strings.Cut(err.Error(), " ")
	status, _ := strconv.Atoi(code)
	if status >= http.StatusBadRequest && status < 600 && strings.HasPrefix(text, http.StatusText(status)) {
		return status
	}
	return 0
}

// loginGrace is how long a login that is under way is waited for when the context is
// done: what it opens is to be closed.
const loginGrace = time.Second

// withGrace returns a context that is done loginGrace after another. A login that
// succeeds meanwhile is the caller's to end.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(loginGrace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}
