package vcenter

import (
	"time"

	"vzones/vcenter/inventory"
)

// A Health is a vCenter's state, with what beside it somebody who watches the vCenter wants
// to know. Nodes do not depend on that.
type Health struct {
	inventory.State
	// Rejected reports whether the vCenter has rejected credentials and has accepted none
	// since, at the SOAP or the tagging API. A session that is open lasts all the same.
	Rejected bool
	// Tags says how the last reading of tags ended. What is known of them is in Snapshot.
	Tags TagReading
	// CertificateEnds is when the certificate that the vCenter showed last is not valid any
	// more, or one that it is trusted for. It is zero before the first connection, where any
	// certificate is accepted, and where this one is by its thumbprint.
	CertificateEnds time.Time
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

// readingOf says how a reading with this error ended.
func readingOf(err error) TagReading {
	if err != nil {
		return TagsFailed
	}
	return TagsRead
}

// Health returns that of each vCenter in the order of the configuration.
func (f *Fleet) Health() []Health {
	connections := *f.connections.Load()
	all := make([]Health, len(connections))
	for i, c := range connections {
		all[i] = c.health()
	}
	return all
}

func (c *connection) health() Health {
	tags := c.target.Load().tags
	h := Health{State: c.stateNow(), Rejected: c.throttle.Rejected(tags), Tags: TagsRead, CertificateEnds: c.endpoint.Load().CertificateEnds()}
	if tags {
		h.Tags = TagReading(c.tagReading.Load())
	}
	return h
}

// stateNow is the state with the address that is configured now.
func (c *connection) stateNow() inventory.State {
	s := *c.state.Load()
	s.Address = c.target.Load().cfg.Address()
	return s
}
