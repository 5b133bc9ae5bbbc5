package session

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter/faults"
)

// An Observer sees what is asked of vCenters. Its methods are called
// concurrently and must not block.
type Observer interface {
	// Requested is called after each remote call. Call is a SOAP method or one
	// of this package's names of REST calls, a closed set.
	Requested(vcenter, call string, took time.Duration, err error)
	// LoggedIn is called after each attempt to log in.
	LoggedIn(vcenter string, err error)
}

// Options are how a vCenter is called. InFlight alone may be zero.
type Options struct {
	// Timeout bounds calls, LoginTimeout those that show credentials.
	Timeout, LoginTimeout time.Duration
	// InFlight bounds the requests at a time; 8 if zero. A long poll does not count.
	InFlight int
	// Throttle decides when credentials may be shown.
	Throttle *LoginThrottle
	// Observer sees the calls and logins.
	Observer Observer
	// Guard turns panics in calls into their errors.
	Guard *faults.Guard
}

// An Endpoint is how one vCenter is called at one address: with a deadline, not too often
// at a time, and observed. It may be used concurrently.
type Endpoint struct {
	name         string
	timeout      time.Duration
	loginTimeout time.Duration
	throttle     *LoginThrottle
	observer     Observer
	guard        *faults.Guard
	// slots bounds the requests in flight. The long poll takes none.
	slots chan struct{}

	// cfg is the configuration of now. Clients in use refer to it, so it is never changed,
	// only replaced.
	cfg atomic.Pointer[config.VCenter]
	// legacyLogin reports whether the next login to the REST API begins below /rest. An answer that may
	// be about the password, or about a root that the vCenter does not have, changes it: each attempt
	// shows the password once.
	legacyLogin atomic.Bool
	// soapRenewal and restRenewal are of the sessions that are open, one after the other.
	soapRenewal, restRenewal renewal
	// lastAnswer is the time of the last answer, with its monotonic reading, nil before the first.
	lastAnswer atomic.Pointer[time.Time]
	// certificateEnds is until when the certificate of the last new connection is valid, in
	// seconds since 1970.
	certificateEnds atomic.Int64
}

// NewEndpoint returns the endpoint of a vCenter. It contacts nothing.
func NewEndpoint(cfg *config.VCenter, opts Options) *Endpoint {
	e := &Endpoint{
		name: cfg.Name, timeout: opts.Timeout, loginTimeout: opts.LoginTimeout, throttle: opts.Throttle,
		observer: opts.Observer, guard: opts.Guard, slots: make(chan struct{}, cmp.Or(opts.InFlight, 8)),
	}
	e.cfg.Store(cfg)
	return e
}

// Configure replaces the configuration by one with the same address. What is trusted by a
// session that is open stays until [Session.Retrust].
func (e *Endpoint) Configure(cfg *config.VCenter) { e.cfg.Store(cfg) }

// Host returns the host and port that is connected to.
func (e *Endpoint) Host() string { return hostPort(e.cfg.Load()) }

func hostPort(cfg *config.VCenter) string {
	return net.JoinHostPort(cfg.Server, strconv.Itoa(cfg.Port))
}

// LastAnswer returns when a call was last answered, zero if none was.
func (e *Endpoint) LastAnswer() time.Time {
	if at := e.lastAnswer.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// CertificateEnds returns until when what the vCenter showed last is trusted. It is zero
// before the first connection, and where that does not end.
func (e *Endpoint) CertificateEnds() time.Time {
	if at := e.certificateEnds.Load(); at != 0 {
		return time.Unix(at, 0)
	}
	return time.Time{}
}

// Do makes one remote call, whose name is of a closed set.
func (e *Endpoint) Do(ctx context.Context, name string, call func(context.Context) error) error {
	return e.doWithin(ctx, name, e.timeout, call)
}

func (e *Endpoint) doWithin(ctx context.Context, name string, timeout time.Duration, call func(context.Context) error) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.observed(ctx, name, timeout, call)
}

// observed makes a remote call. All calls pass here, so what a server writes leaves this package only in an error
// that is [faults.Printable].
func (e *Endpoint) observed(ctx context.Context, name string, timeout time.Duration, call func(context.Context) error) error {
	began := time.Now()
	err := WithDeadline(ctx, timeout, func(ctx context.Context) error {
		return e.guard.Run(ctx, unusableAnswer(name), func() error { return withoutRequest(call(ctx)) })
	})
	took := time.Since(began)
	if err != nil {
		err = faults.Printable{Err: err}
	} else {
		now := time.Now()
		e.lastAnswer.Store(&now)
	}
	e.observer.Requested(e.name, name, took, err)
	klog.FromContext(ctx).V(4).Info("Called vCenter", "call", name, "duration", took, "err", err)
	return err
}

// unusableAnswer is the text of an error about an answer that cannot be worked with.
func unusableAnswer(call string) string { return "the vCenter's answer to " + call + " cannot be used" }

// WithDeadline bounds one remote call. Its error gives how long the call took; whoever wraps it
// adds what was asked.
func WithDeadline(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("no answer within %v: %w", timeout, bounded.Err())
	}
	return err
}
