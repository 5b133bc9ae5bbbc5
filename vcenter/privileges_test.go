package vcenter

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/watch/model"
)

// A privilege is a row of the table in docs/reference/permissions.md.
type privilege struct {
	// row is the first cell; what distinguishes ways to remove the privilege.
	row, what string
	// datacenters are the configured datacenters of east.
	datacenters []string
	// persists reports whether earlier results remain valid for some time.
	persists bool
	// take removes the privilege from east's account. give restores it, or is nil if the test
	// would not notice.
	take, give func(*deprived) error
	// lost waits for the documented effect in a watch that started without the privilege.
	lost func(*deprived)
}

var deprivations = []privilege{
	{row: "Log in", take: without("Login"), lost: down},
	{row: "Watch", what: "collector", take: without("CreatePropertyCollector"), give: recovered, lost: down},
	{row: "Watch", what: "filter", take: without("CreateFilter"), give: recovered, lost: down},
	{row: "Watch", what: "changes", take: without("WaitForUpdatesEx"), give: recovered, lost: down},
	{row: "Watch", what: "list", take: without("CreateListView"), give: recovered, lost: down},
	{row: "Watch", what: "container", take: without("CreateContainerView"), give: recovered, lost: down},
	{row: "Tidy up", take: without("DestroyView", "DestroyPropertyCollector", "DestroyCollector", "Logout"), give: recovered, lost: untidy},
	{row: "Further pages", datacenters: []string{"dc1", "dc2"}, take: onePage, give: recovered, lost: atOnce},
	{row: "The time", take: without("CurrentTime"), give: recovered, lost: timeless},
	{row: "Search", take: without("FindAllByUuid", "FindAllByDnsName"), give: recovered, lost: searchless},
	{
		row: "Configured datacenters", datacenters: []string{"dc1", "dc2"}, lost: partial,
		take: on((*fleet.VCenter).Hide, "/prod/dc1"), give: on((*fleet.VCenter).Show, "/prod/dc1"),
	},
	{row: "Nodes' VMs", what: "hidden", take: on((*fleet.VCenter).Hide, "n1"), give: on((*fleet.VCenter).Show, "n1"), lost: unseen},
	{row: "Nodes' VMs", what: "hidden, list refused", datacenters: []string{"dc1", "dc2"}, take: rejectedList, give: on((*fleet.VCenter).Show, "n1"), lost: unseen},
	{row: "Properties of VMs", take: on((*fleet.VCenter).DenyRead, "n1"), give: on((*fleet.VCenter).AllowRead, "n1"), lost: unreadable},
	{row: "Objects above VMs", take: on((*fleet.VCenter).Hide, "c1"), give: on((*fleet.VCenter).Show, "c1"), lost: undecided},
	{row: "Host groups and fault domains", what: "groups", take: on((*fleet.VCenter).DenyRead, "c1"), give: on((*fleet.VCenter).AllowRead, "c1"), lost: unknownOf(model.ClusterConfig)},
	{row: "Host groups and fault domains", what: "domains", take: on((*fleet.VCenter).DenyRead, "c1-host-1"), give: on((*fleet.VCenter).AllowRead, "c1-host-1"), lost: unknownOf(model.FaultDomain)},
	{row: "Tags of an object", take: on((*fleet.VCenter).DenyRead, "c1"), give: on((*fleet.VCenter).AllowRead, "c1"), lost: untagged},
	{
		row: "Tags and categories", what: "hidden", lost: uncategorized,
		take: func(d *deprived) error { d.east.HideCategory("zone", 403); return nil },
		give: func(d *deprived) error { d.east.ShowCategory("zone"); return nil },
	},
	{row: "Tags and categories", what: "no tag", take: forbid(getTag), persists: true, give: recovered, lost: nameless},
	{row: "Tags and categories", what: "no category", take: forbid("GET /com/vmware/cis/tagging/category/id:{id}"), persists: true, give: recovered, lost: nameless},
	{row: "Tags and categories", what: "no list", take: forbid("GET /com/vmware/cis/tagging/category"), give: recovered, lost: harmless},
}

// TestPrivileges removes each privilege in turn and checks the documented effect. The second vCenter's Nodes
// are always placed, and no existing VM with a home is confirmed absent.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	for _, p := range deprivations {
		t.Run(p.row+"/"+p.what, func(t *testing.T) {
			t.Parallel()
			d := deprive(t, p)
			p.lost(d)
			d.checkInvariants()
			d.restart()
			p.lost(d)
			d.checkInvariants()
			if p.give == nil {
				return
			}
			if err := p.give(d); err != nil {
				t.Fatal(err)
			}
			d.east.EndSessions()
			d.placed()
		})
	}
}

// A deprived is a world in which east's account has lost a privilege after east's Nodes were found.
type deprived struct {
	*world
	opts Options
	east *fleet.VCenter
	// fresh reports whether east was never read with the privilege.
	fresh          bool
	n1, n2, n3, w1 inventory.Identity
}

func deprive(t *testing.T, p privilege) *deprived {
	t.Helper()
	opts := quick
	opts.Timeout = time.Minute
	opts.Categories = []string{"region", "zone"}
	opts.HostGroups, opts.FaultDomains = true, true
	w := run(t, twoVCenters, opts, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = p.datacenters
	})
	record := func(vcenter, vm string) inventory.Identity {
		return known(w.id(vm), vcenter, w.moid(vm))
	}
	d := &deprived{
		world: w, opts: opts, east: w.sim.VCenter("east"),
		n1: record("east", "n1"), n2: record("east", "n2"), n3: record("east", "n3"), w1: record("west", "w1"),
	}
	w.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3})
	d.placed()
	if err := p.take(d); err != nil {
		t.Fatal(err)
	}
	if p.persists {
		d.restart()
		return d
	}
	before, had := w.fleet.States()[0].Snapshot, logins(d.east)
	d.east.EndSessions()
	d.reads(before, had)
	return d
}

