package faults_test

import (
	"testing"
	"testing/synctest"
	"time"

	"vzones/vcenter/faults"
)

// TestOutage has one line for each cause, and an end.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o faults.Outage
		if _, ended := o.End(); ended {
			t.Error("what has not begun has ended")
		}
		for range 2 {
			for i, want := range []bool{true, false, true, false} {
				if got := o.Begins([]string{"down", "down", "rejected", "down"}[i]); got != want {
					t.Errorf("error %d: logged is %t", i, got)
				}
			}
			time.Sleep(time.Minute)
			if lasted, ended := o.End(); !ended || lasted != time.Minute {
				t.Errorf("%v, %t", lasted, ended)
			}
		}
	})
}
