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

// These bound how long a monitor waits before it reads a vCenter again that had
// ended its session or could not be reached. Many daemons notice that at the same
// time, and each reads its whole index: together they would overload the vCenter
// that has just started. The waits are random, within a window
// that grows with the size of the index.
const (
	// windowPerMachine is the window for each machine of the index, whose properties
	// are read in pages: 2 minutes for 40,000 machines, under a second for 300.
	windowPerMachine = 3 * time.Millisecond
	// maxWindow bounds it for any size.
	maxWindow = 2 * time.Minute
)

// readWindow returns the time within which an index of that size is read again.
func readWindow(machines int) time.Duration {
	return time.Duration(min(machines, int(maxWindow/windowPerMachine))) * windowPerMachine
}

// A readDelay is the wait before the next reading, after a watch or an attempt to begin one has failed. The zero
// readDelay, of the first reading of a process and of one after a change of the configuration, is no wait.
type readDelay struct {
	wait time.Duration
	// cause is the failure.
	cause error
}

// newReadDelay returns a wait for a random part of the window of an index of that size.
func newReadDelay(machines int, cause error) readDelay {
	return readDelay{wait: random(readWindow(machines)), cause: cause}
}

// take returns the delay, which applies to one reading.
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

// random returns a random part of a time, zero of none.
func random(all time.Duration) time.Duration { return rand.N(max(1, all)) }

// waitToRead lets the time pass that the next reading has to wait. Meanwhile the state
// keeps its snapshot and has an error, as in an outage: what happened since the
// last watch is not known. A changed configuration ends the wait, and so do changed
// credentials, which the watch logs in with. A Probe does not: every daemon whose Node may be
// gone would read at once, which is what the wait is for.
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

// publishReadDelay publishes that the vCenter is not read yet, unless it is still failing.
func (m *monitor) publishReadDelay() {
	if m.now.state.Err != nil && !m.answered {
		return // nothing says that it can be read
	}
	m.update(func(m *monitor) bool {
		m.now.state.Cause = inventory.CausePending
		m.now.state.NextLogin = time.Time{}
		m.now.state.Err = fmt.Errorf("vCenter %q answers again: wait for up to %v until it is read, since not all clusters read it at once", m.name, readWindow(m.memory.Machines()))
		return true
	})
}
