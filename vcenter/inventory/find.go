package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vzones/topology"
)

// An Identity is what a Node tells about its machine.
type Identity struct {
	// UUIDs are the forms that the machine's UUID may have; a machine with any
	// of them matches.
	UUIDs []UUID
	// Name is the Node's name. It counts only where UUIDs is empty.
	Name string
}

func (id Identity) String() string {
	if len(id.UUIDs) == 0 {
		return fmt.Sprintf("name %q", id.Name)
	}
	forms := make([]string, len(id.UUIDs))
	for i, u := range id.UUIDs {
		forms[i] = u.String()
	}
	return "UUID " + strings.Join(forms, " or ")
}

// Find returns the machine of a Node. The error is one of
//   - topology.ErrAmbiguous: several machines are equally right; the message
//     names them.
//   - topology.ErrUnknown: it may be in a vCenter that was not read
//     completely, or its details are not read yet.
//   - topology.ErrAbsent: every vCenter was read completely, and none has it.
//     That is what the snapshots say, which may be seconds old.
func Find(states []State, id Identity) (*Machine, error) { return find(states, id, unread) }

// FindStopped is Find for a Node that may be shut down: a machine that is off
// counts although other vCenters, or some of their machines, cannot be seen, so
// that another vCenter's trouble does not hide it. It must not decide where a
// Node is, since a machine that runs may be among those.
func FindStopped(states []State, id Identity) (*Machine, error) {
	return find(states, id, func([]State) error { return nil })
}

// find looks for a machine. What needs to be known of all vCenters before a
// machine that is off counts is asked of doubt.
func find(states []State, id Identity, doubt func([]State) error) (*Machine, error) {
	var found match
	var err error
	if len(id.UUIDs) > 0 {
		found, err = findByUUID(states, id, doubt)
	} else {
		found, err = findByName(states, id)
	}
	if err != nil {
		return nil, err
	}
	m, ok := found.snapshot.Machines[found.entry.ID]
	if !ok {
		return nil, fmt.Errorf("%w: the details of %s are not read yet", topology.ErrUnknown, found)
	}
	return m, nil
}

// match is a machine that fits an identity.
type match struct {
	snapshot *Snapshot
	entry    Entry
}

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }

// findByUUID prefers the one machine that is powered on. Machines that are not
// count only where there is no doubt, since the one that runs may be where
// nothing can be seen. That there is none at all is said only when all vCenters
// were read completely.
func findByUUID(states []State, id Identity, doubt func([]State) error) (match, error) {
	var on, off []match
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range id.UUIDs {
			for _, e := range s.Snapshot.Index[u] {
				switch {
				case e.Template:
				case e.PoweredOn:
					on = append(on, match{s.Snapshot, e})
				default:
					off = append(off, match{s.Snapshot, e})
				}
			}
		}
	}
	if len(on) > 0 {
		return only(on, id)
	}
	if len(off) == 0 {
		doubt = unread
	}
	if err := doubt(states); err != nil {
		return match{}, fmt.Errorf("%w: no running machine with %s found: %w", topology.ErrUnknown, id, err)
	}
	return only(off, id)
}

// findByName prefers guest host names to machines' own names and takes a
// unique match only, so it needs to know all vCenters.
func findByName(states []State, id Identity) (match, error) {
	if err := unread(states); err != nil {
		return match{}, fmt.Errorf("%w: whether %s is unique cannot be said: %w", topology.ErrUnknown, id, err)
	}
	var byHostName, byName []match
	for _, s := range states {
		for _, e := range s.Snapshot.Names[id.Name] {
			switch {
			case e.Template:
			case e.ByHostName:
				byHostName = append(byHostName, match{s.Snapshot, e.Entry})
			default:
				byName = append(byName, match{s.Snapshot, e.Entry})
			}
		}
	}
	if len(byHostName) > 0 {
		return only(byHostName, id)
	}
	return only(byName, id)
}

func only(matches []match, id Identity) (match, error) {
	switch len(matches) {
	case 0:
		return match{}, fmt.Errorf("%w: no vCenter has a machine with %s", topology.ErrAbsent, id)
	case 1:
		return matches[0], nil
	}
	names := make([]string, len(matches))
	for i, m := range matches {
		names[i] = m.String()
	}
	return match{}, fmt.Errorf("%w: %d machines have %s: %s", topology.ErrAmbiguous, len(matches), id, strings.Join(names, ", "))
}

// Indexed says whether any vCenter's index has a machine, which is not a
// template, with one of the UUIDs. It may be one of several, and out of date.
func Indexed(states []State, uuids []UUID) bool {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range uuids {
			if slices.ContainsFunc(s.Snapshot.Index[u], func(e Entry) bool { return !e.Template }) {
				return true
			}
		}
	}
	return false
}

// unread joins the reasons for which machines may exist that no snapshot has.
func unread(states []State) error {
	var reasons []error
	for _, s := range states {
		switch {
		case s.Trouble != nil:
			reasons = append(reasons, s.Trouble)
		case s.Snapshot == nil:
			reasons = append(reasons, fmt.Errorf("vCenter %q is not read yet", s.VCenter))
		case s.Snapshot.Incomplete != nil:
			reasons = append(reasons, s.Snapshot.Incomplete)
		}
	}
	return errors.Join(reasons...)
}
