package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// ErrNotShown says that a vCenter does not show the machine that a Node was last found as, and has
// not said that it is gone. It is in a NotShown.
var ErrNotShown = errors.New("the machine is not shown any more")

// NotShown is the error of a Node whose machine is not shown any more where it was last found. It
// wraps ErrNotShown.
type NotShown struct {
	// VCenter is the entry that has to be asked about the managed object with the ID.
	VCenter, ID string
	// Reply is what it has answered: Unasked, Hidden or There.
	Reply Reply
}

func (n *NotShown) Error() string {
	name := topology.Ref{VCenter: n.VCenter, Type: "VirtualMachine", ID: n.ID}.Located("")
	switch n.Reply {
	case Hidden:
		return name + ", which was the machine, is not shown to the account: give the account its role on the machine and what is above it, or delete the Node if its machine is gone"
	case There:
		return name + ", which was the machine, exists, and cannot be read: delete the Node by hand if it is not its machine any more"
	}
	return name + ", which was the machine, is not shown any more, and its vCenter is being asked whether it exists"
}

// Unwrap returns ErrNotShown.
func (*NotShown) Unwrap() error { return ErrNotShown }

// A homeState is how certain it is that a Node's VM still is the managed object in which it was last found.
type homeState int

const (
	// noHome: the VM was never found.
	noHome homeState = iota
	// homeShown: a snapshot shows the managed object with the Node's UUID.
	homeShown
	// homeUnknown: no snapshot shows it, and its vCenter has not denied that it exists.
	homeUnknown
	// homeGone: its vCenter denies that it exists, or shows that it is no VM of a Node any more.
	homeGone
	// homeRemoved: no configured entry is its vCenter.
	homeRemoved
)

// home is the managed object in which a Node's VM was last found.
type home struct {
	state homeState
	was   LastSeen
	// entries are those of its vCenter.
	entries []State
	// match is the managed object if it is shown, and mayRun why it may run although nothing shows that.
	match  match
	mayRun error
	// unknown is why it may exist if the state is homeUnknown.
	unknown error
}

// is reports whether a match is the home.
func (h home) is(m match) bool { return h.state != noHome && h.was.is(m, h.entries) }

// home returns the home of the Node. Fits are the VMs with its UUID.
func (id Identity) home(states []State, fits []match) home {
	h := home{was: id.last()}
	if h.was.VCenter == "" {
		return h
	}
	h.entries = h.was.entries(states)
	if i := slices.IndexFunc(fits, func(m match) bool { return h.was.is(m, h.entries) }); i >= 0 {
		h.state, h.match = homeShown, fits[i]
		h.mayRun = fits[i].whyMayRun(states)
		return h
	}
	if len(h.entries) == 0 {
		h.state = homeRemoved
		// It may have been renamed, and two addresses report that they are it.
		i := slices.IndexFunc(states, h.was.mayBeIn)
		if i >= 0 && StateOf(states, h.was.VCenter).VCenter == "" {
			h.state, h.unknown = homeUnknown, CheckInstance(states, states[i].VCenter)
		}
		return h
	}
	h.state = homeUnknown
	for _, s := range h.entries {
		only := []State{s}
		if err := join(incompleteIndexes(only), pendingSearches(only, id)); err != nil {
			h.unknown = fmt.Errorf("vCenter %q, which had the VM as %s, cannot tell whether it still has it: %w", s.VCenter, quote.Plain(h.was.ID), err)
			return h
		}
	}
	// One entry may show what another one, of other datacenters or another account, does not.
	for _, s := range h.entries {
		e, recorded := id.RecordedIn(s.Snapshot)
		if recorded && e.ID == h.was.ID && e.Unreadable && s.Snapshot.isEligible(e) {
			h.unknown = topology.Errorf(ErrUnreadable, stillThere+"configuration cannot be read", s.Snapshot.describe(e.ID))
			return h
		}
		if id.isShownIn(s.Snapshot, h.was.ID) || s.Snapshot.Homes[h.was.ID] == Other {
			h.state = homeGone
			return h
		}
	}
	for _, s := range h.entries {
		if reply := s.Snapshot.Homes[h.was.ID]; reply != Gone {
			h.unknown = &NotShown{VCenter: s.VCenter, ID: h.was.ID, Reply: reply}
			return h
		}
	}
	h.state = homeGone
	return h
}

// isShownIn reports whether a snapshot shows a managed object with the Node's UUID, also a template or the
// secondary of a Fault Tolerance pair.
func (id Identity) isShownIn(in *Snapshot, moid string) bool {
	isIt := func(e Entry) bool { return e.ID == moid }
	return slices.ContainsFunc(id.UUIDs, func(u UUID) bool { return slices.ContainsFunc(in.Entries(u), isIt) })
}

const stillThere = "%s, which was the VM, is still there and may run, and its "

