package provider

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// These are for make orders.
var (
	ordersSeed  = flag.Uint64("orders.seed", 1, "the `seed` of the first of the random orders of events")
	ordersCount = flag.Int("orders.count", 100, "how many random orders of events are played, with one seed after the other")
)

// power is the state of a VM with a Node's UUID in a vCenter.
type power int

const (
	none power = iota
	off
	on
)

// A nodeFact contains the facts about a Node and the VMs with its UUID.
type nodeFact struct {
	// runs means that vzones has initialized the Node before, with the zone of the vCenter home, and has written its
	// annotation and label. Otherwise the Node is new.
	runs, recorded bool
	home           int
	// silent means that the kubelet is silent in the end. It changes at the times flips, in seconds after the first
	// life began.
	silent bool
	flips  []float64
	// evidence is the evidence that the VMs with its UUID are one VM.
	evidence evidence
	// byName means that the kubelet reports no system UUID and the VMs' guests report the Node's name.
	byName bool
	// twin is the number of another Node with the same UUID and so the same VMs, 0 for none.
	twin int
	// vms are the power states of the Node's VMs by vCenter.
	vms []power
	// hidden means that the account cannot see the VM in the vCenter home, the location in the Node's annotation.
	hidden bool
	// dies is the vCenter whose VM, which is off, is destroyed at diesAt, in seconds after the first life began.
	// Negative for none.
	dies   int
	diesAt float64
	// returnsAt is when that VM is registered again, 0 for never.
	returnsAt float64
	// detachedAfter is the time from the out-of-service taint to the end of the Node's last volume, in seconds, or 0 if
	// it has no volume.
	detachedAfter float64
	// lacksUntil is the time when the vCenter home shows the VM, in seconds after the first life began. It was
	// restored from a backup, and before answers that the VM does not exist.
	lacksUntil float64
	// shares means that its VMs report the same address as the VMs of another Node that shares.
	shares bool
}

// A move takes all VMs of a vCenter to another zone while the vCenter is read again for a new configuration, for some
// seconds.
type move struct {
	vcenter   int // negative for none
	at, lasts float64
}

// moved is added to the number of a vCenter for its second zone.
const moved = 10

// evidence is the way in which copies of a VM can be recognized as one VM.
type evidence int

const (
	// noEvidence: they have different addresses and instance UUIDs.
	noEvidence evidence = iota
	sameInstanceUUID
	sameAddress
)

// before returns the facts before a VM is destroyed, after the facts afterwards.
func (n nodeFact) before() nodeFact { n.dies = -1; return n }

func (n nodeFact) after() nodeFact {
	if n.dies >= 0 {
		n.vms = slices.Clone(n.vms)
		n.vms[n.dies] = none
		n.dies = -1
	}
	return n
}

// An outage is the availability of a vCenter in one life of the daemon, in seconds after its start: it fails, is read, and
// fails again. Negative for never.
type outage struct{ fails, read, ends float64 }

// A life is one run of the daemon.
type life struct {
	// plans are the outages by vCenter.
	plans []outage
	lasts float64
}

// An order is a random world and a random order in which the daemon learns about it.
type order struct {
	nodes []nodeFact
	lives []life
	// created is when each new Node is created, in seconds after the first life began.
	created []float64
	// nameLag is the time that each vCenter needs to search for the name of a new Node.
	nameLag []float64
	// down are the vCenters that cannot be read in the end, never those that are never read. unsure are the vCenters
	// that at some time failed after their wait had ended; then Nodes may be decided about without them, which
	// decision 0026 accepts.
	down, unsure, never []bool
	// lies are Nodes that claim an unreadable VM.
	lies []lie
	move move
	// outOfService means that nodes.outOfService is gone.
	outOfService bool
	// hasMoved makes the oracle use the zones after the move.
	hasMoved bool
}

// zone is the zone of a vCenter's VMs.
func (o *order) zone(vcenter int) int {
	if o.hasMoved && vcenter == o.move.vcenter {
		return vcenter + moved
	}
	return vcenter
}

// kept are the ends of a Node that keeps its zone, which may have been corrected before.
func (o *order) kept(e end) []end {
	corrected := e
	corrected.zone = o.zone(e.zone)
	if corrected == e {
		return []end{e}
	}
	return []end{e, corrected}
}

