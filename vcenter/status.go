package vcenter

import (
	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// A status is what an actor lets others see. One that was published is never changed.
type status struct {
	// cfg is the configuration of the vCenter that the other fields describe.
	cfg   *config.VCenter
	state inventory.State
	// tags is how the last reading of tags ended.
	tags TagReading
	// session is nil without one, and may be of another address.
	session  *session.Session
	endpoint *session.Endpoint
	// credentialsErr says why credentials could not be read when they last were to be, nil if
	// they were.
	credentialsErr error
}

// of reports whether the status is of the vCenter at the address of a target.
func (s *status) of(t *target) bool { return !s.cfg.Diff(&t.cfg).Address }

// sessionWith returns the session with the vCenter at the address of a target, nil if there
// is none.
func (s *status) sessionWith(t *target) *session.Session {
	if s.session == nil || !s.session.Serves(&t.cfg) {
		return nil
	}
	return s.session
}

// TagReading is how the last reading of a vCenter's tags ended.
type TagReading int32

// The zero value is that of a vCenter whose tags were not read yet.
const (
	TagsNotRead TagReading = iota
	// TagsRead is also that of a vCenter whose tags nobody needs.
	TagsRead
	TagsFailed
)

// readingOf returns how a reading with this error ended.
func readingOf(err error) TagReading {
	if err != nil {
		return TagsFailed
	}
	return TagsRead
}
