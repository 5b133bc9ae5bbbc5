package vcenter

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// A bound is the load that one daemon may put on one vCenter: Once, and that much
// more in each minute. docs/reference/vcenter-load.md has the same numbers, which
// TestLoadIsDocumented in docs compares.
type bound struct {
	once, minute fleet.Load
}

// within returns what is allowed in a time.
func (b bound) within(d time.Duration) fleet.Load {
	per := func(once, minute int) int { return once + int((int64(minute)*int64(d)+int64(time.Minute)-1)/int64(time.Minute)) }
	return fleet.Load{
		Requests: per(b.once.Requests, b.minute.Requests),
		Logins:   per(b.once.Logins, b.minute.Logins),
		TagReads: per(b.once.TagReads, b.minute.TagReads),
		InFlight: b.once.InFlight,
		Sessions: b.once.Sessions,
	}
}

func (b bound) check(t *testing.T, got fleet.Load, d time.Duration) {
	t.Helper()
	want := b.within(d)
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"requests", got.Requests, want.Requests},
		{"logins", got.Logins, want.Logins},
		{"requests to the tagging service", got.TagReads, want.TagReads},
		{"requests in flight", got.InFlight, want.InFlight},
		{"sessions", got.Sessions, want.Sessions},
	} {
		if c.got > c.want {
			t.Errorf("%d %s in %v, at most %d are allowed", c.got, c.what, d.Round(time.Millisecond), c.want)
		}
	}
	t.Logf("in %v: %+v; allowed: %+v", d.Round(time.Millisecond), got, want)
}

// loadWindow is how long a mode is watched.
const loadWindow = 15 * time.Second

// TestLoad puts a vCenter into each mode and counts what the daemon's defaults
// make of it.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it watches each mode for a while")
	}
	for name, mode := range loadModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, twoVCenters, Options{Wanted: Wanted{Tags: true, Categories: []string{"region", "zone"}}}, func(sim *fleet.Fleet, cfgs []config.VCenter) {
				if mode.before != nil {
					mode.before(t, sim.VCenter("east"))
				}
			})
			east := w.sim.VCenter("east")
			began := time.Now()
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("n2"), w.id("n3")})
			if mode.before == nil {
				w.found(w.id("n1"))
				w.until("its tags", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/a" })
				if mode.after != nil {
					east.ResetRequests()
					began = time.Now()
					mode.after(t, east)
				}
			}
			if !mode.atRest {
				time.Sleep(loadWindow) // what must not come is counted
			}
			took := time.Since(began)
			mode.bound.check(t, east.Load(), took)
			if err := east.Recover(); err != nil {
				t.Error(err)
			}
		})
	}
}

type loadMode struct {
	// before is what is wrong when the daemon starts, after what goes wrong later.
	before, after func(*testing.T, *fleet.VCenter)
	atRest        bool
	bound         bound
}

func loadModes() map[string]loadMode {
	return map[string]loadMode{}
}

var _ = fmt.Sprint
var _ = types.InvalidLogin{}
