package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"vzones/internal/quote"
	"vzones/topology"
)

// ErrNotShown means that a vCenter neither shows a Node's home nor reports it as gone.
var ErrNotShown = errors.New("the VM is no longer shown")

// NotShown is an ErrNotShown.
type NotShown struct {
	VCenter, ID string
	// Reply is Unasked, Hidden or Present.
	Reply Reply
}

func (n *NotShown) Error() string {
	name := topology.Ref{VCenter: n.VCenter, Type: "VirtualMachine", ID: n.ID}.Located("")
	switch n.Reply {
	case Hidden:
		return name + ", which was the VM, is not shown to the account: give the account its role on the VM and its ancestors, or delete the Node if its VM is gone"
	case Present:
		return name + ", which was the VM, exists but cannot be read: delete the Node by hand if this is no longer its VM"
	}
	return name + ", which was the VM, is no longer shown, and vzones is asking its vCenter whether it exists"
}

func (*NotShown) Unwrap() error { return ErrNotShown }

type homeState int

const (
	noHome homeState = iota
	homeOn
	homeOff
	homePerhapsOn
	homeNotShown
	// homeGone also applies to an existing object that is no longer the Node's VM.
	homeGone
	homeRemoved
)

type home struct {
	state    homeState
	lastSeen LastSeen
	entries  []State
	match    match
	// mayRunReason is set in the states homePerhapsOn and homeNotShown.
	mayRunReason error
}

func (h home) isMatch(m match) bool { return h.state != noHome && h.lastSeen.isMatch(m, h.entries) }

func (id Identity) home(states []State, found []match) home {
	h := home{lastSeen: id.lastPlace()}
	if h.lastSeen.VCenter == "" {
		return h
	}
	h.entries = h.lastSeen.entries(states)
	if i := slices.IndexFunc(found, func(m match) bool { return h.lastSeen.isMatch(m, h.entries) }); i >= 0 {
		h.match = found[i]
		h.mayRunReason = h.match.whyMayRun(states)
		switch {
		case h.mayRunReason != nil:
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
		// The entry may be renamed, but two addresses report the instance UUID of its vCenter.
		i := slices.IndexFunc(states, h.lastSeen.mayBeIn)
		if i >= 0 && StateOf(states, h.lastSeen.VCenter).VCenter == "" {
			h.state = homeNotShown
			h.mayRunReason = CheckInstance(states, states[i].VCenter)
		}
		return h
	}
	h.mayRunReason = id.whyNotGone(h.lastSeen, h.entries)
	h.state = homeGone
	if h.mayRunReason != nil {
		h.state = homeNotShown
	}
	return h
}

func (id Identity) whyNotGone(lastSeen LastSeen, entries []State) error {
	for _, s := range entries {
		single := []State{s}
		if err := join(incompleteIndexes(single), pendingSearches(single, id)); err != nil {
			return fmt.Errorf("vCenter %q, which had the VM as %s, cannot tell whether it still has it: %w", s.VCenter, quote.Plain(lastSeen.ID), err)
		}
	}
	// Entries of one vCenter with different datacenters or accounts may show different VMs.
	for _, s := range entries {
		e, recorded := id.RecordedIn(s.Snapshot)
		if recorded && e.ID == lastSeen.ID && e.Unreadable && s.Snapshot.isEligible(e) {
			return topology.Errorf(ErrUnreadable, stillThere+"configuration cannot be read", s.Snapshot.describe(e.ID))
		}
		if id.isShownIn(s.Snapshot, lastSeen.ID) || s.Snapshot.Homes[lastSeen.ID] == Different {
			return nil
		}
	}
	for _, s := range entries {
		if reply := s.Snapshot.Homes[lastSeen.ID]; reply != Gone {
			return &NotShown{VCenter: s.VCenter, ID: lastSeen.ID, Reply: reply}
		}
	}
	return nil
}

// isShownIn includes templates and Fault Tolerance secondaries.
func (id Identity) isShownIn(snap *Snapshot, moid string) bool {
	isIt := func(e Entry) bool { return e.ID == moid }
	return slices.ContainsFunc(id.UUIDs, func(u UUID) bool { return slices.ContainsFunc(snap.Entries(u), isIt) })
}

const stillThere = "%s, which was the VM, still exists and may run, and its "

func (m match) whyMayRun(states []State) error {
	details := m.details()
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return fmt.Errorf(stillThere+"power state is unknown: %w", m, err)
	}
	switch {
	case m.entry.Unreadable:
		return topology.Errorf(ErrUnreadable, stillThere+"configuration cannot be read", m)
	case details == nil:
		// The index lacks the connection state, and the power state on a disconnected host is stale.
		return fmt.Errorf(stillThere+"details are not yet read: they are read next", m)
	case details.Power == PowerUnknown:
		return fmt.Errorf(stillThere+"power state cannot be read: reconnect its host", m)
	}
	return nil
}

// HomeIsGone reports whether the Node's home does not exist. It is false if the home is another VM or a template now.
func HomeIsGone(states []State, id Identity) bool {
	home := id.lastPlace()
	return slices.ContainsFunc(home.entries(states), func(s State) bool { return s.Snapshot != nil && s.Snapshot.Homes[home.ID] == Gone })
}

// HomeIsOff reports whether a readable vCenter shows the Node's home powered off.
func HomeIsOff(states []State, id Identity) bool {
	lastSeen := id.lastPlace()
	vCenter := lastSeen.vCenter(states)
	return vCenter.VCenter != "" && slices.ContainsFunc(states, func(s State) bool {
		if s.Err != nil || s.Snapshot == nil || !s.isSameVCenter(vCenter) {
			return false
		}
		m := s.Snapshot.VMs[lastSeen.ID]
		return m != nil && m.Power.IsOff()
	})
}

// isSameVM accepts as evidence the instance UUID, and addresses of the Node that do not float between VMs.
func (seen LastSeen) isSameVM(m *VM, addresses []netip.Addr) bool {
	if !seen.VM.IsZero() && seen.VM == m.InstanceUUID {
		return true
	}
	if slices.Contains(addresses, m.GuestAddress) {
		return true
	}
	for _, nic := range m.NICs {
		isEvidence := func(a netip.Addr) bool {
			return slices.Contains(addresses, a) && !slices.Contains(nic.Unusable, a) && !slices.Contains(nic.Secondary, a)
		}
		if nic.DeviceConfigID >= 0 && slices.ContainsFunc(nic.Addresses, isEvidence) {
			return true
		}
	}
	return false
}

// RecordsOtherVM reports whether the Node's record is of an unreadable VM other than m.
func RecordsOtherVM(states []State, id Identity, m *VM) bool {
	entry := StateOf(states, m.Ref.VCenter)
	return slices.ContainsFunc(states, func(s State) bool {
		e, ok := id.RecordedIn(s.Snapshot)
		return ok && e.Unreadable && (e.ID != m.Ref.ID || !s.isSameVCenter(entry))
	})
}
