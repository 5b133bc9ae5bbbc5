package inventory

import (
	"errors"
	"fmt"
	"slices"

	"vzones/topology"
	"vzones/topology/quote"
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

// entries returns all configured entries of the vCenter where the machine was last seen,
// by its own UUID where that is known. One of that name that was not read yet may be one
// of them too.
func (was LastSeen) entries(states []State) []State {
	var homes []State
	for _, s := range states {
		if was.mayBeIn(s) {
			homes = append(homes, s)
		}
	}
	return homes
}

// isHome reports whether the Node's machine was last found as this one.
func (id Identity) isHome(m match) bool {
	return slices.ContainsFunc(id.last(), func(was LastSeen) bool { return was.is(m) })
}

// keepsHome returns why a Node's machine may still be what it was last found as, although other
// machines fit or none does. Nil means that it certainly is not, or that the index has it as well:
// for each place where it was found, the vCenter is not configured any more, says that the managed
// object is gone or has another UUID, or shows it with its power state. That it is not shown says nothing: a
// right, a host or a datacenter may be out of sight.
func (id Identity) keepsHome(states []State) error {
	for _, was := range id.last() {
		if err := id.keeps(states, was); err != nil {
			return err
		}
	}
	return nil
}

func (id Identity) keeps(states []State, was LastSeen) error {
	entries := was.entries(states)
	for _, s := range entries {
		only := []State{s}
		if err := join(incompleteIndexes(only), pendingSearches(only, id)); err != nil {
			return fmt.Errorf("vCenter %q, which had the machine as %s, cannot say whether it still has it: %w", s.VCenter, quote.Plain(was.ID), err)
		}
	}
	// One entry may show what another one, of other datacenters or another account, does not.
	for _, s := range entries {
		if shown, err := id.mayRunAs(s.Snapshot, was.ID); shown {
			return err
		}
	}
	if slices.ContainsFunc(entries, func(s State) bool { return s.Snapshot.Homes[was.ID] == Other }) {
		return nil
	}
	for _, s := range entries {
		if reply := s.Snapshot.Homes[was.ID]; reply != Gone {
			return &NotShown{VCenter: s.VCenter, ID: was.ID, Reply: reply}
		}
	}
	return nil
}

// mayRunAs reports whether a snapshot shows the Node's machine as a managed object, and returns
// why it may run then although nothing says so.
func (id Identity) mayRunAs(in *Snapshot, moid string) (shown bool, err error) {
	m := in.Machines[moid]
	e, shown := id.RecordedIn(in)
	shown = shown && e.ID == moid
	for _, u := range id.UUIDs {
		if i := slices.IndexFunc(in.Entries(u), func(e Entry) bool { return e.ID == moid }); i >= 0 {
			e, shown = in.Entries(u)[i], true
		}
	}
	if !shown && slices.Contains(in.Outside, moid) && m != nil && slices.Contains(id.UUIDs, m.UUID) {
		e, shown = Entry{ID: moid}, true
	}
	const still = "%s, which was the machine, is still there and may run, and its "
	switch name := in.describe(moid); {
	case !shown, !in.isEligible(e):
		return shown, nil
	case e.Unreadable:
		return true, topology.Errorf(ErrUnreadable, still+"configuration cannot be read", name)
	case m == nil:
		// The index has no connection state, without which its power state says nothing.
		return true, fmt.Errorf(still+"details are not read yet: they are read next", name)
	case m.Power == PowerUnknown:
		return true, fmt.Errorf(still+"power state cannot be read: reconnect its host", name)
	}
	return true, nil
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
		return fmt.Errorf("it was last found in vCenter %s, and another one may have it too: %w", quote.Value(id.last()[0].VCenter), err)
	}
	return nil
}

// RecordsAnother reports whether the record on the Node is of another machine than m,
// which exists and cannot be read. As long as it does, m is not the Node's: see keepsHome.
func RecordsAnother(states []State, id Identity, m *Machine) bool {
	return slices.ContainsFunc(states, func(s State) bool {
		e, ok := id.RecordedIn(s.Snapshot)
		return ok && e.Unreadable && s.Snapshot.Ref(e.ID) != m.Ref && !IsSameMachine(states, m.Ref, s.Snapshot.Ref(e.ID), s.Snapshot.Instance)
	})
}
