package vcenter

import (
	"time"

	"vzones/vcenter/inventory"
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
	members := *f.members.Load()
	all := make([]Health, len(members))
	for i, m := range members {
		all[i] = m.health()
	}
	return all
}

func (m *member) health() Health {
	now := m.status.Load()
	h := Health{State: m.state(now), Rejected: m.throttle.Rejected(m.target.tags), Tags: TagsRead}
	if m.target.tags {
		h.Tags = TagsNotRead
	}
	if now.of(m.target) {
		h.CredentialsErr = now.credentialsErr
		h.Answered = !now.endpoint.LastAnswer().IsZero()
		h.CertificateEnds = now.endpoint.CertificateEnds()
		if m.target.tags {
			h.Tags = now.tags
		}
	}
	return h
}
