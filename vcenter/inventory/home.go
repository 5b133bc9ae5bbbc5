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
	// homeOn and homeOff: a vCenter that can be read shows the managed object with the Node's UUID, and whether
	// it runs.
	homeOn
	homeOff
	// homePerhapsOn: a snapshot shows it, and whether it runs is not known now.
	homePerhapsOn
	// homeNotShown: no snapshot shows it, and its vCenter has not denied that it exists.
	homeNotShown
	// homeGone: its vCenter denies that it exists, or shows that it is no VM of a Node any more.
	homeGone
	// homeRemoved: no configured entry is its vCenter.
	homeRemoved
)

// home is the managed object in which a Node's VM was last found.
type home struct {
	state homeState
	was   LastSeen
	// entries are the entries of its vCenter.
	entries []State
	// match is the managed object if a snapshot shows it.
	match match
	// mayRun is why it may run although nothing shows that, in the states homePerhapsOn and homeNotShown.
	mayRun error
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
		h.match = fits[i]
		h.mayRun = h.match.whyMayRun(states)
		switch {
		case h.mayRun != nil:
			h.state = homePerhapsOn
		case h.match.runs():
			h.state = homeOn
		default:
			h.state = homeOff
		}
		return h
	}
	if len(h.entries) == 0 {
		h.state = homeRemoved
		// Its entry may have a new name, and two addresses report the instance UUID of its vCenter.
		i := slices.IndexFunc(states, h.was.mayBeIn)
		if i >= 0 && StateOf(states, h.was.VCenter).VCenter == "" {
			h.state = homeNotShown
			h.mayRun = CheckInstance(states, states[i].VCenter)
		}
		return h
	}
	h.mayRun = id.whyNotGone(h.was, h.entries)
	h.state = homeGone
	if h.mayRun != nil {
		h.state = homeNotShown
	}
	return h
}

// whyNotGone returns why a managed object that no snapshot shows as the Node's VM may exist, nil if its vCenter
// has denied that. Entries are those of the vCenter.
func (id Identity) whyNotGone(was LastSeen, entries []State) error {
	for _, s := range entries {
		only := []State{s}
		if err := join(incompleteIndexes(only), pendingSearches(only, id)); err != nil {
			return fmt.Errorf("vCenter %q, which had the VM as %s, cannot tell whether it still has it: %w", s.VCenter, quote.Plain(was.ID), err)
		}
	}
	// One entry may show what another entry, of other datacenters or another account, does not.
	for _, s := range entries {
		e, recorded := id.RecordedIn(s.Snapshot)
		if recorded && e.ID == was.ID && e.Unreadable && s.Snapshot.isEligible(e) {
			return topology.Errorf(ErrUnreadable, stillThere+"configuration cannot be read", s.Snapshot.describe(e.ID))
		}
		if id.isShownIn(s.Snapshot, was.ID) || s.Snapshot.Homes[was.ID] == Other {
			return nil
		}
	}
	for _, s := range entries {
		if reply := s.Snapshot.Homes[was.ID]; reply != Gone {
			return &NotShown{VCenter: s.VCenter, ID: was.ID, Reply: reply}
		}
	}
	return nil
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

// RecordsAnother reports whether the record on the Node is of another machine than m,
// which exists and cannot be read. As long as it does, m is not the Node's.
func RecordsAnother(states []State, id Identity, m *Machine) bool {
	of := StateOf(states, m.Ref.VCenter)
	return slices.ContainsFunc(states, func(s State) bool {
		e, ok := id.RecordedIn(s.Snapshot)
		return ok && e.Unreadable && (e.ID != m.Ref.ID || !s.isSameVCenter(of))
	})
}
