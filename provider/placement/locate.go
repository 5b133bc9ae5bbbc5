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

// unseenReadyLimit is the longest time for which a Node stays ready after its VM was last seen. A Node that is ready for
// longer runs in a VM that no vCenter shows. The limit is readyGrace plus the longest interval between calls of remember.
const unseenReadyLimit = readyGrace + 2*time.Minute

type foundVM struct {
	id inventory.Identity
	// vm is nil if the search failed: absent, ambiguous or unknown.
	vm    *inventory.VM
	state inventory.State
	// unreachable is the reason why the VM's vCenter does not answer, or nil.
	unreachable error
}

type locatedVM struct {
	foundVM
	sharing sharing
}

// locate finds a Node's VM, updates the memory, and finds the Nodes that share the VM. With a contradiction or a sharing
// error, it still returns the VM.
func (p *Placer) locate(states []inventory.State, node *v1.Node) (loc locatedVM, err error) {
	loc.foundVM, err = p.findVM(states, node)
	p.remember(states, node, &loc.foundVM)
	if err = nodeinfo.WithContradiction(node, err); err != nil {
		return loc, err
	}
	loc.sharing, err = p.sharingOf(states, loc.vm, node)
	return loc, err
}

// findVM finds a Node's VM without changing its memory. It may request a check whether the VM still exists.
func (p *Placer) findVM(states []inventory.State, node *v1.Node) (f foundVM, err error) {
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
	f.unreachable = f.state.CheckReachable()
	return f, nil
}

// remember updates the Node's memory after a search. It records the VM's location only for an initialized Node whose
// vCenter is reachable.
func (p *Placer) remember(states []inventory.State, node *v1.Node, f *foundVM) {
	k := p.memories.Memory(node)
	if !isReadyWhileHomeOff(states, node, f.id) {
		k.readyWhileHomeOff = time.Time{}
	} else if k.readyWhileHomeOff.IsZero() {
		k.readyWhileHomeOff = time.Now()
	}
	runsUnseen := nodeinfo.IsReady(node) && time.Since(k.lastSeen.At) > unseenReadyLimit
	if f.vm == nil && (runsUnseen || inventory.IsUnreadable(states, f.id)) {
		k.witnessed = time.Time{}
	}
	if f.vm == nil || f.unreachable != nil {
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

func isReadyWhileHomeOff(states []inventory.State, node *v1.Node, id inventory.Identity) bool {
	return nodeinfo.IsReady(node) && inventory.HomeIsOff(states, id)
}

// identify is Identify for a caller that holds the lock of memories.
func (p *Placer) identify(states []inventory.State, node *v1.Node) (inventory.Identity, error) {
	id, err := p.ReportedIdentity(node)
	k := memoryOf(p.memories, node.UID)
	id.LastSeen = k.lastSeen
	id.Seen = k.seen
	id.Addresses = addresses.ClaimedBy(node)
	readySince := k.readyWhileHomeOff
	id.OutlivedHome = !readySince.IsZero() && time.Since(readySince) > readyGrace && isReadyWhileHomeOff(states, node, id)
	return id, err
}

// Observe returns a Node's VM and updates its memory. It returns nil if the search fails, the VM is shared, or the Node is
// initialized and its vCenter is unreachable. While the pointer stays the same, so does the VM's placement.
func (p *Placer) Observe(states []inventory.State, node *v1.Node) *inventory.VM {
	p.memories.Lock()
	defer p.memories.Unlock()
	loc, err := p.locate(states, node)
	isLost := loc.unreachable != nil && !nodeinfo.IsUninitialized(node)
	if err != nil || isLost || loc.sharing.isShared() {
		return nil
	}
	return loc.vm
}
