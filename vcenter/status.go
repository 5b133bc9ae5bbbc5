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
	spec   *spec
	state  inventory.State
	reader reader
	tags   TagReading
	// session may be nil, or belong to another address.
	session        *session.Session
	endpoint       *session.Endpoint
	credentialsErr error
	// reading is the current period of uninterrupted watching. It is never nil.
	reading *reading
}

// A reader describes the watch that read a snapshot.
type reader struct {
	spec    *spec
	running bool
}

func (s *status) hasAddressOf(v *spec) bool { return !s.spec.cfg.Diff(&v.cfg).ChangesAddress() }

// stateFor expects a spec with the same address. It adds an error to a snapshot unless the watch that
// read it is running and meets the spec.
func (s *status) stateFor(v *spec) inventory.State {
	state := s.state
	if state.Snapshot == nil {
		return state
	}
	readSpec := s.reader.spec
	isOutdated := readSpec == nil || v.needsRestart(readSpec, readSpec.cfg.Diff(&v.cfg))
	if state.Err == nil && (isOutdated || !s.reader.running) {
		state.Err = fmt.Errorf("vCenter %q is being read again because its configuration or session changed: wait", state.VCenter)
		state.Cause = inventory.CausePending
	}
	state.Outdated = isOutdated || state.Cause == inventory.CausePending
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
	// Rejected reports whether SOAP or the tagging API rejected the last credentials.
	Rejected bool
	// CredentialsErr is set if the configured credentials are missing or unreadable.
	CredentialsErr error
	// Answered reports whether the current address has ever answered.
	Answered bool
	Tags     TagReading
	// CertificateEnds is the earliest expiry in the vCenter's verified certificate chain. It is zero
	// before the first connection, and if any certificate is accepted or the thumbprint is trusted.
	CertificateEnds time.Time
}

// Health returns the health of each vCenter in the order of the configuration.
func (f *Fleet) Health() []Health {
	vcenters := *f.vcenters.Load()
	healths := make([]Health, len(vcenters))
	for i, v := range vcenters {
		healths[i] = v.health()
	}
	return healths
}

func (v *vCenter) health() Health {
	published := v.status.Load()
	configured := v.spec.Load()
	h := Health{State: v.state(), Rejected: v.throttle.Rejected(configured.Tags), Tags: TagsRead}
	if configured.Tags {
		h.Tags = TagsNotRead
	}
	if published.hasAddressOf(configured) {
		h.CredentialsErr = published.credentialsErr
		h.Answered = !published.endpoint.LastAnswer().IsZero()
		h.CertificateEnds = published.endpoint.CertificateExpiry()
		if configured.Tags {
			h.Tags = published.tags
		}
	}
	return h
}
