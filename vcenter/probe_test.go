package vcenter

import (
	"testing"
	"time"

	"vzones/vcenter/inventory"
)

// settled waits until only periodic requests remain, and resets the counts.
func (w *world) settled() {
	w.Helper()
	w.until("all that is watched", func([]inventory.State) bool {
		for _, v := range w.sim.VCenters() {
			if v.Owned("PropertyFilter") < 2 {
				return false
			}
		}
		return true
	})
	for _, v := range w.sim.VCenters() {
		v.ResetRequests()
	}
}

// quiet waits until notifications stop, and drains the channel.
func (w *world) quiet() {
	w.Helper()
	for {
		select {
		case <-w.changed:
		case <-time.After(time.Second):
			return
		}
	}
}

// TestProbeProvesContact checks that a probe renews the contact with the same snapshot and notifies subscribers,
// and that concurrent probes are combined.
func TestProbeProvesContact(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, slow, nil)
	east := w.sim.VCenter("east")
	w.until("both read", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[1].Snapshot != nil })
	w.settled()
	w.quiet()
	before := w.fleet.States()
	if n := east.Requests()["CurrentTime"]; n != 0 {
		t.Fatalf("%d requests without a probe", n)
	}
	east.SetDelay(2 * time.Second)
	w.fleet.Probe("nobody's")
	asked := time.Now()
	for range 500 {
		w.fleet.Probe("east")
	}
	select {
	case <-w.changed:
	case <-time.After(time.Minute):
		t.Error("nobody is told")
	}
	w.until("contact", func(states []inventory.State) bool { return states[0].LastContact.After(asked) })
	w.quiet()
	after := w.fleet.States()
	if after[0].Snapshot != before[0].Snapshot || after[0].Err != nil {
		t.Errorf("a proof of contact changed more than that: %+v", after[0])
	}
	if after[1].LastContact != before[1].LastContact || w.sim.VCenter("west").Requests()["CurrentTime"] > 0 {
		t.Error("west was asked")
	}
	if n := east.Requests()["CurrentTime"]; n < 1 || n > 2 {
		t.Errorf("%d requests for 500 probes at once", n)
	}
}

// TestProbeOfAVCenterThatHangs checks that the error appears after a call's deadline, long before the end of the long
// poll, and the contact is not renewed.
func TestProbeOfAVCenterThatHangs(t *testing.T) {
	t.Parallel()
	opts := slow
	opts.Timeout, opts.PollTime = 2*time.Second, 2*time.Minute
	w := run(t, twoVCenters, opts, nil)
	w.until("both read", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[1].Snapshot != nil })
	w.quiet()
	w.sim.VCenter("east").Hang()
	began := time.Now()
	w.fleet.Probe("east")
	w.until("error", func(states []inventory.State) bool { return states[0].Err != nil })
	if took := time.Since(began); took > opts.PollTime/2 {
		t.Errorf("it took %v", took)
	}
	states := w.fleet.States()
	underWay := began.Add(opts.Timeout / 2) // Earlier answers may still arrive until then.
	if states[0].LastContact.After(underWay) || states[1].Err != nil {
		t.Errorf("states %+v", states)
	}
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("recovery", func(states []inventory.State) bool {
		return states[0].Err == nil && states[0].LastContact.After(underWay)
	})
}
