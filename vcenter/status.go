package vcenter

import (
	"fmt"
	"time"

	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// A status is what a monitor lets others see. One that was published is never changed.
type status struct {
	// spec is of the vCenter that the other fields describe.
	spec  *spec
	state inventory.State
	// reader is the watch that has read state.Snapshot.
	reader reader
	// tags is how the last reading of tags ended.
	tags TagReading
	// session is nil without one, and may be of another address.
	session  *session.Session
	endpoint *session.Endpoint
	// credentialsErr says why credentials could not be read when they last were to be, nil if
	// they were.
	credentialsErr error
	// reading is never nil.
	reading *reading
}

// A reader describes the watch that has read a snapshot. It is zero without a snapshot.
type reader struct {
	// with is the spec that the watch was begun with.
	with *spec
	// running reports whether the watch is running. Only while it is does the snapshot get changes.
	running bool
}

// isOf reports whether the status is of the vCenter at the address of a spec.
func (s *status) isOf(v *spec) bool { return !s.spec.cfg.Diff(&v.cfg).ChangesAddress() }

// stateFor returns what is known of the vCenter by a spec, which is of the same address. This is the only
// place that decides whether a snapshot is current: a state without an error has a snapshot of a running watch
// that the spec needs no other one for.
func (s *status) stateFor(v *spec) inventory.State {
	state := s.state
	if state.Snapshot == nil {
		return state
	}
	with := s.reader.with
	needsOther := with == nil || v.needsRestart(with, with.cfg.Diff(&v.cfg))
	if state.Err == nil && (needsOther || !s.reader.running) {
		state.Err = fmt.Errorf("vCenter %q is being read again, since its configuration or its session has changed: wait", state.VCenter)
		state.Cause = inventory.CausePending
	}
	state.Outdated = needsOther || state.Cause == inventory.CausePending
	return state
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

// A Health is a vCenter's state, with what else serves to monitor it. Nodes do not depend
// on that.
type Health struct {
	inventory.State
	// Rejected reports whether the vCenter has rejected credentials and has accepted none
	// since, at the SOAP or the tagging API. A session that is open lasts all the same.
	Rejected bool
	// CredentialsErr says why the credentials that are configured now are not there or cannot be
	// read. It is nil if they were read. A session that is open lasts all the same.
	CredentialsErr error
	// Answered reports whether the vCenter has answered anything since its address is configured.
	Answered bool
	// Tags says how the last reading of tags ended. What is known of them is in Snapshot.
	Tags TagReading
	// CertificateEnds is when the certificate that the vCenter showed last is not valid any
	// more, or one that it is trusted for. It is zero before the first connection, where any
	// certificate is accepted, and where this one is by its thumbprint.
	CertificateEnds time.Time
}

// Health returns the health of each vCenter in the order of the configuration.
func (f *Fleet) Health() []Health {
	vcenters := *f.vcenters.Load()
	all := make([]Health, len(vcenters))
	for i, v := range vcenters {
		all[i] = v.health()
	}
	return all
}

func (v *vCenter) health() Health {
	now := v.status.Load()
	configured := v.spec.Load()
	h := Health{State: v.state(), Rejected: v.throttle.Rejected(configured.Tags), Tags: TagsRead}
	if configured.Tags {
		h.Tags = TagsNotRead
	}
	if now.isOf(configured) {
		h.CredentialsErr = now.credentialsErr
		h.Answered = !now.endpoint.LastAnswer().IsZero()
		h.CertificateEnds = now.endpoint.CertificateEnds()
		if configured.Tags {
			h.Tags = now.tags
		}
	}
	return h
}
