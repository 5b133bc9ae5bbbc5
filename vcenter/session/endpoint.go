package session

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/faults"
)

// An Observer is notified of calls and logins, concurrently. Its methods must not block.
type Observer interface {
	// Requested follows each remote call, whose name is from a closed set.
	Requested(vcenter, call string, took time.Duration, err error)
	LoggedIn(vcenter string, err error)
}

// Options configure an Endpoint. Only InFlight may be zero.
type Options struct {
	// Timeout is the deadline of calls, LoginTimeout of calls with credentials.
	Timeout, LoginTimeout time.Duration
	// InFlight is the maximum number of concurrent requests except long polls; 8 if zero.
	InFlight int
	Throttle *LoginThrottle
	Observer Observer
	Guard    *faults.Guard
}

// An Endpoint calls one vCenter at one address. It is safe for concurrent use.
type Endpoint struct {
	name         string
	timeout      time.Duration
	loginTimeout time.Duration
	throttle     *LoginThrottle
	observer     Observer
	guard        *faults.Guard
	slots        chan struct{}

	// cfg is replaced and never changed, because clients in use refer to it.
	cfg atomic.Pointer[config.VCenter]
	// legacyLogin selects /rest instead of /api for the next REST login. It changes after an error that may mean a
	// missing path, so that no attempt sends the password to both.
	legacyLogin atomic.Bool
	// The renewals outlive each open session.
	soapRenewal, restRenewal renewal
	lastAnswer               atomic.Pointer[time.Time]
	// certificateExpiry is in Unix seconds, 0 if unknown.
	certificateExpiry atomic.Int64
}

// NewEndpoint contacts nothing.
func NewEndpoint(cfg *config.VCenter, opts Options) *Endpoint {
	e := &Endpoint{
		name: cfg.Name, timeout: opts.Timeout, loginTimeout: opts.LoginTimeout, throttle: opts.Throttle,
		observer: opts.Observer, guard: opts.Guard, slots: make(chan struct{}, cmp.Or(opts.InFlight, 8)),
	}
	e.cfg.Store(cfg)
	return e
}

// Configure replaces the configuration, not the address. An open session keeps its trust until [Session.Retrust].
func (e *Endpoint) Configure(cfg *config.VCenter) { e.cfg.Store(cfg) }

// Host returns the host and port of the vCenter.
func (e *Endpoint) Host() string { return hostPort(e.cfg.Load()) }

func hostPort(cfg *config.VCenter) string {
	return net.JoinHostPort(cfg.Server, strconv.Itoa(cfg.Port))
}

// LastAnswer returns the time of the last answer, zero before the first.
func (e *Endpoint) LastAnswer() time.Time {
	if t := e.lastAnswer.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// CertificateExpiry returns the expiry of the vCenter's last certificate, zero if unknown or not verified.
func (e *Endpoint) CertificateExpiry() time.Time {
	if seconds := e.certificateExpiry.Load(); seconds != 0 {
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

// Do makes one remote call with a deadline.
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

// observed makes every remote call, so server text leaves this package only in a [faults.Printable] error.
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

func unusableAnswer(call string) string { return "the vCenter's answer to " + call + " cannot be used" }

// WithDeadline makes a call with a deadline. The error after the deadline does not name the request.
func WithDeadline(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return topology.Errorf(context.DeadlineExceeded, "no answer within %v", timeout)
	}
	return err
}
