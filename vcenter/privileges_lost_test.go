package vcenter

import (
	"errors"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// without lets methods be denied.
func without(methods ...string) func(*deprived) error {
	return func(d *deprived) error {
		for _, m := range methods {
			d.east.Fault(m, &types.NoPermission{PrivilegeId: "System.View"})
		}
		return nil
	}
}

// forbid lets a kind of request of the tagging API be denied.
func forbid(kind string) func(*deprived) error {
	return func(d *deprived) error { d.east.FaultREST(kind, 403); return nil }
}

func recovered(d *deprived) error { return d.east.Recover() }

func on(do func(*fleet.VCenter, string) error, object string) func(*deprived) error {
	return func(d *deprived) error { return do(d.east, object) }
}

// refusedList hides a machine in a vCenter that refuses lists with it as a whole.
func refusedList(d *deprived) error {
	d.east.FaultListing(&types.NoPermission{PrivilegeId: "System.View"})
	return d.east.Hide("n1")
}

func onePage(d *deprived) error {
	d.east.LimitPages(1)
	return without("ContinueRetrievePropertiesEx")(d)
}

// placed waits for the machines of east to be in their zones.
func (d *deprived) placed() {
	d.Helper()
	d.in(d.n1, "east/a")
	d.in(d.n2, "east/b")
	d.in(d.n3, "east/c")
}

// nobody is a Node's identity whose machine is gone.
func (d *deprived) nobody() inventory.Identity {
	return known(identity(d.T, stranger), "east", "vm-99999")
}

// said waits for the absence of a machine that is gone to be known and confirmed.
func (d *deprived) said() {
	d.Helper()
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.nobody()})
	d.until("absence", func(states []inventory.State) bool { return d.outcome(states, d.nobody(), topology.ErrAbsent) })
	d.until("its confirmation", func([]inventory.State) bool { return d.fleet.ConfirmAbsent(d.ctx, d.nobody()) == nil })
}

// unsaid waits for that absence to be unknown.
func (d *deprived) unsaid() {
	d.Helper()
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.nobody()})
	d.until("no absence", func(states []inventory.State) bool { return d.outcome(states, d.nobody(), topology.ErrUnknown) })
}

// unplaced waits for a machine of east to be found and its zone to be unknown.
func (d *deprived) unplaced(id inventory.Identity) {
	d.Helper()
	d.until("an unknown zone", func(states []inventory.State) bool {
		p := policy
		p.Invisible = states[0].Snapshot.InvisibleCategories
		_, err := topology.Resolve(p, d.found(id).Paths)
		return errors.Is(err, topology.ErrUnknown)
	})
}

func down(d *deprived) {
	d.until("error", func(states []inventory.State) bool { return denies(states[0].Err) })
	if !d.fresh {
		d.placed() // by what was read before
	}
	d.unsaid()
}

func harmless(d *deprived) {
	d.placed()
	d.said()
	d.until("no error", func(states []inventory.State) bool { return states[0].Err == nil })
}

func untidy(d *deprived) {
	d.east.Fault("WaitForUpdatesEx", &types.SystemError{})
	d.until("error", func(states []inventory.State) bool { return faults.Is[*types.SystemError](states[0].Err) })
	d.east.Fault("WaitForUpdatesEx", nil)
	d.until("no error", func(states []inventory.State) bool { return states[0].Err == nil })
	harmless(d)
	if n := d.east.Requests()["DestroyView"]; n == 0 {
		d.Errorf("nothing was to be destroyed: %v", d.east.Requests())
	}
}

func atOnce(d *deprived) {
	harmless(d)
	if n := d.east.Requests()["RetrieveProperties"]; n == 0 {
		d.Error("nothing was read at once")
	}
}

func timeless(d *deprived) {
	harmless(d)
	d.steady(func() {
		asked := d.east.Requests()["CurrentTime"]
		d.until("an answer", func([]inventory.State) bool {
			d.fleet.Probe("east")
			return d.east.Requests()["CurrentTime"] > asked+3
		})
	})
}

func searchless(d *deprived) {
	d.placed()
	d.until("absence", func(states []inventory.State) bool { return d.outcome(states, d.nobody(), topology.ErrAbsent) })
	if err := d.fleet.ConfirmAbsent(d.ctx, d.nobody()); !errors.Is(err, topology.ErrUnknown) {
		d.Errorf("absence: %v", err)
	}
}

func partial(d *deprived) {
	d.until("an incomplete index", func(states []inventory.State) bool {
		return states[0].Snapshot.Incomplete != nil && states[0].Err == nil && d.outcome(states, d.n1, topology.ErrUnknown)
	})
	d.in(d.n3, "east/c")
	d.unsaid()
}

func unseen(d *deprived) {
	d.until("n1 hidden", func(states []inventory.State) bool {
		var not *inventory.NotShown
		_, err := d.find(states, d.n1)
		return errors.As(err, &not) && not.Reply == inventory.Hidden
	})
	if err := d.fleet.ConfirmAbsent(d.ctx, d.n1); !errors.Is(err, topology.ErrUnknown) {
		d.Errorf("n1: %v", err)
	}
	d.in(d.n2, "east/b")
	d.said()
}

func unreadable(d *deprived) {
	d.until("n1 unreadable", func(states []inventory.State) bool {
		return d.outcome(states, d.n1, topology.ErrUnknown, inventory.ErrUnreadable) && inventory.IsIndexed(states, d.n1)
	})
	d.in(d.n2, "east/b")
	if d.fresh {
		d.unsaid() // only its Node tells which machine it is
		return
	}
	d.said()
}

func undecided(d *deprived) {
	d.unplaced(d.n1)
	d.in(d.n2, "east/b")
	d.said()
}

// unknownOf waits for what the host of n1 belongs to to be unknown, and for that of n2 to
// be known.
func unknownOf(property string) func(*deprived) {
	return func(d *deprived) {
		of := func(id inventory.Identity) *topology.Membership {
			host := d.found(id).Paths[0].Objects[0]
			if property == model.FaultDomain {
				return host.FaultDomain
			}
			return host.HostGroups
		}
		d.until("an unknown membership", func([]inventory.State) bool {
			n1, n2 := of(d.n1), of(d.n2)
			return n1 != nil && errors.Is(n1.Err, topology.ErrNotPermitted) && n2 != nil && n2.Err == nil
		})
		d.in(d.n2, "east/b")
		d.said()
	}
}

func untagged(d *deprived) {
	undecided(d)
	if n := len(d.fleet.States()[0].Snapshot.NotPermitted); n != 1 {
		d.Errorf("%d objects are refused", n)
	}
}

func nameless(d *deprived) {
	d.unplaced(d.n1)
	d.unplaced(d.n2)
	d.said()
}

func uncategorized(d *deprived) {
	nameless(d)
	d.until("a category that is not shown", func(states []inventory.State) bool {
		return slices.Equal(states[0].Snapshot.InvisibleCategories, []string{"zone"})
	})
}

// steady does something during which the watch must not begin again.
func (d *deprived) steady(do func()) {
	d.Helper()
	watches := d.east.Requests()[anyWatches]
	do()
	if n := d.east.Requests()[anyWatches]; n != watches {
		d.Errorf("%d further watches", n-watches)
	}
}
