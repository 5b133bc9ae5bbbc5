package inventory

import (
	"fmt"
	"slices"

	"vzones/topology"
	"vzones/topology/quote"
)

// undecided returns why nothing can be decided yet of machines that fit a Node, which are
// all on or all off: what is missing may change the result, so that the vCenter that is
// read first would decide. Nil means that they count.
//
//   - The vCenter where the Node's machine was last found comes first. While it
//     cannot be read, no machine of another vCenter is the Node's.
//   - Several that run are ambiguous, whatever else there is.
//   - A vCenter that was not read since it is configured, and did not fail either, is
//     waited for, until it is overdue. Then the Nodes of others go on without it.
//   - A machine that is not where the Node's was last found counts only if every
//     vCenter can be read: the Node has a place, and keeps it until it certainly has
//     another one.
func undecided(states []State, id Identity, fits []match) error {
	if err := lastUnread(states, id, fits); err != nil {
		return err
	}
	if len(fits) > 1 {
		return nil
	}
	if err := stillReading(states, id); err != nil {
		return err
	}
	return moveUncertain(states, id, fits)
}

// entries returns all configured entries of the vCenter where the machine was last seen,
// by its own UUID where that is known. One of that name that was not read yet may be one
// of them too.
func (was LastSeen) entries(states []State) []State {
	var homes []State
	for _, s := range states {
		unknown := was.Instance == "" || s.Snapshot == nil || s.Snapshot.Instance == ""
		if was.isIn(s.Snapshot) || unknown && s.VCenter == was.VCenter {
			homes = append(homes, s)
		}
	}
	return homes
}

// lastIn reports whether the machines are known to be in the vCenter where the Node's
// machine was last found.
func (id Identity) lastIn(states []State, fits []match) bool {
	last := id.last()
	return len(last) > 0 && !slices.ContainsFunc(last, func(was LastSeen) bool {
		homes := was.entries(states)
		return len(homes) == 0 || slices.ContainsFunc(fits, func(m match) bool {
			return !was.is(m) && !slices.ContainsFunc(homes, func(home State) bool { return m.snapshot.VCenter == home.VCenter })
		})
	})
}

// lastUnread returns why the vCenter where the Node's machine was last found cannot show
// whether it still has it, while another vCenter has a machine that fits, or another entry
// of that vCenter has another machine.
func lastUnread(states []State, id Identity, fits []match) error {
	for _, was := range id.last() {
		for _, home := range was.entries(states) {
			if !slices.ContainsFunc(fits, func(m match) bool { return m.snapshot.VCenter != home.VCenter && !was.is(m) }) {
				continue
			}
			only := []State{home}
			if err := join(incompleteIndexes(only), pendingSearches(only, id)); err != nil {
				return fmt.Errorf("vCenter %q, which had the machine as %s, cannot say whether it still has it: %w", home.VCenter, quote.Plain(was.ID), err)
			}
		}
	}
	return nil
}

// stillReading joins the vCenters that may have a machine that fits and are still being
// read or searched.
func stillReading(states []State, id Identity) error {
	settled := func(s State) bool {
		return s.Err != nil || s.Overdue || s.Snapshot != nil && (id.SearchOverdue || s.Snapshot.searchedFor(id))
	}
	if !slices.ContainsFunc(states, func(s State) bool { return !settled(s) }) {
		return nil
	}
	var reasons []error
	for _, s := range id.ownFirst(states) {
		switch {
		case s.Err != nil, s.Overdue:
		case s.Snapshot == nil:
			reasons = append(reasons, s.whyUnreadable())
		case !id.SearchOverdue:
			reasons = append(reasons, pendingSearches([]State{s}, id))
		}
	}
	return joinFew(reasons)
}

// moveUncertain returns why a machine cannot be taken for the Node's, which was last found
// elsewhere.
func moveUncertain(states []State, id Identity, fits []match) error {
	if err := mayStillRun(states, id, fits); err != nil {
		return err
	}
	if len(id.last()) == 0 || id.lastIn(states, fits) {
		return nil
	}
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

// mayStillRun returns why the machine that the Node was last found as may still run,
// though it is not among those that fit: it is there with its UUID and cannot be read.
func mayStillRun(states []State, id Identity, fits []match) error {
	for _, was := range id.last() {
		for _, home := range was.entries(states) {
			if home.Snapshot == nil {
				continue
			}
			it := match{snapshot: home.Snapshot, entry: Entry{ID: was.ID}}
			if slices.ContainsFunc(fits, it.same) {
				continue
			}
			if err := id.mayStillRunIn(home.Snapshot, was); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayStillRunIn is mayStillRun for one vCenter.
func (id Identity) mayStillRunIn(home *Snapshot, was LastSeen) error {
	name := home.describe(was.ID)
	if e, ok := id.recorded(home); ok && e.Unreadable && e.ID == was.ID {
		return topology.Errorf(ErrUnreadable, "%s, which was the machine, is still there and may run, and its configuration cannot be read", name)
	}
	for _, u := range id.UUIDs {
		i := slices.IndexFunc(home.Index[u], func(e Entry) bool { return e.ID == was.ID })
		if i < 0 {
			continue
		}
		m, e := home.Machines[was.ID], home.Index[u][i]
		switch {
		case e.Unreadable:
			return topology.Errorf(ErrUnreadable, "%s, which was the machine, is still there and may run, and its configuration cannot be read", name)
		case m != nil && m.Power == PowerUnknown:
			return fmt.Errorf("%s, which was the machine, is still there and may run, and its power state cannot be read: reconnect its host", name)
		case m == nil && e.Eligible():
			// The index has no connection state, without which its power state says nothing.
			return fmt.Errorf("%s, which was the machine, is still there and may run, and its details are not read yet: they are read next", name)
		}
	}
	return nil
}

// RecordsAnother reports whether the record on the Node is of another machine than m,
// which exists and cannot be read. As long as it does, m is not the Node's: see
// mayStillRun.
func RecordsAnother(states []State, id Identity, m *Machine) bool {
	return slices.ContainsFunc(states, func(s State) bool {
		e, ok := id.recorded(s.Snapshot)
		return ok && e.Unreadable && s.Snapshot.Ref(e.ID) != m.Ref && !IsSameMachine(states, m.Ref, s.Snapshot.Ref(e.ID), s.Snapshot.Instance)
	})
}
