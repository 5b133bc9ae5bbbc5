package vcenter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// panicky panics in a chosen method. The goroutines of a watch call its methods.
type panicky struct {
	unobserved
	call string
}

func (p panicky) Requested(vcenter, call string, _ time.Duration, _ error) {
	if vcenter == "east" && call == p.call {
		panic("injected")
	}
}

// TestAPanicIsTheFailureOfItsVCenter covers the goroutines of a watch, a login and a search.
func TestAPanicIsTheFailureOfItsVCenter(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Login", "CreateListView", "WaitForUpdatesEx", "ModifyListView", "tagging: list attached tags", "CurrentTime"} {
		t.Run(call, func(t *testing.T) {
			opts := quick
			opts.Observer = panicky{call: call}
			w := run(t, twoVCenters, opts, nil)
			w1 := w.id("w1")
			w.fleet.Follow([]inventory.Identity{w.id("n1"), w1})
			w.until("error", func(states []inventory.State) bool {
				w.fleet.Probe("east")
				err := states[0].Err
				return err != nil && faults.Recovered(err) && strings.HasSuffix(err.Error(), "panic: injected")
			})
			w.until("w1 placed", func([]inventory.State) bool { return w.zone(w1) == "west/a" })
		})
	}
	t.Run("FindAllByUuid", func(t *testing.T) {
		opts := quick
		opts.Observer = panicky{call: "FindAllByUuid"}
		w := run(t, twoVCenters, opts, func(_ *fleet.Fleet, cfgs []config.VCenter) { cfgs[0].Datacenters = []string{"dc1"} })
		w.until("both read", func(states []inventory.State) bool { return states[0].Snapshot != nil && states[1].Snapshot != nil })
		id := identity(t, "11111111-2222-3333-4444-555555555555")
		if err := w.fleet.ConfirmAbsent(w.ctx, id); !errors.Is(err, topology.ErrUnknown) {
			t.Errorf("absence: %v", err)
		}
		if err := w.fleet.SearchOutside(w.ctx, id); err != nil {
			t.Errorf("search: %v", err)
		}
	})
}

// TestSessionsThatAreLostWithoutAWord checks that one login follows at once and no session is left behind.
func TestSessionsThatAreLostWithoutAWord(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fleet.VCenter){
		"its objects are gone":           (*fleet.VCenter).ForgetObjects,
		"it may read nothing":            (*fleet.VCenter).Blind,
		"it is over, its objects gone":   func(v *fleet.VCenter) { v.ForgetObjects(); v.EndSessions() },
		"it is over":                     (*fleet.VCenter).EndSessions,
		"its objects are gone, a change": func(v *fleet.VCenter) { v.ForgetObjects(); _ = v.PowerOff("n2"); _ = v.PowerOn("n2") },
	} {
		t.Run(name, func(t *testing.T) {
			opts := quick
			opts.RetryMin, opts.RetryMax = time.Minute, time.Minute // A supposed outage would last this long.
			opts.Observer = nil
			w := run(t, twoVCenters, opts, nil)
			east := w.sim.VCenter("east")
			id, late := w.id("n1"), w.id("n2")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			w.settled()
			lose(east)
			w.until("a login", func([]inventory.State) bool { return east.Requests()["Login"] == 1 })
			w.fleet.Follow([]inventory.Identity{id, late})
			w.until("n2 placed", func([]inventory.State) bool { return w.zone(late) == "east/b" })
			if err := w.fleet.States()[0].Err; err != nil {
				t.Errorf("it counts as an outage: %v", err)
			}
			if soap, rest := east.SOAPSessions(), east.RESTSessions(); soap != 1 || rest != 1 {
				t.Errorf("%d SOAP and %d REST sessions", soap, rest)
			}
			if n := east.Requests()["Login"]; n != 1 {
				t.Errorf("%d logins", n)
			}
		})
	}
}

