package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// These say more about a topology.ErrUnknown, for whoever has to act on it.
var (
	// ErrOutside: the machine is in none of the configured datacenters.
	ErrOutside = errors.New("outside the configured datacenters")
	// ErrUnreachable: a vCenter is in trouble; see Unreachable.
	ErrUnreachable = errors.New("vCenter unreachable")
	// ErrUnreadable: a machine's configuration cannot be read.
	ErrUnreadable = errors.New("configuration not readable")
)

// Unreachable is the trouble of a vCenter. It is ErrUnreachable.
type Unreachable struct {
	VCenter string
	// Err names the vCenter too.
	Err error
}

func (u *Unreachable) Error() string   { return u.Err.Error() }
func (u *Unreachable) Unwrap() []error { return []error{ErrUnreachable, u.Err} }

// Reach returns the trouble of the vCenter, an *Unreachable, nil if there is none.
func (s State) Reach() error {
	if s.Trouble == nil {
		return nil
	}
	return &Unreachable{s.VCenter, s.Trouble}
}

// UnreachableIn returns the vCenters whose trouble is in an error, in order.
func UnreachableIn(err error) []string {
	var vcenters []string
	switch e := err.(type) { //nolint:errorlint // this is the walk
	case *Unreachable:
		vcenters = append(vcenters, e.VCenter)
	case interface{ Unwrap() error }:
		vcenters = UnreachableIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			vcenters = append(vcenters, UnreachableIn(one)...)
		}
	}
	slices.Sort(vcenters)
	return slices.Compact(vcenters)
}

// unread joins the reasons for which machines may exist that no snapshot has.
func unread(states []State) error {
	var reasons []error
	for _, s := range states {
		switch {
		case s.Trouble != nil:
			reasons = append(reasons, s.Reach())
		case s.Snapshot == nil:
			reasons = append(reasons, fmt.Errorf("vCenter %q is not read yet", s.VCenter))
		case s.Snapshot.Incomplete != nil:
			reasons = append(reasons, s.Snapshot.Incomplete)
		}
	}
	return errors.Join(reasons...)
}

// named is how many machines an error names at most.
const named = 3

// unidentified joins the machines that may be the Node's because nothing tells
// what their UUIDs are.
func unidentified(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		var ids []string
		for moid, first := range s.Snapshot.Unreadable {
			if !id.isAnother(s, moid, first) {
				ids = append(ids, moid)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		names := make([]string, min(len(ids), named))
		for i := range names {
			names[i] = s.Snapshot.describe(ids[i])
		}
		reasons = append(reasons, fmt.Errorf("%w of %d machines that may be it: %s", ErrUnreadable, len(ids), strings.Join(names, ", ")))
	}
	return errors.Join(reasons...)
}

// doubt is why the Node's machine may be where nothing tells of it.
func doubt(states []State, id Identity) error {
	return errors.Join(unread(states), absentee(states, id), unidentified(states, id), unsearched(states, id))
}

// unsearched joins the vCenters that are watched with index: followed and were not
// searched for the Node's machine yet.
func unsearched(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		if s.Snapshot == nil || s.Snapshot.Searched == nil {
			continue
		}
		done := s.Snapshot.Searched
		missing := slices.ContainsFunc(id.UUIDs, func(u UUID) bool { return !done.UUIDs[u] })
		if missing || len(id.UUIDs) == 0 && !done.Names[strings.ToLower(id.Name)] {
			reasons = append(reasons, fmt.Errorf("vCenter %q is still being searched for it", s.VCenter))
		}
	}
	return errors.Join(reasons...)
}

// absentee is the vCenter that had the machine and is not configured any more.
func absentee(states []State, id Identity) error {
	configured := func(vcenter string) bool {
		return vcenter == "" || slices.ContainsFunc(states, func(s State) bool { return s.VCenter == vcenter })
	}
	switch {
	case !configured(id.Known.VCenter):
		return fmt.Errorf("vCenter %q, which had the machine as %s, is not in the configuration", id.Known.VCenter, id.Known.ID)
	case !configured(id.Seen.VCenter):
		return fmt.Errorf("vCenter %q, which had the machine, is not in the configuration any more", id.Seen.VCenter)
	case replaced(states, Sighting{VCenter: id.Known.VCenter, Instance: id.KnownIn}):
		return fmt.Errorf("vCenter %q, which had the machine as %s, is another one now, by its own UUID", id.Known.VCenter, id.Known.ID)
	case replaced(states, id.Seen):
		return fmt.Errorf("vCenter %q, which had the machine, is another one now, by its own UUID", id.Seen.VCenter)
	}
	return nil
}

// replaced says whether the vCenter that had the machine is not among these, though
// one of that name is.
func replaced(states []State, seen Sighting) bool {
	now := StateOf(states, seen.VCenter).Snapshot
	if now == nil || seen.Instance == "" || now.Instance == "" {
		return false
	}
	return !slices.ContainsFunc(states, func(s State) bool { return s.Snapshot != nil && s.Snapshot.Instance == seen.Instance })
}

// Held says whether the machine that the Node was found as last is there with its
// UUID, though it cannot be read. Another one with that UUID is not the Node's
// for sure then.
func Held(states []State, id Identity) bool {
	for _, s := range states {
		if s.Snapshot == nil || s.VCenter != id.Known.VCenter {
			continue
		}
		for _, u := range id.UUIDs {
			if slices.ContainsFunc(s.Snapshot.Index[u], func(e Entry) bool { return e.ID == id.Known.ID && e.Unreadable }) {
				return true
			}
		}
	}
	return false
}
