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

// Many daemons may lose a vCenter at the same time, and would overload it by reading all its VMs at
// once when it is back. So each waits for a random part of a window that grows with the VMs.
const (
	// windowPerVM yields 2 minutes for 40,000 VMs and under a second for 300.
	windowPerVM = 3 * time.Millisecond
	maxWindow   = 2 * time.Minute
)

func readWindow(vms int) time.Duration {
	return time.Duration(min(vms, int(maxWindow/windowPerVM))) * windowPerVM
}

// A readDelay is zero for a new process and a new configuration.
type readDelay struct {
	wait  time.Duration
	cause error
}

func newReadDelay(vms int, cause error) readDelay {
	return readDelay{wait: randomPart(readWindow(vms)), cause: cause}
}

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

func randomPart(limit time.Duration) time.Duration { return rand.N(max(1, limit)) }

// waitToRead keeps the snapshot in the state, with an error, since changes are unknown. A Probe does
// not end the wait: every daemon with a missing Node would read at once.
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
		switch m.next(ctx, awaited{timer: t.C, done: ctx.Done(), restart: true, credentials: true}) {
		case reconfigured:
			return configurationChanged
		case credentialsToCheck:
			if !m.credentialsDiffer(ctx) {
				continue
			}
			// The watch logs in with the changed credentials.
			m.checkCredentials = true
		case contextDone:
			return ctx.Err()
		}
		return nil
	}
}

func (m *monitor) publishReadDelay() {
	if m.current.state.Err != nil && !m.loggedInSinceFailure {
		return // The vCenter may not be readable at all.
	}
	m.update(func(m *monitor) bool {
		m.current.state.Cause = inventory.CausePending
		m.current.state.NextLogin = time.Time{}
		m.current.state.Err = fmt.Errorf("vCenter %q responds again: reading it is delayed by up to %v, so that not all clusters read it at once", m.name, readWindow(m.memory.VMs()))
		return true
	})
}
