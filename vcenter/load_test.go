package vcenter

import (
	"context"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// loadWindow is how long a vCenter is watched in each mode.
const loadWindow = 15 * time.Second

// A loadMode is something that a vCenter goes through, and the most that one daemon
// may make of it: once, and that much more in each minute. The numbers in flight and
// of sessions hold at any time. docs/how-to/sizing.md tells operators these numbers.
type loadMode struct {
	name string // what the vCenter does
	// start is what is so when the daemon starts; without it the mode begins when
	// everything was read.
	start func(*testing.T, *fleet.VCenter)
	// goes on until the context is done.
	goes func(context.Context, *testing.T, *fleet.VCenter)
	opts func(*Options)
	// faster is how many times as fast opts let things happen as the defaults do, 1 if
	// zero.
	faster int

	once, minute fleet.Load
}

// atMost returns what is allowed in a time.
func (m *loadMode) atMost(d time.Duration) fleet.Load {
	d *= time.Duration(max(m.faster, 1))
	sum := func(once, minute int) int { return once + int((time.Duration(minute)*d+time.Minute-1)/time.Minute) }
	return fleet.Load{
		Requests: sum(m.once.Requests, m.minute.Requests),
		Logins:   sum(m.once.Logins, m.minute.Logins),
		TagReads: sum(m.once.TagReads, m.minute.TagReads),
		InFlight: 8, Sessions: 2,
	}
}

// TestLoad: what the daemon's defaults make of each mode, counted by the vCenter.
func TestLoad(t *testing.T) {
	t.Parallel()
	// All at once, and not only as many as there are processors: they mostly wait.
	var modes sync.WaitGroup
	defer modes.Wait()
	for _, mode := range loadModes() {
		test := func(t *testing.T) {
			opts := Options{Requirements: Requirements{Tags: true, Categories: []string{"region", "zone"}}}
			if mode.opts != nil {
				mode.opts(&opts)
			}
			w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
				if mode.start != nil {
					mode.start(t, sim.VCenter("east"))
				}
			})
			east := w.sim.VCenter("east")
			began := time.Now()
			n1 := w.id("n1")
			w.fleet.Follow([]inventory.Identity{n1, w.id("n2")})
			if mode.start == nil {
				w.found(n1)
				w.until("n1 placed", func([]inventory.State) bool { return w.zone(n1) == "east/a" })
				east.ResetRequests()
				began = time.Now()
			}
			ctx, cancel := context.WithTimeout(t.Context(), loadWindow)
			defer cancel()
			if mode.goes != nil {
				mode.goes(ctx, t, east)
			}
			<-ctx.Done()
			took := time.Since(began)
			got, want := east.Load(), mode.atMost(took)
			if got.Requests > want.Requests || got.Logins > want.Logins || got.TagReads > want.TagReads ||
				got.InFlight > want.InFlight || got.Sessions > want.Sessions {
				t.Errorf("%+v in %v, at most %+v is allowed\n%v", got, took.Round(time.Millisecond), want, east.Requests())
			}
			t.Logf("%+v of %+v", got, want)
			east.RecoverTagging()
			if err := east.Recover(); err != nil {
				t.Error(err)
			}
		}
		modes.Go(func() { t.Run(mode.name, test) })
	}
}

// every does something again and again until the context is done.
func every(d time.Duration, do func(v *fleet.VCenter, n int) error) func(context.Context, *testing.T, *fleet.VCenter) {
	return func(ctx context.Context, t *testing.T, v *fleet.VCenter) {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for n := 0; ; n++ {
			if err := do(v, n); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// begins starts something that goes on in the background.
func begins(do func(v *fleet.VCenter)) func(context.Context, *testing.T, *fleet.VCenter) {
	return func(_ context.Context, _ *testing.T, v *fleet.VCenter) { do(v) }
}
