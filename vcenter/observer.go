package vcenter

import (
	"time"

	"vzones/vcenter/session"
)

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
