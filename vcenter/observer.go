package vcenter

import (
	"time"

	"vzones/vcenter/session"
)

// An Observer sees what is asked of vCenters. Its methods are called
// concurrently and must not block.
type Observer interface {
	session.Observer
	// WatchStarted is called each time a vCenter's watch begins again.
	WatchStarted(vcenter string)
}

// unobserved is the Observer of who wants none.
type unobserved struct{}

func (unobserved) Requested(string, string, time.Duration, error) {}
func (unobserved) LoggedIn(string, error)                         {}
func (unobserved) WatchStarted(string)                            {}
