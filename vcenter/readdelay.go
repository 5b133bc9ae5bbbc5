package vcenter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// After the end of a session or an unreachable vCenter, many daemons would read their whole index at
// once and overload a vCenter that just started. So each waits for a random part of a window that
// grows with the size of its index.
const (
	// windowPerMachine is the window per VM: 2 minutes for 40,000 VMs, under a second for 300.
	windowPerMachine = 3 * time.Millisecond
	maxWindow        = 2 * time.Minute
)

func readWindow(machines int) time.Duration {
	return time.Duration(min(machines, int(maxWindow/windowPerMachine))) * windowPerMachine
}

// A readDelay is the delay before the next read after a failure. The zero value means no delay; it
// applies to a new process and a changed configuration.
type readDelay struct {
	wait time.Duration
	// cause is the failure.
	cause error
}

func newReadDelay(machines int, cause error) readDelay {
	return readDelay{wait: random(readWindow(machines)), cause: cause}
}

// take returns the delay and resets it.
func (d *readDelay) take() readDelay {
	taken := *d
	*d = readDelay{}
	return taken
}

func (d *readDelay) log(ctx context.Context) {
	if d.wait < time.Second {
		return
	}
	klog.FromContext(ctx).Info("Waiting before reading the vCenter again, so that not all clusters read it at once",
		"wait", d.wait.Round(time.Second), "err", faults.Printable{Err: d.cause})
}

// random returns a random part of a duration.
func random(all time.Duration) time.Duration { return rand.N(max(1, all)) }

// waitToRead waits for the read delay. Meanwhile the state keeps its snapshot and has an error, since
// changes since the last watch are unknown. Changed configuration or credentials end the wait. A Probe
// does not: every daemon with a missing Node would then read at once.
func (m *monitor) waitToRead(ctx context.Context) error {
	delay := m.readDelay.take()
	if delay.wait <= 0 {
		return nil
	}
	delay.log(ctx)
	m.publishReadDelay()
	t := time.NewTimer(delay.wait)
	defer t.Stop()
	for {
		switch m.next(ctx, awaited{timer: t.C, stop: ctx.Done(), restart: true, credentials: true}) {
		case reconfigured:
			return otherSpec
		case credentialsToCheck:
			if !m.credentialsDiffer(ctx) {
				continue
			}
			// The watch logs in with them.
			m.checkCredentials = true
		case stopped:
			return ctx.Err()
		}
		return nil
	}
}

// publishReadDelay publishes that the read is pending, unless the vCenter still fails.
func (m *monitor) publishReadDelay() {
	if m.now.state.Err != nil && !m.answered {
		return // The vCenter may not be readable at all.
	}
	m.update(func(m *monitor) bool {
		m.now.state.Cause = inventory.CausePending
		m.now.state.NextLogin = time.Time{}
		m.now.state.Err = fmt.Errorf("vCenter %q answers again: wait for up to %v until it is read, since not all clusters read it at once", m.name, readWindow(m.memory.Machines()))
		return true
	})
}