// restart starts a new daemon that has only the Nodes' records.
func (d *deprived) restart() {
	d.Helper()
	d.fresh = true
	d.stop()
	had := logins(d.east)
	d.start(FromFile, d.opts)
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.w1})
	d.reads(nil, had)
}

// reads waits until east is read after another login, or denies the read.
func (d *deprived) reads(before *inventory.Snapshot, had int) {
	d.Helper()
	d.until("a watch without the privilege", func(states []inventory.State) bool {
		return logins(d.east) > had && (denies(states[0].Err) || states[0].Err == nil && states[0].Snapshot != before)
	})
}

// denies reports whether an error means a missing privilege.
func denies(failure error) bool {
	return faults.Denied(failure) || errors.Is(failure, session.ErrRejected)
}

// checkInvariants checks the invariants.
func (d *deprived) checkInvariants() {
	d.Helper()
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.w1})
	d.until("w1 placed", func([]inventory.State) bool { return d.zone(d.w1) == "west/a" })
	for _, id := range []inventory.Identity{d.n1, d.n2, d.n3, d.w1} {
		if err := d.fleet.ConfirmAbsent(d.ctx, id); err == nil {
			d.Errorf("the absence of %s is confirmed", id.Recorded.ID)
		}
	}
}

// without denies methods.
func without(methods ...string) func(*deprived) error {
	return func(d *deprived) error {
		for _, m := range methods {
			d.east.Fault(m, &types.NoPermission{PrivilegeId: "System.View"})
		}
		return nil
	}
}

// forbid denies a kind of request of the tagging API.
func forbid(kind string) func(*deprived) error {
	return func(d *deprived) error { d.east.FaultREST(kind, 403); return nil }
}

func recovered(d *deprived) error { return d.east.Recover() }

func on(do func(*fleet.VCenter, string) error, object string) func(*deprived) error {
	return func(d *deprived) error { return do(d.east, object) }
}

// rejectedList hides a VM in a vCenter that rejects whole lists because of it.
func rejectedList(d *deprived) error {
	d.east.FaultListing(&types.NoPermission{PrivilegeId: "System.View"})
	return d.east.Hide("n1")
}

func onePage(d *deprived) error {
	d.east.LimitPages(1)
	return without("ContinueRetrievePropertiesEx")(d)
}

// placed waits until east's VMs are in their zones.
func (d *deprived) placed() {
	d.Helper()
	d.in(d.n1, "east/a")
	d.in(d.n2, "east/b")
	d.in(d.n3, "east/c")
}

// nobody is the identity of a Node whose VM is gone.
func (d *deprived) nobody() inventory.Identity {
	return known(identity(d.T, stranger), "east", "vm-99999")
}

// absenceConfirmed waits until the absence of a VM is confirmed.
func (d *deprived) absenceConfirmed() {
	d.Helper()
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.nobody()})
	d.until("absence", func(states []inventory.State) bool { return d.outcome(states, d.nobody(), topology.ErrAbsent) })
	d.until("its confirmation", func([]inventory.State) bool { return d.fleet.ConfirmAbsent(d.ctx, d.nobody()) == nil })
}

// absenceUnknown waits until that absence is unknown.
func (d *deprived) absenceUnknown() {
	d.Helper()
	d.fleet.Follow([]inventory.Identity{d.n1, d.n2, d.n3, d.nobody()})
	d.until("no absence", func(states []inventory.State) bool { return d.outcome(states, d.nobody(), topology.ErrUnknown) })
}

// unplaced waits until a VM of east is found and its zone is unknown.
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
		d.placed() // From the earlier snapshot.
	}
	d.absenceUnknown()
}

func harmless(d *deprived) {
	d.placed()
	d.absenceConfirmed()
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
	d.absenceUnknown()
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
	d.absenceConfirmed()
}

func unreadable(d *deprived) {
	d.until("n1 unreadable", func(states []inventory.State) bool {
		return d.outcome(states, d.n1, topology.ErrUnknown, inventory.ErrUnreadable) && inventory.IsIndexed(states, d.n1)
	})
	d.in(d.n2, "east/b")
	if d.fresh {
		d.absenceUnknown() // Only the Node's record identifies the VM.
		return
	}
	d.absenceConfirmed()
}

func undecided(d *deprived) {
	d.unplaced(d.n1)
	d.in(d.n2, "east/b")
	d.absenceConfirmed()
}

// unknownOf waits until a property of n1's host is unknown and n2's host has it.
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
		d.absenceConfirmed()
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
	d.absenceConfirmed()
}

func uncategorized(d *deprived) {
	nameless(d)
	d.until("a category that is not shown", func(states []inventory.State) bool {
		return slices.Equal(states[0].Snapshot.InvisibleCategories, []string{"zone"})
	})
}

// steady runs do and checks that the watch does not restart.
func (d *deprived) steady(do func()) {
	d.Helper()
	watches := d.east.Requests()[anyWatches]
	do()
	if n := d.east.Requests()[anyWatches]; n != watches {
		d.Errorf("%d further watches", n-watches)
	}
}
