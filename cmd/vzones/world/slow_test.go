package world

import (
	"errors"
	"fmt"
	"testing"

	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// TestASlowLoginIsWaitedFor, since it has not failed.
func TestASlowLoginIsWaitedFor(t *testing.T) {
	w := &World{fleetRun: fleetRun{fleet: vcenter.NewFleet(nil, nil, vcenter.Options{})}}
	for _, c := range []struct {
		err    error
		isRead bool
	}{
		{fmt.Errorf("vCenter east: %w", &vcenter.SlowLoginError{}), false},
		{errors.New("it refuses connections"), true},
	} {
		if got := w.isRead([]inventory.State{{VCenter: "east", Err: c.err}}, false); got != c.isRead {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
