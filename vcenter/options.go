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

// Requirements are what is read of the vCenters besides machines. A change of HostGroups or FaultDomains restarts the
// watch of each vCenter.
type Requirements = watch.Requirements

// RequirementsOf returns what the placement by a configuration needs of the vCenters.
func RequirementsOf(cfg *config.Config) Requirements {
	policy := &cfg.Topology.Policy
	categories := policy.Categories()
	return Requirements{
		Tags: len(categories) > 0, Categories: categories, Paths: policy.TagPaths(),
		HostGroups: policy.HostGroups(), FaultDomains: policy.FaultDomains(),
	}
}

// Options tune a fleet. The zero value serves a daemon that needs no tags.
type Options struct {
	// Requirements are what is read of the vCenters until the first Apply.
	Requirements
	// Timeout bounds each remote call but logins; 15 s if zero.
	Timeout time.Duration
	// LoginTimeout bounds each request that shows credentials, which may have to wait
	// for a directory; 90 s if zero.
	LoginTimeout time.Duration
	// LoginLimits bound how often logins that fail are repeated.
	LoginLimits session.LoginLimits
	// TagRefresh is the time between two readings of tags, which vCenter does
	// not announce; 30 s if zero.
	TagRefresh time.Duration
	// RetryMin and RetryMax bound the delay after a failure; 500 ms and 10 s
	// if zero.
	RetryMin, RetryMax time.Duration
	// PollTime is how long the server may hold a long poll open while nothing changes, in
	// whole seconds; 25 s if zero. Its return proves contact. Each answer may take Timeout
	// longer.
	PollTime time.Duration
	// FirstPage bounds the wait for the first page of a vCenter's machines, for which
	// it has to collect all of them; 5 min if zero.
	FirstPage time.Duration
	// InFlight bounds the requests at a time to one vCenter; 8 if zero.
	InFlight int
	// AbsenceHold is how long a reading of a vCenter has to last before a VM that the vCenter does
	// not have is absent: see inventory.Reading. If it is not zero, all hosts have to be connected
	// once in that reading, too.
	AbsenceHold time.Duration
	// Observer is called for each request to a vCenter; nil for none.
	Observer Observer

	// accounts are those of the whole fleet.
	accounts *session.Accounts
}

// withDefaults returns the options with the defaults filled in.
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

// An Observer learns of the requests to vCenters. Its methods are called
// concurrently and must not block.
type Observer interface {
	session.Observer
	// WatchStarted is called each time a vCenter's watch begins again.
	WatchStarted(vcenter string)
}

// unobserved is an Observer that does nothing.
type unobserved struct{}

func (unobserved) Requested(string, string, time.Duration, error) {}
func (unobserved) LoggedIn(string, error)                         {}
func (unobserved) WatchStarted(string)                            {}

// Credentials log in to one vCenter.
type Credentials = credentials.Credentials

// A CredentialSource returns the credentials of a vCenter as they are now. It
// is asked before each login and may take until the context is done.
type CredentialSource func(ctx context.Context, cfg *config.VCenter) (Credentials, error)

// FromFile takes the credentials that the configuration file itself holds: a
// user and a password, or a certificate and its key in their places.
func FromFile(_ context.Context, cfg *config.VCenter) (Credentials, error) {
	return credentials.FromAccount(cfg.User, cfg.Password)
}