func newOrder(r *rand.Rand) *order {
	one := func(in int) bool { return r.IntN(in) == 0 }
	vcenters := 2 + r.IntN(2)
	o := &order{down: make([]bool, vcenters), unsure: make([]bool, vcenters), never: make([]bool, vcenters)}
	calm := one(2) // every vCenter is read in time
	for i := range vcenters {
		o.never[i] = !calm && one(5)
		o.down[i] = o.never[i] || !calm && one(5)
		o.unsure[i] = o.down[i]
		o.nameLag = append(o.nameLag, r.Float64())
	}
	for i := range 3 {
		n := nodeFact{runs: one(2), recorded: !one(3), home: r.IntN(vcenters), silent: one(2), evidence: evidence(r.IntN(3)), dies: -1}
		for range r.IntN(3) {
			n.flips = append(n.flips, 50*r.Float64())
		}
		slices.Sort(n.flips)
		n.byName = !n.runs && one(2)
		for range vcenters {
			n.vms = append(n.vms, power(r.IntN(3)))
		}
		if i > 0 && !n.byName && !o.nodes[0].byName && one(3) {
			n.twin = i
			n.vms = o.nodes[0].vms
			n.evidence = o.nodes[0].evidence
			o.nodes[0].dies = -1
		} else if i := r.IntN(vcenters); n.vms[i] == off {
			n.dies = i
			n.diesAt = 60 * r.Float64()
		}
		o.nodes = append(o.nodes, n)
		o.created = append(o.created, 12*r.Float64()-4)
	}
	for i := range o.nodes {
		n := &o.nodes[i]
		n.hidden = one(4) && n.runs && !slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.twin > 0 })
	}
	for range 1 + r.IntN(3) {
		l := life{lasts: []float64{0.3, 3, 12, 90}[r.IntN(4)] * (0.5 + r.Float64())}
		for i := range vcenters {
			l.plans = append(l.plans, o.planOrder(r, i, calm))
		}
		o.lives = append(o.lives, l)
	}
	for i := range o.nodes {
		n := &o.nodes[i]
		elsewhere := slices.ContainsFunc(n.vms, func(p power) bool { return p != none }) && n.vms[n.home] == none
		for i, p := range n.vms {
			elsewhere = elsewhere || i != n.home && p != none
		}
		isTwin := slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.twin > 0 })
		if one(2) && n.runs && n.recorded && !n.hidden && !isTwin && !elsewhere && n.vms[n.home] == on {
			n.lacksUntil = 18 * r.Float64()
		}
	}
	var fresh []int
	for i, n := range o.nodes {
		if !n.runs && !n.byName && n.twin == 0 && !slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.twin > 0 }) {
			fresh = append(fresh, i)
		}
	}
	if len(fresh) > 1 && one(2) {
		o.nodes[fresh[0]].shares, o.nodes[fresh[1]].shares = true, true
	}
	o.move = move{-1, 0, 0}
	if one(3) {
		o.move = move{r.IntN(vcenters), 2 + 10*r.Float64(), 1 + 9*r.Float64()}
	}
	for range r.IntN(3) {
		o.lies = append(o.lies, lie{vcenter: r.IntN(vcenters), of: r.IntN(len(o.nodes)+1) - 1, silent: one(2)})
	}
	return o
}

func (o *order) planOrder(r *rand.Rand, i int, calm bool) outage {
	p := outage{fails: -1, read: 1.9 * r.Float64(), ends: -1}
	if calm {
		return p
	}
	how := r.IntN(6)
	switch {
	case o.never[i] && how < 3:
		// The vCenter hangs from the start.
		return outage{-1, -1, -1}
	case o.never[i]:
		return outage{r.Float64(), -1, -1}
	case how == 0:
		p.fails = p.read
		p.read += 5 * r.Float64()
		o.unsure[i] = true
	case how == 1:
		p.read = 2.5 + 6*r.Float64()
		o.unsure[i] = true
	}
	if o.down[i] {
		p.ends = p.read + []float64{0.1, 4, 60}[r.IntN(3)]*r.Float64()
	}
	return p
}

// An end is the final state of a Node.
type end struct {
	gone, waits bool
	// zone is the index of the vCenter whose zone the Node has.
	zone int
	shut bool
}

