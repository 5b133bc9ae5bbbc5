package vcenter

import (
	"testing"
	"time"
)

// TestLoginsToAVCenterThatEndsEachSession: at most 12 in any minute, however long each
// session lives and whether the vCenter can be read through it. Jitter only adds
// to that.
func TestLoginsToAVCenterThatEndsEachSession(t *testing.T) {
	t.Parallel()
	for _, lives := range []time.Duration{10 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 10100 * time.Millisecond, time.Minute} {
		for _, read := range []bool{true, false} {
			b := newBackoff(500*time.Millisecond, 10*time.Second)
			var now time.Duration
			var logins []time.Duration
			for now < 10*time.Minute {
				logins = append(logins, now)
				now += lives
				now += b.after(lives, read, true)
			}
			for i := range logins {
				n := 0
				for _, at := range logins[i:] {
					if at < logins[i]+time.Minute {
						n++
					}
				}
				if n > 12 {
					t.Fatalf("sessions of %v, read %v: %d logins in the minute after %v", lives, read, n, logins[i])
				}
			}
		}
	}
}

// TestBackoff: the first lost session costs no time, and a watch that breaks in a
// living session little.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := newBackoff(500*time.Millisecond, 10*time.Second)
	for i, step := range []struct {
		took       time.Duration
		read, lost bool
		want       time.Duration
	}{
		{time.Second, true, true, 0},
		{time.Second, true, true, time.Second},
		{time.Second, true, true, 2 * time.Second},
		{time.Second, true, true, 4 * time.Second},
		{time.Second, true, false, 2 * time.Second},
		{time.Second, true, false, 2 * time.Second},
		{time.Second, false, false, 4 * time.Second},
		{time.Second, false, true, 8 * time.Second},
		{time.Second, false, false, 10 * time.Second},
		{11 * time.Second, false, false, 500 * time.Millisecond},
		{11 * time.Second, true, true, 0},
		{11 * time.Second, true, true, 0},
	} {
		if got := b.after(step.took, step.read, step.lost); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}
