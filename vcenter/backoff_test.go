package vcenter

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

// TestLoginsToAVCenterThatEndsEachSession allows 12 logins per minute, for every lifetime of the sessions,
// whether or not the vCenter can be read. Jitter only reduces that.
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
				now += b.next(lives, read, true)
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

// TestBackoff checks that the first lost session causes no delay, and a broken watch in a live session a
// short delay.
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
		if got := b.next(step.took, step.read, step.lost); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// TestAVCenterThatContradictsItself reports changing names of a datacenter, and is not read continuously.
func TestAVCenterThatContradictsItself(t *testing.T) {
	t.Parallel()
	for name, contradiction := range map[string]func(string) string{
		"a datacenter that is not read": func(answer string) string { return strings.ReplaceAll(answer, ">dc1<", ">dc9<") },
		"a datacenter without a name":   func(answer string) string { return strings.ReplaceAll(answer, ">dc1<", "><") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, f, cfg := vcentertest.EastBehindFront(t)
			cfg.Datacenters = []string{"dc1"}
			var readings atomic.Int64
			f.Answer(func(w http.ResponseWriter, r *http.Request, body string) bool {
				if !strings.Contains(body, "RetrievePropertiesEx") {
					return false
				}
				readings.Add(1)
				honest := httptest.NewRecorder()
				r = r.Clone(r.Context())
				r.Body = io.NopCloser(strings.NewReader(body))
				r.Header.Del("Accept-Encoding")
				sim.VCenters()[0].ServeHTTP(honest, r)
				w.WriteHeader(honest.Code)
				_, _ = io.WriteString(w, contradiction(honest.Body.String()))
				return true
			})
			opts := quick
			opts.RetryMin, opts.RetryMax = 500*time.Millisecond, 10*time.Second
			w := follow(t, sim, cfg, FromFile, opts)
			// The first read, three immediate restarts, and restarts after 0.25 s to 2 s each.
			w.until("four readings", func([]inventory.State) bool { return readings.Load() >= 4 })
			time.Sleep(6 * time.Second)
			if n := readings.Load(); n > 14 {
				t.Errorf("it was read %d times in 6 s, want at most 14", n)
			}
		})
	}
}
