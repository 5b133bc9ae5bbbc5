package vcenter

import (
	"sync/atomic"

	"github.com/vmware/govmomi/vim25"

	"vzones/vcenter/session"
)

// A reader reads the inventory of one vCenter through one session.
type reader struct {
	*session.Session
	vim *vim25.Client

	// hosts is how host groups and fault domains are read.
	hosts atomic.Int32
}

func newReader(s *session.Session) *reader { return &reader{Session: s, vim: s.Client()} }
