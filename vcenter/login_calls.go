package vcenter

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// logins sends the SOAP requests that open sessions. None is repeated: the first may
// have left a session behind.
func (c *calls) logins(next soap.RoundTripper) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) error {
		return c.login(ctx, method(req), func(ctx context.Context) error { return next.RoundTrip(ctx, req, res) })
	})
}

// login makes a call that opens a session. If it was sent and there is no telling how
// it ended, the error is an *unanswered.
func (c *calls) login(ctx context.Context, name string, call func(context.Context) error) error {
	began := time.Now()
	sent, err := c.show(ctx, name, call)
	if err == nil || !sent || decided(err) {
		return err
	}
	return &unanswered{err, errors.Is(err, context.DeadlineExceeded) || time.Since(began) >= c.timeout}
}

// vouch makes a call that shows credentials and opens no session in the vCenter.
func (c *calls) vouch(ctx context.Context, name string, call func(context.Context) error) error {
	sent, err := c.show(ctx, name, call)
	if sent && errors.Is(err, context.DeadlineExceeded) {
		return &unanswered{err, true}
	}
	return err
}

// show makes a call with credentials and reports whether they were sent.
func (c *calls) show(ctx context.Context, name string, call func(context.Context) error) (bool, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	err := c.within(ctx, name, c.loginTimeout, call)
	return sent.Load(), err
}

// errUnusable is how a login ends that panics, as govmomi does at odd answers.
var errUnusable = &unanswered{errors.New("the answer cannot be used"), false}

// decided reports whether an error is what the server itself said of a request, and
// no gateway before it that has not heard of the end.
func decided(err error) bool {
	var fault interface{ Fault() types.BaseMethodFault }
	status := statusOf(err)
	return errors.As(err, &fault) || status != 0 && status != http.StatusBadGateway && status != http.StatusGatewayTimeout
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