// addVolumes adds the facts for nodes.outOfService to every second order. In most of them, the only VM of a silent Node is
// destroyed, and may return.
func (o *order) addVolumes(r *rand.Rand) {
	o.outOfService = r.IntN(2) == 0
	if !o.outOfService {
		return
	}
	hasTwins := slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.twin > 0 })
	for i := range o.nodes {
		n := &o.nodes[i]
		if n.runs && n.recorded && !n.hidden && n.lacksUntil == 0 && !hasTwins && r.IntN(4) > 0 {
			n.vms = make([]power, len(n.vms))
			n.vms[n.home] = power(1 + r.IntN(2))
			n.silent = true
			n.dies = n.home
			n.diesAt = 60 * r.Float64()
		}
		if n.dies >= 0 && r.IntN(2) == 0 {
			n.returnsAt = n.diesAt + 60*r.Float64()
		}
		if r.IntN(3) > 0 {
			n.detachedAfter = 90 * r.Float64()
		}
	}
}

// changes counts the events of an order.
func (o *order) changes() (count int) {
	for _, n := range o.nodes {
		count += 1 + len(n.flips)
		for _, happens := range []bool{n.dies >= 0, n.returnsAt > 0, n.lacksUntil > 0} {
			if happens {
				count++
			}
		}
	}
	for _, l := range o.lives {
		count++
		for _, p := range l.plans {
			for _, at := range []float64{p.fails, p.read, p.ends} {
				if at >= 0 {
					count++
				}
			}
		}
	}
	return count
}

// later reports whether another Node with the same VM precedes a Node: one that vzones has initialized, unlike this one, or
// else an older one.
func (o *order) later(i int) bool {
	made := func(i int) float64 {
		if o.nodes[i].runs {
			return 0
		}
		return max(0, o.created[i])
	}
	n := o.nodes[i]
	for j, other := range o.nodes {
		if o.first(i) != o.first(j) || i == j {
			continue
		}
		first, second := other.runs && other.recorded, n.runs && n.recorded
		if first && !second || first == second && (made(j) < made(i) || made(j) == made(i) && j < i) {
			return true
		}
	}
	return false
}

// lied reports whether a Node with the UUID of a later Node claims a VM whose vCenter may not have reported yet that it is
// unreadable. Otherwise the claim blocks no Node, and changes nothing for a Node without a record.
func (o *order) lied(i int) bool {
	return slices.ContainsFunc(o.lies, func(l lie) bool {
		return l.of >= 0 && o.first(l.of) == o.first(i) && o.unsure[l.vcenter]
	})
}

// first is the number of the first Node with a Node's UUID.
func (o *order) first(i int) int { return i - o.nodes[i].twin }

// allowed are the ends that the facts allow for a Node: those of a Node with its own VM. A Node that came after another Node
// of its VM keeps its zone or none; its VM's existence and power state matter as for any Node.
func (o *order) allowed(i int) []end {
	n := o.nodes[i]
	w := *o
	w.hasMoved = o.move.vcenter >= 0
	ends := w.allowedAt(i)
	// A Node that was placed before the move without a vCenter that is read later keeps its placement.
	if w.hasMoved && slices.Contains(o.unsure, true) && o.mayGetFormerZone(i) {
		ends = append(ends, o.allowedAt(i)...)
	}
	if (!n.runs || !n.recorded) && o.lied(i) {
		ends = append(ends, w.kept(end{waits: !n.runs, zone: n.home})...)
	}
	ends = w.withoutAddress(i, ends)
	if !o.later(i) {
		return ends
	}
	var keeps []end
	for _, e := range ends {
		if e.gone {
			keeps = append(keeps, e)
			continue
		}
		e.waits = !n.runs
		e.zone = n.home
		keeps = append(keeps, w.kept(e)...)
	}
	return keeps
}