// TestSessionsThatAnswerNothingUseful checks that they are replaced and no session is left behind.
func TestSessionsThatAnswerNothingUseful(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ soap, rest int }{
		"SOAP 401": {soap: 401}, "SOAP 403": {soap: 403}, "SOAP SystemError": {soap: 500},
		"REST 400": {rest: 400}, "REST 403": {rest: 403}, "REST 500": {rest: 500}, "both": {500, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := quick
			opts.PollTime = time.Second
			opts.LoginLimits.RenewMin = time.Second
			w := run(t, twoVCenters, opts, nil)
			east, id, late := w.sim.VCenter("east"), w.id("n1"), w.id("n2")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			spoiled := time.Now()
			east.SpoilSessions(c.soap, c.rest)
			w.until("another session", func([]inventory.State) bool {
				return east.Requests()["Login"] > min(c.soap, 1) && east.Requests()[openREST] > min(c.rest, 1)
			})
			if took := time.Since(spoiled); took < time.Second && c.rest != 400 {
				t.Errorf("replaced after %v", took)
			}
			w.fleet.Follow([]inventory.Identity{id, late})
			w.until("n2 placed", func([]inventory.State) bool { return w.zone(late) == "east/b" && w.east().Err == nil })
			if soap, rest := east.SOAPSessions(), east.RESTSessions(); soap != 1 || rest != 1 {
				t.Errorf("%d SOAP and %d REST sessions", soap, rest)
			}
		})
	}
}

// TestNothingIsLeftWhereReadingDatacentersFails repeatedly in one session.
func TestNothingIsLeftWhereReadingDatacentersFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		fault  types.BaseMethodFault
		most   int
	}{
		"reading":                {"RetrievePropertiesEx", &types.RuntimeFault{}, 1},
		"making a collector":     {"CreatePropertyCollector", &types.RuntimeFault{}, 1},
		"making a filter":        {"CreateFilter", &types.RuntimeFault{}, 3},
		"destroying the view":    {"DestroyView", &types.RuntimeFault{}, 55},
		"making the list":        {"CreateListView", &types.RuntimeFault{}, 4},
		"waiting for the change": {"WaitForUpdatesEx", &types.RuntimeFault{}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			opts := quick
			opts.RetryMin, opts.RetryMax = time.Millisecond, 2*time.Millisecond
			w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, cfgs []config.VCenter) {
				cfgs[0].Datacenters = []string{"dc1"}
				sim.VCenter("east").Fault(c.method, c.fault)
				if c.method == "DestroyView" {
					sim.VCenter("east").Fault("CreateListView", c.fault)
				}
			})
			east := w.sim.VCenter("east")
			most := 0
			w.until("60 attempts", func([]inventory.State) bool {
				most = max(most, east.Owned("ContainerView"))
				return east.Requests()["CreateContainerView"] >= 60
			})
			if most > c.most {
				t.Errorf("%d views at a time, at most %d are expected", most, c.most)
			}
			if n := east.SOAPSessions(); n > 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// TestAnInventoryWhoseFirstPageTakesLong, even longer than a long poll, is read. A vCenter that hangs is
// nevertheless detected soon.
func TestAnInventoryWhoseFirstPageTakesLong(t *testing.T) {
	t.Parallel()
	many := strings.Replace(twoVCenters, "- name: west\n", "- name: west\n  fillers: 1000\n", 1)
	opts := quick
	opts.Timeout, opts.PollTime, opts.FirstPage = patience*3*time.Second, time.Second, 4*time.Minute
	longer := opts.PollTime + opts.Timeout + time.Second
	began := time.Now()
	w := run(t, many, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("west").DelayFirstPage(longer)
		sim.VCenter("west").DelayMethod("WaitForUpdatesEx", 200*time.Millisecond)
	})
	w.until("west read", func(states []inventory.State) bool {
		return states[1].Snapshot != nil && states[1].Snapshot.Len() == 1001
	})
	if took := time.Since(began); took < longer {
		t.Fatalf("it took %v, which proves nothing", took)
	}
	if n := w.sim.VCenter("west").Requests()["CreatePropertyCollector"]; n != 1 {
		t.Errorf("%d watches", n)
	}
	west := w.sim.VCenter("west")
	west.EndSessions()
	west.DelayFirstPage(opts.FirstPage)
	w.until("waiting for the first page", func([]inventory.State) bool { return west.Requests()["Login"] == 2 && west.Owned("ListView") == 1 })
	west.Hang()
	hung := time.Now()
	w.until("error", func(states []inventory.State) bool {
		return states[1].Err != nil && states[1].Cause != inventory.CausePending
	})
	if took := time.Since(hung); took > opts.FirstPage/2 {
		t.Errorf("that it hangs is known after %v", took)
	}
}
