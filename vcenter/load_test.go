package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// loadWindow is the duration of each mode.
const loadWindow = 15 * time.Second

// A loadMode is a situation of a vCenter with its load limits for one daemon: a constant, and a rate per minute.
// The limits on concurrent requests and sessions always apply.
type loadMode struct {
	name string // The key for readLimits.
	// start sets the mode up before the daemon starts. If nil, the mode starts after the first read.
	start func(*testing.T, *fleet.VCenter)
	// run runs until the context is done.
	run  func(context.Context, *testing.T, *fleet.VCenter)
	opts func(*Options)
	// speedup is the speed of opts relative to the defaults; 1 if zero.
	speedup int

	once, minute fleet.Load
}

// atMost returns the load limit for a duration.
func (m *loadMode) atMost(d time.Duration) fleet.Load {
	d *= time.Duration(max(m.speedup, 1))
	sum := func(once, minute int) int { return once + int((time.Duration(minute)*d+time.Minute-1)/time.Minute) }
	return fleet.Load{
		Requests: sum(m.once.Requests, m.minute.Requests),
		Logins:   sum(m.once.Logins, m.minute.Logins),
		TagReads: sum(m.once.TagReads, m.minute.TagReads),
		InFlight: 8, Sessions: 2,
	}
}

// TestLoad compares the load of each mode with the documented limits. It is not parallel to other tests, which
// two dozen simulators would slow down.
func TestLoad(t *testing.T) {
	// All modes run at once, because they mostly wait.
	var modes sync.WaitGroup
	defer modes.Wait()
	limits := readLimits(t)
	for _, mode := range loadModes() {
		limit, isDocumented := limits[mode.name]
		if delete(limits, mode.name); !isDocumented {
			t.Errorf("%s has no row for %q", loadPage, mode.name)
		}
		mode.once, mode.minute = limit[0], limit[1]
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
			if mode.run != nil {
				mode.run(ctx, t, east)
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
	if len(limits) > 0 {
		t.Errorf("%s has rows that are no modes: %v", loadPage, limits)
	}
}

const loadPage = "../docs/how-to/sizing.md"

// readLimits returns the documented limits of each mode: the constant and the rate per minute.
func readLimits(t *testing.T) map[string][2]fleet.Load {
	page, err := os.ReadFile(loadPage)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string][2]fleet.Load{}
	for line := range strings.Lines(string(page)) {
		name, cells, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		var once, minute fleet.Load
		if _, err := fmt.Sscanf(cells, "%d | %d | %d | %d | %d | %d", &once.Logins, &minute.Logins, &once.TagReads, &minute.TagReads, &once.Requests, &minute.Requests); err == nil {
			limits[name] = [2]fleet.Load{once, minute}
		}
	}
	return limits
}

// every repeats do until the context is done.
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

// inBackground starts an activity in the background.
func inBackground(do func(v *fleet.VCenter)) func(context.Context, *testing.T, *fleet.VCenter) {
	return func(_ context.Context, _ *testing.T, v *fleet.VCenter) { do(v) }
}

// switchOthers switches the power of a VM without a Node.
func switchOthers(v *fleet.VCenter, n int) error {
	if n%2 == 0 {
		return v.PowerOff("n3")
	}
	return errors.Join(v.PowerOn("n3"), v.SetIPs("n3", fmt.Sprintf("10.0.0.%d", 1+n%250)))
}

// fiveTimes makes polls and reads of tags five times as frequent as the default.
func fiveTimes(o *Options) { o.PollTime, o.TagRefresh = 5*time.Second, 6*time.Second }

func asItIs(*testing.T, *fleet.VCenter) {}

func loadModes() []loadMode {
	return []loadMode{
		{name: "when the daemon starts", start: asItIs},
		{name: "at rest", speedup: 5, opts: fiveTimes},
		{
			name: "accepts connections and never responds", speedup: 5, opts: func(o *Options) { o.PollTime, o.Timeout, o.RetryMax = 5*time.Second, 3*time.Second, 2*time.Second },
			run: inBackground((*fleet.VCenter).Hang),
		},
		{name: "breaks each connection in the middle of an answer", run: inBackground((*fleet.VCenter).Drop)},
		{name: "rejects the credentials", start: func(_ *testing.T, v *fleet.VCenter) { v.RejectPassword() }},
		{name: "denies the account permission to log in", start: func(_ *testing.T, v *fleet.VCenter) { v.Fault("Login", new(types.NoPermission)) }},
		{
			name: "answers no login in time", start: func(_ *testing.T, v *fleet.VCenter) { v.SlowLogin(time.Minute) },
			opts: func(o *Options) { o.LoginTimeout = 2 * time.Second },
		},
		{name: "ends all sessions three times a second", run: every(300*time.Millisecond, func(v *fleet.VCenter, _ int) error { v.EndSessions(); return nil })},
		{name: "answers each long poll with a fault", run: inBackground(func(v *fleet.VCenter) { v.Fault("WaitForUpdatesEx", new(types.InvalidState)) })},
		{
			name: "forgets collectors and views three times a second, while the session lives on", run: every(300*time.Millisecond, func(v *fleet.VCenter, _ int) error { v.ForgetObjects(); return nil }),
		},
		{name: "rejects logins to the tagging service only", start: func(_ *testing.T, v *fleet.VCenter) { v.RejectRESTLogin() }},
		{name: "has a tagging service that never responds", start: func(_ *testing.T, v *fleet.VCenter) { v.HangTagging() }},
		{name: "has a tagging service that throttles (429, then 503)", start: func(_ *testing.T, v *fleet.VCenter) { v.ThrottleTagging() }},
		{name: "has a tagging service that is starting (503)", start: func(_ *testing.T, v *fleet.VCenter) { v.StartTagging() }},
		{
			name: "forbids all tags (403)", start: func(_ *testing.T, v *fleet.VCenter) {
				v.FaultREST("POST /com/vmware/cis/tagging/*", http.StatusForbidden)
			},
		},
		{
			name: "forbids the tags of three objects", start: func(t *testing.T, v *fleet.VCenter) {
				for _, object := range []string{"/", "/prod", "c1-host-1"} {
					if err := v.DenyRead(object); err != nil {
						t.Error(err)
					}
				}
			},
		},
		{
			name: "moves a Node's VM ten times a second", run: every(100*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.MoveVM("n1", []string{"c2-host-1", "c1-host-1"}[n%2])
			}),
		},
		{
			name: "changes the addresses of a Node's VM fifty times a second", run: every(20*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.SetIPs("n1", fmt.Sprintf("10.0.0.%d", 1+n%250))
			}),
		},
		{
			name: "clones ten VMs a second", speedup: 5, opts: fiveTimes, run: every(100*time.Millisecond, func(v *fleet.VCenter, n int) error {
				if n >= 3 {
					if err := v.SetReadable(fmt.Sprintf("clone-%d", n-3), true); err != nil {
						return err
					}
				}
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("clone-%d", n), Unreadable: true})
			}),
		},
		{
			name: "creates and deletes ten VMs a second", speedup: 5, opts: fiveTimes, run: every(100*time.Millisecond, func(v *fleet.VCenter, n int) error {
				if n >= 5 {
					if err := v.Destroy(fmt.Sprintf("other-%d", n-5)); err != nil {
						return err
					}
				}
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("other-%d", n)})
			}),
		},
		{
			// Just after an idle poll has reported no changes.
			name: "creates a VM every 26 seconds", speedup: 5, opts: fiveTimes, run: every(5200*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("other-%d", n)})
			}),
		},
		{
			name: "creates a hundred VMs a second", run: every(10*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("other-%d", n)})
			}),
		},
		{name: "switches VMs without Nodes off and on ten times a second", speedup: 5, opts: fiveTimes, run: every(100*time.Millisecond, switchOthers)},
		{name: "switches VMs without Nodes off and on a hundred times a second", speedup: 5, opts: fiveTimes, run: every(10*time.Millisecond, switchOthers)},
		{name: "rejects an entire list view update because of one object", start: func(_ *testing.T, v *fleet.VCenter) { v.FaultListing(new(types.NoPermission)) }},
		{
			name: "answers each long poll with HTTP 200 and an empty answer", start: func(t *testing.T, v *fleet.VCenter) {
				if err := v.AnswerOddly("WaitForUpdatesEx", "empty"); err != nil {
					t.Error(err)
				}
			},
		},
		{
			name: "answers each long poll immediately, without changes", start: func(t *testing.T, v *fleet.VCenter) {
				if err := v.AnswerOddly("WaitForUpdatesEx", fleet.OddNothing); err != nil {
					t.Error(err)
				}
			},
		},
	}
}
