package vcenter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// accounts is a CredentialSource whose answers a test changes.
type accounts struct {
	mu     sync.Mutex
	broken error
	reads  int
	of     map[string]Credentials
}

func (a *accounts) read(ctx context.Context, cfg *config.VCenter) (Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	if c, ok := a.of[cfg.Name]; ok {
		return c, a.broken
	}
	return FromFile(ctx, cfg)
}

// count returns how often credentials were read.
func (a *accounts) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reads
}

// set gives east other credentials.
func (a *accounts) set(user, password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]Credentials{}
	}
	a.broken = nil
	a.of["east"] = Credentials{User: user, Password: config.NewPassword(password)}
}

// lose makes east's credentials unreadable.
func (a *accounts) lose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of = map[string]Credentials{"east": {}}
	a.broken = errors.New("no such Secret")
}

// renewing is a world with accounts, in which n1 and w1 are found.
func renewing(t *testing.T) (*world, *accounts) {
	t.Helper()
	return renewingWith(t, slow)
}

func renewingWith(t *testing.T, opts Options) (*world, *accounts) {
	t.Helper()
	var a accounts
	w := runWith(t, twoVCenters, opts, a.read, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	return w, &a
}

func logins(v *fleet.VCenter) int { return v.Requests()["Login"] }

// east returns the state of the vCenter that is tampered with.
func (w *world) east() inventory.State {
	return inventory.StateOf(w.fleet.States(), "east")
}

func TestChangedCredentialsReplaceTheSession(t *testing.T) {
	w, a := renewing(t)
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	east.SetPassword("second")
	a.set(east.User(), "second")
	w.fleet.Renew()
	watches := east.Requests()["CreatePropertyCollector"]
	w.until("watched by the new session", func([]inventory.State) bool {
		s := w.east()
		if s.Snapshot == nil || s.Trouble != nil {
			t.Errorf("on the way there: trouble %v, snapshot %v", s.Trouble, s.Snapshot)
		}
		return east.Requests()["CreatePropertyCollector"] > watches
	})
	w.until("the session before ended", func([]inventory.State) bool { return east.SOAPSessions() == 1 })
	if e, w := logins(east), logins(west); e != 2 || w != 1 {
		t.Errorf("%d logins to east, %d to west", e, w)
	}
	for range 3 {
		w.fleet.Renew() // nothing has changed
	}
	w.sim.VCenter("east").EndSessions()
	w.until("logged in again", func([]inventory.State) bool { return logins(east) == 3 })
}

// TestAWrongPasswordIsTriedOnce: the session that is there lives on.
func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	good := east.Password()
	for _, wrong := range []string{"wrong-1", "wrong-2"} {
		n := logins(east)
		a.set(east.User(), wrong)
		w.fleet.Renew()
		w.until("tried", func([]inventory.State) bool { return logins(east) > n })
		for range 5 {
			w.fleet.Renew()
		}
	}
	a.set(east.User(), "wrong-1") // known to be wrong
	w.fleet.Renew()
	if err := east.MoveVM("n1", "c2-host-1"); err != nil {
		t.Fatal(err)
	}
	w.until("the move seen", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/b" })
	if trouble := w.east().Trouble; trouble != nil {
		t.Error(trouble)
	}
	if n := logins(east); n != 3 {
		t.Errorf("%d logins", n)
	}
	// The session ends: what is known to be wrong is not tried for a new one.
	east.EndSessions()
	w.until("trouble", func([]inventory.State) bool { return w.east().Trouble != nil })
	if err := w.east().Trouble; !errors.Is(err, ErrRejected) || w.east().Snapshot == nil {
		t.Errorf("trouble is %v", err)
	}
	a.set(east.User(), good)
	w.fleet.Renew()
	w.until("recovery", func([]inventory.State) bool { return w.east().Trouble == nil })
	if n := logins(east); n != 4 {
		t.Errorf("%d logins", n)
	}
}

// TestCredentialsThatAreGone: a session that lives needs none.
func TestCredentialsThatAreGone(t *testing.T) {
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	user, good := east.User(), east.Password()
	a.lose()
	w.fleet.Renew()
	if err := east.MoveVM("n1", "c2-host-1"); err != nil {
		t.Fatal(err)
	}
	w.until("the move seen", func([]inventory.State) bool { return w.zone(w.id("n1")) == "east/b" })
	east.EndSessions()
	w.until("trouble", func([]inventory.State) bool { return w.east().Trouble != nil })
	if err := w.east().Trouble; !strings.Contains(err.Error(), "no such Secret") {
		t.Error(err)
	}
	a.set(user, good)
	w.fleet.Renew()
	w.until("recovery", func([]inventory.State) bool { return w.east().Trouble == nil })
	if n := logins(east); n != 2 {
		t.Errorf("%d logins", n)
	}
}

// TestAVCenterThatIsDownWhenThePasswordChanges is asked again by itself.
func TestAVCenterThatIsDownWhenThePasswordChanges(t *testing.T) {
	w, a := renewing(t)
	east := w.sim.VCenter("east")
	east.SetPassword("second")
	east.RejectPassword() // refuses every login, the session lives
	a.set(east.User(), "second")
	w.fleet.Renew()
	w.until("tried", func([]inventory.State) bool { return logins(east) == 2 })
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	a.set(east.User(), east.Password())
	east.Refuse()
	w.until("trouble", func([]inventory.State) bool { return w.east().Trouble != nil })
	if err := east.Recover(); err != nil {
		t.Fatal(err)
	}
	w.until("recovery", func([]inventory.State) bool { return w.east().Trouble == nil })
}

func TestVCentersComeAndGo(t *testing.T) {
	w := run(t, twoVCenters, slow, nil)
	east, west := w.sim.VCenter("east"), w.sim.VCenter("west")
	n1, w1 := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{n1, w1})
	w.found(n1)
	w.found(w1)

	w.fleet.Apply(w.cfgs[1:], slow.Wanted)
	if _, err := inventory.Find(w.fleet.States(), w1); err != nil {
		t.Errorf("w1: %v", err)
	}
	w.until("logged out of east", func([]inventory.State) bool { return east.Sessions() == 0 })
	if states := w.fleet.States(); len(states) != 1 || states[0].VCenter != "west" {
		t.Errorf("states of %v", states)
	}
	// What is known of its machines tells that nobody can say they are gone.
	known := n1
	known.Known = topology.Ref{VCenter: "east", ID: "vm-1"}
	if _, err := inventory.Find(w.fleet.States(), known); !errors.Is(err, topology.ErrUnknown) {
		t.Errorf("n1 is not unknown: %v", err)
	}

	w.fleet.Apply(w.cfgs, slow.Wanted)
	if _, err := inventory.Find(w.fleet.States(), n1); !errors.Is(err, topology.ErrUnknown) && err != nil {
		t.Errorf("n1: %v", err)
	}
	if got := w.zone(n1); got != "east/a" {
		t.Errorf("n1 is in %s", got)
	}
	if logins(west) != 1 || west.Requests()["CreatePropertyCollector"] != 1 {
		t.Errorf("west was asked anew: %v", west.Requests())
	}
}