// withoutAddress are the ends of a Node whose address an older Node may get. Of two Nodes without an address the older one
// gets it, in any order, and the other stays uninitialized.
func (o *order) withoutAddress(i int, ends []end) []end {
	older := slices.IndexFunc(o.nodes, func(n nodeFact) bool { return n.shares })
	if !o.nodes[i].shares {
		return ends
	}
	other := older
	if i == older {
		other = i + 1 + slices.IndexFunc(o.nodes[i+1:], func(n nodeFact) bool { return n.shares })
	}
	at := func(i int) float64 { return max(0, o.created[i]) }
	if at(i) < at(other) || at(i) == at(other) && i < other {
		return ends
	}
	isPlaced := func(e end) bool { return !e.waits && !e.gone }
	first := o.allowedAt(other)
	var left []end
	for _, e := range ends {
		if !isPlaced(e) || slices.ContainsFunc(first, func(e end) bool { return !isPlaced(e) }) {
			left = append(left, e)
		}
		if isPlaced(e) && slices.ContainsFunc(first, isPlaced) {
			left = append(left, end{waits: true, zone: o.nodes[i].home})
		}
	}
	return left
}

// mayGetFormerZone reports whether a Node may get the zone from before the move: it existed then, or the vCenter may fail
// at that time, so that its last snapshot still initializes Nodes.
func (o *order) mayGetFormerZone(i int) bool {
	return o.nodes[i].runs || o.created[i] < o.move.at || o.unsure[o.move.vcenter]
}

// allowedAt are those ends before the move, or after it.
func (o *order) allowedAt(i int) []end {
	n := o.nodes[i]
	ends := o.alone(n.after())
	// The vCenter may not have reported that the VM is destroyed, or the VM has returned.
	if n.dies >= 0 && (o.unsure[n.dies] || n.returnsAt > 0) {
		ends = append(ends, o.alone(n.before())...)
	}
	if n.dies >= 0 && n.silent && slices.ContainsFunc(o.alone(n.before()), func(e end) bool { return e.shut }) {
		for _, e := range ends { // the taint stays while the kubelet is silent
			ends = append(ends, end{gone: e.gone, waits: e.waits, zone: e.zone, shut: !e.gone})
		}
	}
	// A Node that flips was silent once, and a deletion is final.
	if len(n.flips) > 0 && !n.silent {
		n.silent = true
		if was := o.alone(n.after()); slices.Contains(was, end{gone: true}) {
			ends = append(ends, end{gone: true})
		}
		n.silent = false
	}
	return ends
}

// alone are the ends that the facts allow for a Node, in plain words:
//   - One VM runs: it is the Node's if no location is recorded, or if the location is there. Otherwise it is the Node's if
//     all vCenters can be read and there is evidence: it is the same VM, or the Node is ready although its VM is off.
//   - Several run: the Node keeps its state.
//   - None runs: a Node whose VM was never found keeps its state. Another silent Node is shut down if only its VM is off,
//     and gone if there is no VM.
//   - A vCenter that is unsure may or may not have been received.
//   - While the account cannot see the VM at its location, the Node keeps its state, whatever other VMs run.
//   - A name must be unique in all vCenters.
func (o *order) alone(n nodeFact) []end {
	if n.byName {
		return o.allowedByName(n)
	}
	// received contains each set of vCenters that may have been read.
	var received [][]bool
	for mask := range 1 << len(n.vms) {
		ways := make([]bool, len(n.vms))
		ok := true
		for i := range ways {
			ways[i] = mask>>i&1 == 1
			ok = ok && (ways[i] && !o.never[i] || !ways[i] && o.unsure[i])
		}
		if ok {
			received = append(received, ways)
		}
	}
	var ends []end
	for _, ways := range received {
		ends = append(ends, o.given(n, ways)...)
	}
	return ends
}

func (o *order) allowedByName(n nodeFact) []end {
	has := func(p power) bool { return p != none }
	i := slices.IndexFunc(n.vms, has)
	waits := end{waits: true, zone: n.home}
	sure := !slices.Contains(o.unsure, true)
	switch {
	case i < 0, n.vms[i] == off, slices.ContainsFunc(n.vms[i+1:], has):
		return []end{waits}
	case sure:
		return []end{{zone: o.zone(i)}}
	}
	return []end{{zone: o.zone(i)}, waits}
}

