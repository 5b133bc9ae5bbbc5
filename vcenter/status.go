package vcenter

import (
	"fmt"
	"time"

	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// A status is immutable once published.
type status struct {
	// spec is the configuration the other fields were read with.
	spec  *spec
	state inventory.State
	// reader is the watch that read state.Snapshot.
	reader reader
	tags   TagReading
	// session may be nil, or belong to another address.
	session  *session.Session
	endpoint *session.Endpoint
	// credentialsErr is the error of the last read of credentials.
	credentialsErr error
	// reading is never nil.
	reading *reading
}

// A reader describes the watch that read a snapshot. It is zero without a snapshot.
type reader struct {
	// with is the spec at the start of the watch.
	with *spec
	// running reports whether the watch updates the snapshot.
	running bool
}

// isOf reports whether the status belongs to the address of a spec.
func (s *status) isOf(v *spec) bool { return !s.spec.cfg.Diff(&v.cfg).ChangesAddress() }

// stateFor returns the state for a spec with the same address. Nothing else decides whether a snapshot
// is current: without an error, the watch that read it is running and meets the spec.
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

// TagReading is the result of the last read of a vCenter's tags.
type TagReading int32

// TagsNotRead is the zero value.
const (
	TagsNotRead TagReading = iota
	// TagsRead is also the result if tags are not required.
	TagsRead
	TagsFailed
)

// A Health is a vCenter's state with further fields for monitoring only.
type Health struct {
	inventory.State
	// Rejected reports whether SOAP or the tagging API rejected the last credentials. An open session
	// stays valid.
	Rejected bool
	// CredentialsErr is the error if the configured credentials are missing or unreadable.
	CredentialsErr error
	// Answered reports whether the vCenter has answered at its current address.
	Answered bool
	// Tags is the result of the last read of tags.
	Tags TagReading
	// CertificateEnds is the earliest expiry of the certificates that verify the vCenter. It is zero
	// before the first connection, and with trust by thumbprint or any certificate.
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
