package vcenter

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	openREST   = "POST /com/vmware/cis/session"
	getTag     = "GET /com/vmware/cis/tagging/tag/id:{id}"
	anyWatches = "CreatePropertyCollector"
)

// tagsErr returns the error of the object with this type on a VM's compute path.
func (w *world) tagsErr(id inventory.Identity, kind string) error {
	w.Helper()
	for _, p := range w.found(id).Paths {
		for _, o := range p.Objects {
			if o.Ref.Type == kind {
				return o.TagsErr
			}
		}
	}
	w.Fatalf("no %s above the VM", kind)
	return nil
}

// TestOnlyPathsThatAreWantedAreAskedFor ignores unreadable objects on other paths.
func TestOnlyPathsThatAreWantedAreAskedFor(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.Paths = []topology.PathKind{topology.ComputePath}
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
		if err := sim.VCenter("east").DenyRead("/prod/dc1/vm/x"); err != nil {
			t.Fatal(err)
		}
	})
	n2 := w.id("n2")
	w.fleet.Follow([]inventory.Identity{n2})
	w.until("the cluster's tags", func([]inventory.State) bool { return w.tagsErr(n2, "ClusterComputeResource") == nil })
	east := w.sim.VCenter("east")
	if n := len(w.fleet.States()[0].Snapshot.NotPermitted); n != 0 {
		t.Errorf("%d objects were refused", n)
	}
	opts.Paths = nil
	w.fleet.Apply(w.cfgs, opts.Requirements)
	w.until("all paths read", func(states []inventory.State) bool { return len(states[0].Snapshot.NotPermitted) == 1 })
	if n := east.Requests()[anyWatches]; n != 1 {
		t.Errorf("%d watches", n)
	}
}

// TestTaggingHangsFromTheStart checks that the index is available before the tags' deadline.
func TestTaggingHangsFromTheStart(t *testing.T) {
	t.Parallel()
	opts := Options{Requirements: Requirements{Tags: true}, Timeout: 2 * time.Minute}
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").HangTagging() })
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	began := time.Now()
	w.found(id)
	if took := time.Since(began); took > opts.Timeout/2 {
		t.Errorf("it took %v", took)
	}
	if err := w.tagsErr(id, "ClusterComputeResource"); err == nil {
		t.Error("the tags are known")
	}
}

// TestLoginsToATaggingServiceThatStarts checks that its answers do not mean a rejected password: tags are read
// once the service is up, and a lost SOAP session is replaced.
func TestLoginsToATaggingServiceThatStarts(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotFound, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, _ []config.VCenter) { sim.VCenter("east").FaultREST(openREST, code) })
			east, id := w.sim.VCenter("east"), w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("four logins", func([]inventory.State) bool { return east.Requests()[openREST] >= 4 })
			east.EndSessions()
			w.until("another SOAP session", func([]inventory.State) bool { return logins(east) == 2 && w.east().Err == nil })
			east.FaultREST(openREST, 0)
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
		})
	}
}

// TestAPIOrREST checks that the second root costs a second login only if the first answer does not concern the
// password.
func TestAPIOrREST(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		api, rest bool
		session   int // The HTTP status of a login below /api.
		logins    int
	}{
		"both": {true, true, 0, 1}, "no /rest": {true, false, 0, 1}, "no /api": {false, true, 0, 2},
		"400": {true, true, 400, 2}, "401": {true, true, 401, 2}, "405": {true, true, 405, 2}, "415": {true, true, 415, 2}, "500": {true, true, 500, 2}, "501": {true, true, 501, 2},
	} {
		t.Run(name, func(t *testing.T) {
			opts, seen := quick, new(failures)
			opts.LoginLimits, opts.Observer = hasty, seen
			w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
				sim.VCenter("east").ServeAPI(c.api)
				sim.VCenter("east").ServeREST(c.rest)
				sim.VCenter("east").RejectAPISessions(c.session)
			})
			id := w.id("n1")
			w.fleet.Follow([]inventory.Identity{id})
			w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
			east := w.sim.VCenter("east")
			if n := east.Requests()[openREST]; n != c.logins {
				t.Errorf("%d requests to log in", n)
			}
			mayBePassword := slices.Contains([]int{400, 401, 500}, c.session)
			if _, n := seen.most(time.Hour); (n == 1) != mayBePassword {
				t.Errorf("%d logins have failed", n)
			}
			w.stop()
			if n := east.Sessions(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

func TestESXiHost(t *testing.T) {
	t.Parallel()
	w := run(t, strings.Replace(twoVCenters, "name: east", "name: east\n  esxi: true", 1), quick, nil)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("why", func([]inventory.State) bool {
		return strings.Contains(w.zone(id), "is an ESXi host, which has no tags: configure the vCenter that manages it")
	})
	if n := w.sim.VCenter("east").Requests()[openREST]; n != 0 {
		t.Errorf("the password was shown %d times where no tags are", n)
	}
}
