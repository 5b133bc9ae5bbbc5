package vcenter

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// A vCenter that was neither read nor failed may have a second VM with the same UUID, so Nodes of other
// vCenters stay uninitialized. These bound that time. A vCenter that does not answer may hang and gets
// less time.
const (
	// silentTime bounds the time without any answer.
	silentTime = 1500 * time.Millisecond
	// readTime bounds the total time, which a large or slow vCenter sometimes exceeds.
	readTime = 10 * time.Second
)

// A deadline limits the time until the first successful or failed read of a vCenter.
type deadline struct {
	// configuredAt is the time when the current address was set.
	configuredAt time.Time
}

// remaining returns the time left. lastAnswer is zero if the vCenter never answered.
func (d deadline) remaining(lastAnswer time.Time) time.Duration {
	silentSince := d.configuredAt
	if lastAnswer.After(silentSince) {
		silentSince = lastAnswer
	}
	return min(time.Until(silentSince.Add(silentTime)), time.Until(d.configuredAt.Add(readTime)))
}

// untilOverdue fires when the vCenter may be overdue. It is nil after the first read or failure, and
// once the vCenter is overdue.
func (m *monitor) untilOverdue() <-chan time.Time {
	if s := &m.now.state; s.Overdue || s.Snapshot != nil || s.Err != nil {
		return nil
	}
	return time.After(m.overdue.remaining(m.now.endpoint.LastAnswer()))
}

func (m *monitor) publishOverdue(ctx context.Context) {
	if m.overdue.remaining(m.now.endpoint.LastAnswer()) > 0 {
		return // an answer has moved the deadline
	}
	m.now.state.Overdue = true
	m.publish(true)
	klog.FromContext(ctx).Info("Reading the vCenter takes long; new Nodes of other vCenters no longer wait for it")
}
