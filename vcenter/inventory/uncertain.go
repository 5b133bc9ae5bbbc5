package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/topology/quote"
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

// join joins errors as errors.Join does, on one line.
func join(reasons ...error) error { return quote.Errors(len(reasons), reasons...) }

// some joins errors likewise, of many vCenters: the text names the first of them, and all
// of them are in it.
func some(reasons []error) error { return quote.Errors(quote.Most, reasons...) }

// unread joins the reasons for which machines may exist that no snapshot has.
func unread(states []State) error {
	var reasons []error
	for _, s := range states {
		err := s.unreadable()
		if err == nil && s.Snapshot.Incomplete != nil {
			err = s.Snapshot.Incomplete
		}
		reasons = append(reasons, err)
	}
	return some(reasons)
}

// unreadable is why the vCenter cannot be read now, nil if it can.
func (s State) unreadable() error {
	if s.Trouble == nil && s.Snapshot == nil {
		return fmt.Errorf("vCenter %q is not read yet", s.VCenter)
	}
	return s.Reach()
}

// unreadableCandidates joins the machines that may be the Node's because nothing says
// what their UUIDs are.
func unreadableCandidates(states []State, id Identity) error {
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
		names := make([]string, min(len(ids), quote.Most))
		for i := range names {
			names[i] = s.Snapshot.describe(ids[i])
		}
		reasons = append(reasons, fmt.Errorf("%w of %d machines that may be it: %s", ErrUnreadable, len(ids), strings.Join(names, ", ")))
	}
	return some(reasons)
}

// uncertain returns why the Node's machine may be where nothing shows it.
func uncertain(states []State, id Identity, _ []match) error {
	return join(unread(states), removedVCenter(states, id), unreadableCandidates(states, id), unsearched(states, id))
}

// unsearched joins the vCenters that were not searched for the Node's machine yet: by
// its name, or by its UUIDs where the index does not have all machines.
func unsearched(states []State, id Identity) error {
	var reasons []error
	for _, s := range states {
		if s.Snapshot != nil && !s.Snapshot.searchedFor(id) {
			reasons = append(reasons, fmt.Errorf("vCenter %q is still being searched for it", s.VCenter))
		}
	}
	return some(reasons)
}

func (s *Snapshot) searchedFor(id Identity) bool {
	if len(id.UUIDs) == 0 {
		_, done := s.Names[id.Name]
		return done
	}
	if id.Known.VCenter == s.VCenter && s.Coming[id.Known.ID] {
		return false
	}
	return s.Searched == nil || !slices.ContainsFunc(id.UUIDs, func(u UUID) bool { return !s.Searched.UUIDs[u] })
}

// removedVCenter is the vCenter that had the machine and is not configured any more.
func removedVCenter(states []State, id Identity) error {
	configured := func(vcenter string) bool {
		return vcenter == "" || slices.ContainsFunc(states, func(s State) bool { return s.VCenter == vcenter })
	}
	switch {
	case !configured(id.Known.VCenter):
		return fmt.Errorf("vCenter %s, which had the machine as %s, is not in the configuration", quote.Value(id.Known.VCenter), quote.Plain(id.Known.ID))
	case !configured(id.Seen.VCenter):
		return fmt.Errorf("vCenter %q, which had the machine, is not in the configuration any more", id.Seen.VCenter)
	case replaced(states, LastSeen{VCenter: id.Known.VCenter, Instance: id.KnownIn}):
		return fmt.Errorf("vCenter %s, which had the machine as %s, is another one now, by its own UUID", quote.Value(id.Known.VCenter), quote.Plain(id.Known.ID))
	case replaced(states, id.Seen):
		return fmt.Errorf("vCenter %q, which had the machine, is another one now, by its own UUID", id.Seen.VCenter)
	}
	return nil
}

// replaced says whether the vCenter that had the machine is not among these, though
// one of that name is.
func replaced(states []State, seen LastSeen) bool {
	now := StateOf(states, seen.VCenter).Snapshot
	if now == nil || seen.Instance == "" || now.Instance == "" {
		return false
	}
	return !slices.ContainsFunc(states, func(s State) bool { return s.Snapshot != nil && s.Snapshot.Instance == seen.Instance })
}