// whyMayRun returns why a VM may run although no snapshot shows that now. Nil means that its power state is
// known.
func (m match) whyMayRun(states []State) error {
	details := m.details()
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return fmt.Errorf(stillThere+"power state is not known: %w", m, err)
	}
	switch {
	case m.entry.Unreadable:
		return topology.Errorf(ErrUnreadable, stillThere+"configuration cannot be read", m)
	case details == nil:
		// The index has no connection state, without which a power state is how it was.
		return fmt.Errorf(stillThere+"details are not read yet: they are read next", m)
	case details.Power == PowerUnknown:
		return fmt.Errorf(stillThere+"power state cannot be read: reconnect its host", m)
	}
	return nil
}

// HomeIsOff reports whether a vCenter that can be read shows the Node's home powered off.
func HomeIsOff(states []State, id Identity) bool {
	was := id.last()
	vCenter := was.vCenter(states)
	return vCenter.VCenter != "" && slices.ContainsFunc(states, func(s State) bool {
		if s.Err != nil || s.Snapshot == nil || !s.isSameVCenter(vCenter) {
			return false
		}
		m := s.Snapshot.Machines[was.ID]
		return m != nil && m.Power.IsOff()
	})
}

// isReplacedBy returns nil if the only match that may run has taken the place of a home that is off, gone or
// no longer configured.
func (h home) isReplacedBy(states []State, id Identity, m match) error {
	if err := m.isUsable(states, id); err != nil {
		return err
	}
	if !m.runs() {
		return mayNotRun(m)
	}
	if err := notAllRead(states, id); err != nil {
		return topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is the VM with %s: %w", m, id, err)
	}
	was := topology.Ref{VCenter: h.was.VCenter, Type: "VirtualMachine", ID: h.was.ID}.Located("") + ", which was the VM, "
	cause := ErrNotShown
	isAnother := StateOf(states, h.was.VCenter).VCenter != ""
	switch {
	case h.state == homeRemoved && !isAnother, h.was.isSameVM(m.details(), id.Addresses), h.state == homeShown && id.OutlivedHome:
		return nil
	case h.state == homeRemoved:
		was += "was in another vCenter, by that one's instance UUID"
	case h.state == homeShown:
		was, cause = h.match.String()+", which was the VM, is off", ErrPoweredOff
	default:
		was += "does not exist, unless its host has left the inventory"
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, cause}, "%s, and %s runs with the same UUID, another instance UUID and none of the Node's addresses: "+
		"delete the Node and restart its kubelet if that is its VM now; otherwise switch the copy off, or give it a UUID of its own (uuid.bios)", was, m)
}

// isSameVM reports whether there is evidence that a VM is the one that was last seen as another managed
// object: it has the same instance UUID, or it reports an address of the Node. An address that floats
// between VMs is no evidence.
func (was LastSeen) isSameVM(m *Machine, of []netip.Addr) bool {
	if !was.VM.IsZero() && was.VM == m.InstanceUUID {
		return true
	}
	if slices.Contains(of, m.GuestAddress) {
		return true
	}
	for _, nic := range m.NICs {
		isEvidence := func(a netip.Addr) bool {
			return slices.Contains(of, a) && !slices.Contains(nic.Unusable, a) && !slices.Contains(nic.Secondary, a)
		}
		if nic.DeviceConfigID >= 0 && slices.ContainsFunc(nic.Addresses, isEvidence) {
			return true
		}
	}
	return false
}

// stillReading joins the vCenters that may have a machine that fits and are still being
// read or searched.
func stillReading(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		switch {
		case s.Err != nil, s.Overdue:
		case s.Snapshot == nil:
			reasons = append(reasons, s.whyUnreadable())
		default:
			reasons = append(reasons, pendingSearches([]State{s}, id))
		}
	}
	return joinFew(reasons)
}

// notAllRead returns which vCenters cannot be read, where a Node's machine may be that is not
// where it was last found.
func notAllRead(states []State, id Identity) error {
	states = id.ownFirst(states)
	reasons := []error{pendingSearches(states, id)}
	for _, s := range states {
		reasons = append(reasons, s.whyUnreadable())
	}
	if err := joinFew(reasons); err != nil {
		return fmt.Errorf("it was last found in vCenter %s, and another one may have it too: %w", quote.Value(id.last().VCenter), err)
	}
	return nil
}

// RecordsAnother reports whether the record on the Node is of another machine than m,
// which exists and cannot be read. As long as it does, m is not the Node's.
func RecordsAnother(states []State, id Identity, m *Machine) bool {
	of := StateOf(states, m.Ref.VCenter)
	return slices.ContainsFunc(states, func(s State) bool {
		e, ok := id.RecordedIn(s.Snapshot)
		return ok && e.Unreadable && (e.ID != m.Ref.ID || !s.isSameVCenter(of))
	})
}
