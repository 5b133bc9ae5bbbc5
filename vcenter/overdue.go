package vcenter

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// Until a vCenter is read or fails, it may have a second VM with a Node's UUID, so new Nodes of other
// vCenters stay uninitialized. These bound that wait: maxSilence since the last answer, maxReadTime
// in total.
const (
	maxSilence  = 1500 * time.Millisecond
	maxReadTime = 10 * time.Second
)

type deadline struct {
	configuredAt time.Time
}

func (d deadline) remaining(lastAnswer time.Time) time.Duration {
	silentSince := d.configuredAt
	if lastAnswer.After(silentSince) {
		silentSince = lastAnswer
	}
	return min(time.Until(silentSince.Add(maxSilence)), time.Until(d.configuredAt.Add(maxReadTime)))
}

func (m *monitor) untilOverdue() <-chan time.Time {
	if s := &m.current.state; s.Overdue || s.Snapshot != nil || s.Err != nil {
		return nil
	}
	return time.After(m.readDeadline.remaining(m.current.endpoint.LastAnswer()))
}

func (m *monitor) publishOverdue(ctx context.Context) {
	if m.readDeadline.remaining(m.current.endpoint.LastAnswer()) > 0 {
		return // An answer moved the deadline.
	}
	m.current.state.Overdue = true
	m.publish(true)
	klog.FromContext(ctx).Info("Reading the vCenter takes a long time; new Nodes of other vCenters no longer wait for it")
}