// given are the ends of the Node if these vCenters were received.
func (o *order) given(n nodeFact, received []bool) []end {
	all := !slices.Contains(received, false)
	var running, stopped []int
	for i, is := range n.vms {
		switch {
		case n.hidden && i == n.home:
		case received[i] && is == on:
			running = append(running, i)
		case received[i] && is == off:
			stopped = append(stopped, i)
		}
	}
	keeps := end{waits: !n.runs, zone: n.home}
	shut := keeps
	shut.shut = true
	hasHome := n.runs && n.recorded
	homeIsOff := hasHome && slices.Contains(stopped, n.home)
	switch {
	case n.hidden && hasHome, len(running) > 1:
		return o.kept(keeps)
	case len(running) == 1 && hasHome && running[0] != n.home && !all:
		return o.kept(keeps)
	case len(running) == 1 && hasHome && running[0] != n.home && n.evidence == noEvidence && (!homeIsOff || n.silent):
		return o.kept(keeps)
	case len(running) == 1:
		return []end{{zone: o.zone(running[0])}}
	case !n.silent || !hasHome:
		return o.kept(keeps)
	case len(stopped) == 0 && all:
		return []end{{gone: true}}
	case len(stopped) != 1 || !homeIsOff:
		return o.kept(keeps)
	case !all:
		return append(o.kept(shut), o.kept(keeps)...)
	}
	return o.kept(shut)
}

// passing are the ends that a Node may have on the way: the allowed ones and its initial state, also with the zone that its
// home has after the move. A Ready Node follows its home until the vCenter that shows its other VM was read.
func (o *order) passing(i int) []end {
	n := o.nodes[i]
	w := *o
	w.hasMoved = o.move.vcenter >= 0
	ends := w.kept(end{waits: !n.runs, zone: n.home})
	w.hasMoved = o.hasMoved
	moves := []move{o.move}
	if o.move.vcenter >= 0 && o.mayGetFormerZone(i) {
		moves = append(moves, move{vcenter: -1}) // a later Node has the zone after the move, or none
	}
	w.nodes = slices.Clone(o.nodes)
	for _, silent := range []bool{false, true} {
		if silent != n.silent && len(n.flips) == 0 {
			continue
		}
		for _, fact := range []nodeFact{n.before(), n.after()} {
			for _, w.move = range moves {
				w.nodes[i] = fact
				w.nodes[i].silent = silent
				ends = append(ends, w.allowed(i)...)
			}
		}
	}
	return mixed(ends)
}

// mixed are ends that combine several. The framework searches for VMs that are off every few seconds, and removes its taint
// from a Node only when the kubelet is received again.
func mixed(ends []end) []end {
	var all []end
	for _, a := range ends {
		for _, b := range ends {
			a.shut = b.shut && !a.gone
			all = append(all, a)
		}
	}
	return all
}

// TestOrders plays random orders of events. The ends of a world are the same in each.
func TestOrders(t *testing.T) {
	began := time.Now()
	var exact, unsure, sharing, oneAddress, changes int
	var taints taintCounts
	for i := range *ordersCount {
		seed := *ordersSeed + uint64(i)
		o := newOrder(rand.New(rand.NewPCG(seed, 26)))
		if slices.Contains(o.unsure, true) {
			unsure++
		} else {
			exact++
		}
		if slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.twin > 0 }) {
			sharing++
		}
		if slices.ContainsFunc(o.nodes, func(n nodeFact) bool { return n.shares }) {
			oneAddress++
		}
		o.addVolumes(rand.New(rand.NewPCG(seed, 48)))
		if o.outOfService {
			changes += o.changes()
		}
		// A failure ends the test.
		playOrder(t, seed, o, &taints)
	}
	t.Logf("with outOfService: %d random events; the taint was added %d times and removed %d times", changes, taints.added, taints.removed)
	if *ordersCount >= 100 && (taints.added < *ordersCount/20 || taints.removed < *ordersCount/100) {
		t.Errorf("the out-of-service taint was added %d times and removed %d times in %d orders: want at least a twentieth and a hundredth", taints.added, taints.removed, *ordersCount)
	}
	t.Logf("%d orders in %v: %d in which every vCenter is read in time, %d in which one is not; two Nodes have one VM in %d, and one address in %d",
		*ordersCount, time.Since(began).Round(time.Millisecond), exact, unsure, sharing, oneAddress)
	if *ordersCount >= 100 && (exact < *ordersCount/4 || unsure < *ordersCount/4 || sharing < *ordersCount/6 || oneAddress < *ordersCount/50) {
		t.Errorf("of %d orders, %d have all vCenters read in time, %d do not, %d share a VM and %d an address: want at least a quarter, a quarter, a sixth and a fiftieth",
			*ordersCount, exact, unsure, sharing, oneAddress)
	}
}
