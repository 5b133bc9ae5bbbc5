package vcenter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"k8s.io/klog/v2"

	"vzones/topology/quote"
)

// An Observer is told what is asked of vCenters. Its methods are called
// concurrently and must not block.
type Observer interface {
	// Requested is called after each remote call. Call is a SOAP method or one
	// of this package's names of REST calls, a closed set.
	Requested(vcenter, call string, took time.Duration, err error)
	// LoggedIn is called after each attempt to log in.
	LoggedIn(vcenter string, err error)
	// WatchStarted is called each time a vCenter's watch begins anew.
	WatchStarted(vcenter string)
}

// unobserved is the Observer of who wants none.
type unobserved struct{}

func (unobserved) Requested(string, string, time.Duration, error) {}
func (unobserved) LoggedIn(string, error)                         {}
func (unobserved) WatchStarted(string)                            {}

// calls is how one vCenter is called: with a deadline, not too often at a time,
// and observed.
type calls struct {
	vcenter string
	// timeout bounds calls, loginTimeout those that show credentials, which attempts
	// has a say in.
	timeout, loginTimeout time.Duration
	attempts              *attempts
	// lockouts has a say in them too, for all connections.
	lockouts *lockouts

	tries    atomic.Int32
	observer Observer
	// slots bounds the requests in flight. The long poll takes none.
	slots chan struct{}
	guard *guard
	// answered gets the time of each answer, in nanoseconds.
	answered *atomic.Int64
	// certificateEnds gets until when the certificate of each new connection is valid, in
	// seconds since 1970. Nil is for who does not want to know.
	certificateEnds *atomic.Int64
}

// do makes one remote call.
func (c *calls) do(ctx context.Context, name string, call func(context.Context) error) error {
	return c.within(ctx, name, c.timeout, call)
}

func (c *calls) within(ctx context.Context, name string, timeout time.Duration, call func(context.Context) error) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.observed(ctx, name, timeout, call)
}

func (c *calls) observed(ctx context.Context, name string, timeout time.Duration, call func(context.Context) error) error {
	began := time.Now()
	err := withDeadline(ctx, timeout, func(ctx context.Context) error {
		return c.guard.run(ctx, unusable(name), func() error { return brief(call(ctx)) })
	})
	took := time.Since(began)
	if err == nil {
		c.answered.Store(time.Now().UnixNano())
	}
	c.observer.Requested(c.vcenter, name, took, err)
	if log := klog.FromContext(ctx).V(4); log.Enabled() {
		said := err
		if err != nil {
			said = printable{err}
		}
		log.Info("Called vCenter", "call", name, "duration", took, "err", said)
	}
	return err
}

// unusable says what is wrong where an answer is none that can be worked with.
func unusable(call string) string { return "the vCenter's answer to " + call + " cannot be used" }

// send sends a SOAP request. An envelope with nothing in it is an error: govmomi and
// its users take what they have asked for to be in an answer without a fault.
func send(ctx context.Context, next soap.RoundTripper, req, res soap.HasFault) error {
	if err := next.RoundTrip(ctx, req, res); err != nil {
		return err
	}
	if answer := reflect.ValueOf(res).Elem().FieldByName("Res"); answer.Kind() == reflect.Pointer && answer.IsNil() {
		return fmt.Errorf("%s: it is empty", unusable(method(req)))
	}
	return nil
}

// roundTripper sends the SOAP requests of a client, each that the network broke
// once more, up to the configured number of times.
func (c *calls) roundTripper(next soap.RoundTripper) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) (err error) {
		for range max(c.tries.Load(), 1) {
			err = c.do(ctx, method(req), func(ctx context.Context) error { return send(ctx, next, req, res) })
			if !vim25.IsTemporaryNetworkError(err) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				break
			}
		}
		return err
	})
}

// patient sends requests that may take longer than others and do not stand in their
// way, such as long polls.
func (c *calls) patient(next soap.RoundTripper, timeout time.Duration) soap.RoundTripper {
	return roundTrip(func(ctx context.Context, req, res soap.HasFault) error {
		return c.observed(ctx, method(req), timeout, func(ctx context.Context) error { return send(ctx, next, req, res) })
	})
}

type roundTrip func(ctx context.Context, req, res soap.HasFault) error

func (f roundTrip) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	return f(ctx, req, res)
}

// method returns the SOAP method of a request body, whose type govmomi names
// after it.
func method(req soap.HasFault) string {
	name := reflect.TypeOf(req).Elem().Name()
	if n := len(name) - len("Body"); n > 0 && name[n:] == "Body" {
		return name[:n]
	}
	return name
}

// withDeadline bounds one remote call. What was asked is said by whoever wraps
// the error; this says how long it took.
func withDeadline(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("no answer within %v: %w", timeout, bounded.Err())
	}
	return err
}

var (
	// localPort matches our side of a connection in an error of package net.
	localPort = regexp.MustCompile(`\S+:\d+->`)
	// sessionObject matches the ID of an object that belongs to a session, which has
	// the session's ID in it.
	sessionObject = regexp.MustCompile(`session\[[^\]]*\][-0-9A-Za-z]*`)
)

// printable is an error that reads the same for the same failure, on one line of a bounded
// length whatever the vCenter says, and has nothing secret in it: neither the local port,
// which is another one with each connection, nor the ID of the session.
type printable struct{ error }

func (p printable) Error() string {
	text := sessionObject.ReplaceAllString(localPort.ReplaceAllString(p.error.Error(), ""), "of the session")
	return quote.Text(strings.ReplaceAll(text, "\n", "; ")) // of errors that are joined
}

func (p printable) Unwrap() error { return p.error }
