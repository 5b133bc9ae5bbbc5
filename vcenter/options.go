package vcenter

import (
	"cmp"
	"context"
	"time"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/watch"
)

// Requirements select what to read besides VMs.
type Requirements = watch.Requirements

// RequirementsOf returns the requirements of the configured placement rules.
func RequirementsOf(cfg *config.Config) Requirements {
	policy := &cfg.Topology.Policy
	categories := policy.Categories()
	return Requirements{
		Tags: len(categories) > 0, Categories: categories, Paths: policy.TagPaths(),
		HostGroups: policy.HostGroups(), FaultDomains: policy.FaultDomains(),
	}
}

// Options configure a fleet.
type Options struct {
	// Requirements apply until the first Apply.
	Requirements
	// Timeout bounds each remote call except logins; 15 s if zero.
	Timeout time.Duration
	// LoginTimeout bounds each login; 90 s if zero.
	LoginTimeout time.Duration
	LoginLimits  session.LoginLimits
	// TagRefresh is the interval between reads of tags; 30 s if zero.
	TagRefresh time.Duration
	// RetryMin and RetryMax bound the delay after a failure; 500 ms and 10 s if zero.
	RetryMin, RetryMax time.Duration
	// PollTime bounds an idle long poll, in whole seconds; 25 s if zero.
	PollTime time.Duration
	// FirstPage bounds the wait for a watch's first page, which contains all VMs; 5 min if zero.
	FirstPage time.Duration
	// InFlight bounds the concurrent requests to one vCenter; 8 if zero.
	InFlight int
	// DeletionHold is the time for which a vCenter must be read without interruption before a missing VM counts as absent;
	// see inventory.Reading.
	DeletionHold time.Duration
	// Observer may be nil.
	Observer Observer

	// accounts are shared by the whole fleet.
	accounts *session.Accounts
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.TagRefresh = cmp.Or(o.TagRefresh, 30*time.Second)
	o.LoginTimeout = cmp.Or(o.LoginTimeout, 90*time.Second)
	o.RetryMin = cmp.Or(o.RetryMin, 500*time.Millisecond)
	o.RetryMax = cmp.Or(o.RetryMax, 10*time.Second)
	o.PollTime = cmp.Or(o.PollTime, 25*time.Second)
	o.FirstPage = cmp.Or(o.FirstPage, 5*time.Minute)
	o.InFlight = cmp.Or(o.InFlight, 8)
	o.accounts = session.NewAccounts(o.LoginLimits)
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	return o
}

// An Observer records requests to vCenters. Its methods are called concurrently and must not block.
type Observer interface {
	session.Observer
	WatchStarted(vcenter string)
}

type unobserved struct{}

func (unobserved) Requested(string, string, time.Duration, error) {}
func (unobserved) LoggedIn(string, error)                         {}
func (unobserved) WatchStarted(string)                            {}

// Credentials log in to one vCenter.
type Credentials = credentials.Credentials

// A CredentialSource returns a vCenter's current credentials. It may block until ctx is done.
type CredentialSource func(ctx context.Context, cfg *config.VCenter) (Credentials, error)

// FromFile returns the credentials in the configuration file.
func FromFile(_ context.Context, cfg *config.VCenter) (Credentials, error) {
	return credentials.FromAccount(cfg.User, cfg.Password)
}
