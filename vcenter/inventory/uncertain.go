package inventory

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
	"vzones/topology"
)

// join is errors.Join on one line.
func join(reasons ...error) error { return quote.Errors(len(reasons), reasons...) }

// joinAbbreviated lists only the first reasons, and wraps all.
func joinAbbreviated(reasons []error) error { return quote.Errors(quote.Most, reasons...) }

func incompleteIndexes(states []State) error {
	var reasons []error
	for _, s := range states {
		err := s.whyUnreadable()
		if err == nil && s.Snapshot.Incomplete != nil {
			err = s.Snapshot.Incomplete
		}
		reasons = append(reasons, err)
	}
	return joinAbbreviated(reasons)
}

func (s State) whyUnreadable() error {
	if s.Err == nil && s.Snapshot == nil {
		return fmt.Errorf("vCenter %q is not yet read: wait, or see the Events of the daemon's Pod", s.VCenter)
	}
	return s.CheckReachable()
}

func unreadableCandidates(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		var ids []string
		for moid, first := range s.Snapshot.Unreadable {
			if !id.IsOtherVM(s, moid, first) {
				ids = append(ids, moid)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		reasons = append(reasons, unreadable(s.Snapshot, ids))
	}
	return joinAbbreviated(reasons)
}

func unreadable(s *Snapshot, ids []string) error {
	names := make([]string, min(len(ids), quote.Most))
	for i := range names {
		names[i] = s.describe(ids[i])
	}
	suffix := ""
	if n := len(ids) - len(names); n > 0 {
		suffix = fmt.Sprintf(" and %d more", n)
	}
	return topology.Errorf(ErrUnreadable, "the configuration of %s%s, which may be the VM, cannot be read", strings.Join(names, ", "), suffix)
}

// whyUncertain returns the reason the Node's VM may exist although no snapshot shows it.
func whyUncertain(states []State, id Identity) error {
	states = id.lastVCenterFirst(states)
	return join(incompleteIndexes(states), removedVCenter(states, id), unreadableCandidates(states, id), pendingSearches(states, id))
}

func pendingSearches(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		if s.Snapshot != nil && !s.Snapshot.searchedFor(id) {
			reasons = append(reasons, fmt.Errorf("vCenter %q is still being searched for the VM: wait", s.VCenter))
		}
	}
	return joinAbbreviated(reasons)
}

func (s *Snapshot) searchedFor(id Identity) bool {
	_, done := s.Names[id.Name]
	return done || len(id.UUIDs) > 0
}

// removedVCenter is the error for a home whose vCenter has no entry, or whose entry is now another vCenter.
func removedVCenter(states []State, id Identity) error {
	lastSeen := id.lastPlace()
	switch {
	case lastSeen.VCenter == "", len(lastSeen.entries(states)) > 0:
		return nil
	case StateOf(states, lastSeen.VCenter).VCenter != "":
		return fmt.Errorf("vCenter %s, which had the VM as %s, is now another vCenter with a different UUID: delete the Node if its VM is gone",
			quote.Value(lastSeen.VCenter), quote.Plain(lastSeen.ID))
	}
	return fmt.Errorf("vCenter %s, which had the VM as %s, is not in the configuration: add it again, or delete the Node if its VM is gone",
		quote.Value(lastSeen.VCenter), quote.Plain(lastSeen.ID))
}

// stillReading ignores failed and overdue vCenters.
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
	return joinAbbreviated(reasons)
}

func notAllRead(states []State, id Identity) error {
	states = id.lastVCenterFirst(states)
	reasons := []error{pendingSearches(states, id)}
	for _, s := range states {
		reasons = append(reasons, s.whyUnreadable())
	}
	if err := joinAbbreviated(reasons); err != nil {
		return fmt.Errorf("it was last found in vCenter %s, and another vCenter may have it too: %w", quote.Value(id.lastPlace().VCenter), err)
	}
	return nil
}
