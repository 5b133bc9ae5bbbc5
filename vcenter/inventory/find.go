package inventory

import (
	"errors"
	"slices"

	"vzones/topology"
)

// Find returns the VM of a Node according to the table of the package comment. The error is one of:
//   - topology.ErrAmbiguous: several VMs match equally well.
//   - topology.ErrUnknown: a vCenter was not read completely, or the VM's details cannot be read.
//   - topology.ErrAbsent: every vCenter was read completely, and none has the VM. Snapshots may be seconds old.
func Find(states []State, id Identity) (*VM, error) {
	found, err := find(states, id, forPlacement)
	if err != nil {
		return nil, err
	}
	return found.details(), nil
}

// PowerOf returns the power state of a Node's VM, or an error of Find. If the VM is off, its state is unknown while
// another VM with the UUID is off too (row 4).
func PowerOf(states []State, id Identity) (Power, error) {
	found, err := find(states, id, forShutdown)
	if err != nil {
		return PowerUnknown, err
	}
	return found.details().Power, nil
}

// Exists returns nil if any VM may be the Node's, otherwise topology.ErrAbsent or topology.ErrUnknown.
func Exists(states []State, id Identity) error {
	if IsIndexed(states, id) {
		return nil
	}
	_, err := find(states, id, forExistence)
	return err
}

type searchPurpose int

const (
	forPlacement searchPurpose = iota
	forShutdown
	forExistence
)

func find(states []State, id Identity, purpose searchPurpose) (match, error) {
	var found match
	var err error
	if len(id.UUIDs) > 0 {
		found, err = findByUUID(states, id, purpose)
	} else {
		found, err = findByName(states, id)
	}
	if err == nil {
		err = found.checkUsable(states, id)
	}
	if err == nil && len(id.UUIDs) == 0 {
		err = poweredOff([]match{found}, id)
	}
	switch {
	case purpose == forExistence && errors.Is(err, topology.ErrAmbiguous):
		err = nil
	case purpose == forShutdown && err == nil:
		err = found.checkPowerKnown(states)
	}
	return found, err
}

func detailsPending(states []State, m match) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "%w; the details of %s are not yet read", err, m)
	}
	return topology.Errorf(topology.ErrUnknown, "the details of %s are not yet read: they are read next", m)
}

// findByName requires a match that is unique across all vCenters. A guest can report any host name, so a match
// by host name takes no precedence.
func findByName(states []State, id Identity) (match, error) {
	if err := whyUncertain(states, id); err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "%w; it is unknown whether a VM with %s is the only one", err, id)
	}
	var found, byHostName, byName []match
	for _, s := range states {
		for _, e := range s.Snapshot.Names[id.Name] {
			if s.Snapshot.isEligible(e.Entry) {
				found = append(found, match{snapshot: s.Snapshot, entry: e.Entry, byHostName: e.ByHostName})
			}
		}
	}
	found = onePerVM(states, found)
	switch len(found) {
	case 0:
		return match{}, notFound(id)
	case 1:
		return found[0], nil
	}
	for _, m := range found {
		if m.byHostName {
			byHostName = append(byHostName, m)
		} else {
			byName = append(byName, m)
		}
	}
	hasDetails := !slices.ContainsFunc(found, func(m match) bool { return m.details() == nil })
	if hasDetails && len(byHostName) > 0 && len(byName) > 0 {
		return match{}, topology.Errorf(topology.ErrAmbiguous, "VMs with %s: by guest host name %s, by VM name %s: have the kubelet report the system UUID, or rename a VM",
			id, listMatches(byHostName), listMatches(byName))
	}
	return match{}, ambiguous(states, id, append(byHostName, byName...))
}

func notFound(id Identity) error {
	return topology.Errorf(topology.ErrAbsent, "no vCenter has a VM with %s: let the account see the VM, or add its vCenter to the configuration", id)
}

// ambiguous reports matches without details as pending, because they may be off or secondaries.
func ambiguous(states []State, id Identity, found []match) error {
	if i := slices.IndexFunc(found, func(m match) bool { return m.details() == nil }); i >= 0 {
		return detailsPending(states, found[i])
	}
	return topology.Errorf(topology.ErrAmbiguous, "%d VMs have %s: %s: %s", len(found), id, id.adviceOnCopies(found), listMatches(found))
}

func (id Identity) adviceOnCopies(found []match) string {
	if len(id.UUIDs) == 0 {
		return "have the kubelet report the system UUID, or rename all but one"
	}
	advice := "remove the copies from the inventory, or give each a UUID of its own (uuid.bios)"
	if slices.ContainsFunc(found, func(m match) bool { return m.details() != nil && m.details().WasOff }) {
		advice += ", or reconnect the host of a VM that was off"
	}
	return advice
}

// IsIndexed reports whether a snapshot contains a possible VM of the Node, or the unreadable VM of its record.
func IsIndexed(states []State, id Identity) bool {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		if e, ok := id.RecordedIn(s.Snapshot); ok && e.Unreadable && !e.Template {
			return true
		}
		for _, u := range id.UUIDs {
			if slices.ContainsFunc(s.Snapshot.Entries(u), func(e Entry) bool { return !e.Template }) {
				return true
			}
		}
	}
	return false
}
