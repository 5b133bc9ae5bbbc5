package placement

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/vcenter/inventory"
)

// readyGrace exceeds the time for which a Node stays ready after its kubelet fails:
// kube-controller-manager's --node-monitor-grace-period is 50 s.
const readyGrace = 2 * time.Minute

// readyWithoutVM is the time after which a Node that is still ready must run in a VM that no vCenter shows: readyGrace,
// and the longest time between two calls of remember.
const readyWithoutVM = readyGrace + 2*time.Minute

type found struct {
	id inventory.Identity
	// vm is nil if it is uncertain. lost is the reason why its vCenter does not answer.
	vm    *inventory.VM
	state inventory.State
	lost  error
}

type located struct {
	found
	sharing sharing
}

// locate also remembers the VM. If the error is not from the search, the VM is returned with the error.
func (p *Placer) locate(states []inventory.State, node *v1.Node) (loc located, err error) {
	loc.found, err = p.lookUp(states, node)
	p.remember(states, node, &loc.found)
	if err = nodeinfo.WithContradiction(node, err); err != nil {
		return loc, err
	}
	loc.sharing, err = p.sharingOf(states, loc.vm, node)
	return loc, err
}

// lookUp finds a Node's VM and remembers nothing.
func (p *Placer) lookUp(states []inventory.State, node *v1.Node) (f found, err error) {
	f.id, err = p.identify(states, node)
	if err != nil {
		return f, err
	}
	f.vm, err = inventory.Find(states, f.id)
	p.AskHome(err)
	if err != nil {
		return f, err
	}
	f.state = inventory.StateOf(states, f.vm.Ref.VCenter)
	f.lost = f.state.CheckReachable()
	return f, nil
}

// remember records where an initialized Node's VM is, its home, if the vCenter answers.
func (p *Placer) remember(states []inventory.State, node *v1.Node, f *found) {
	k := p.memories.Memory(node)
	if !isReadyWithoutHome(states, node, f.id) {
		k.readyWithoutHome = time.Time{}
	} else if k.readyWithoutHome.IsZero() {
		k.readyWithoutHome = time.Now()
	}
	mayRun := nodeinfo.IsReady(node) && time.Since(k.lastSeen.At) > readyWithoutVM
	if f.vm == nil && (mayRun || inventory.IsUnreadable(states, f.id)) {
		k.witnessed = time.Time{}
	}
	if f.vm == nil || f.lost != nil {
		return
	}
	k.seen = true
	k.witnessed = f.state.WatchedSince
	if f.vm.Power == inventory.PowerUnknown {
		k.witnessed = time.Time{}
	}
	if !nodeinfo.IsUninitialized(node) {
		k.lastSeen = inventory.LastSeen{
			VCenter: f.state.VCenter, ID: f.vm.Ref.ID, At: f.state.LastContact, Instance: f.state.Snapshot.Instance, Name: f.vm.Name, VM: f.vm.InstanceUUID,
		}
		k.confirm(node, f.vm)
	}
}

func isReadyWithoutHome(states []inventory.State, node *v1.Node, id inventory.Identity) bool {
	return nodeinfo.IsReady(node) && inventory.HomeIsOff(states, id)
}

// identify is Identify for a caller that holds the lock of memories.
func (p *Placer) identify(states []inventory.State, node *v1.Node) (inventory.Identity, error) {
	id, err := p.ReportedIdentity(node)
	k := memoryOf(p.memories, node.UID)
	id.LastSeen = k.lastSeen
	id.Seen = k.seen
	id.Addresses = addresses.ClaimedBy(node)
	readySince := k.readyWithoutHome
	id.OutlivedHome = !readySince.IsZero() && time.Since(readySince) > readyGrace && isReadyWithoutHome(states, node, id)
	return id, err
}

// Observe returns a Node's VM, or nil if it is uncertain or shared. While the pointer stays the same, so does
// the VM's place.
func (p *Placer) Observe(states []inventory.State, node *v1.Node) *inventory.VM {
	p.memories.Lock()
	defer p.memories.Unlock()
	loc, err := p.locate(states, node)
	isLost := loc.lost != nil && !nodeinfo.IsUninitialized(node)
	if err != nil || isLost || loc.sharing.isShared() {
		return nil
	}
	return loc.vm
}