func TestAnotherAddress(t *testing.T) {
	w := run(t, twoVCenters, slow, nil)
	w.fleet.Follow([]inventory.Identity{w.id("n1"), w.id("w1")})
	w.found(w.id("n1"))
	w.found(w.id("w1"))
	// East's entry has west's address now, and the other way round.
	swapped := []config.VCenter{w.cfgs[1], w.cfgs[0]}
	swapped[0].Name, swapped[1].Name = "east", "west"
	w.fleet.Apply(swapped, slow.Wanted)
	w.until("n1 found in west", func(states []inventory.State) bool {
		m, err := inventory.Find(states, w.id("n1"))
		return err == nil && m.Ref.VCenter == "west"
	})
	if got := w.zone(w.id("n1")); got != "east/a" {
		t.Errorf("n1 is in %s", got)
	}
	w.until("w1 found in east", func(states []inventory.State) bool {
		m, err := inventory.Find(states, w.id("w1"))
		return err == nil && m.Ref.VCenter == "east"
	})
	if got := w.east().Snapshot.Instance; got != w.sim.VCenter("west").InstanceUUID() {
		t.Errorf("east is %s", got)
	}
	w.until("one session each", func([]inventory.State) bool {
		return w.sim.VCenter("east").SOAPSessions() == 1 && w.sim.VCenter("west").SOAPSessions() == 1
	})
}

func TestOtherDatacenters(t *testing.T) {
	w := run(t, twoVCenters, slow, nil)
	n3 := w.id("n3")
	w.fleet.Follow([]inventory.Identity{n3})
	w.found(n3)
	cfgs := []config.VCenter{w.cfgs[0], w.cfgs[1]}
	cfgs[0].Datacenters = []string{"dc1"}
	w.fleet.Apply(cfgs, slow.Wanted)
	w.until("n3 not found", func(states []inventory.State) bool {
		_, err := inventory.Find(states, n3)
		return err != nil
	})
	if err := w.fleet.SearchOutside(w.ctx, n3); !errors.Is(err, inventory.ErrOutside) {
		t.Errorf("n3: %v", err)
	}
	w.fleet.Apply(w.cfgs, slow.Wanted)
	w.found(n3)
	if n := logins(w.sim.VCenter("east")); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestTagsAreWantedLater: until they are read, they are unknown and not missing.
func TestTagsAreWantedLater(t *testing.T) {
	opts := slow
	opts.Wanted = Wanted{}
	w := run(t, twoVCenters, opts, nil)
	n1 := w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1})
	w.found(n1)
	w.fleet.Apply(w.cfgs, Wanted{Tags: true, Categories: []string{"region", "zone"}})
	w.until("n1 placed", func([]inventory.State) bool {
		p, err := topology.Resolve(policy, w.found(n1).Paths)
		if errors.Is(err, topology.ErrMissing) {
			t.Errorf("tags that are not read count as missing: %v", err)
		}
		return err == nil && p.Value(topology.LabelZone) == "a"
	})
	w.fleet.Apply(w.cfgs, Wanted{Tags: true, Categories: []string{"region", "rack"}})
	w.until("the missing category known", func(states []inventory.State) bool {
		return slices.Equal(inventory.NoCategory(states), []string{"rack"})
	})
	if n := logins(w.sim.VCenter("east")); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// TestARemovedVCenterThatHangs holds nobody up.
func TestARemovedVCenterThatHangs(t *testing.T) {
	w := run(t, twoVCenters, slow, nil)
	n1, w1 := w.id("n1"), w.id("w1")
	w.fleet.Follow([]inventory.Identity{n1, w1})
	w.found(n1)
	w.found(w1)
	w.sim.VCenter("east").Hang()
	began := time.Now()
	w.fleet.Apply(w.cfgs[1:], slow.Wanted)
	w.fleet.Apply(w.cfgs, slow.Wanted)
	w.fleet.Apply(w.cfgs[1:], slow.Wanted)
	if err := w.sim.VCenter("east").Recover(); err != nil {
		t.Fatal(err)
	}
	w.fleet.Apply(w.cfgs, slow.Wanted)
	w.found(n1)
	t.Logf("took %v", time.Since(began))
}
