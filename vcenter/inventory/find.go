package inventory

import (
	"errors"
	"slices"

	"vzones/topology"
)

// Find returns the VM of a Node, by the table of the package comment. The error is one of
//   - topology.ErrAmbiguous: several VMs fit equally well; the message names them.
//   - topology.ErrUnknown: the VM may be in a vCenter that was not read completely, or its details cannot
//     be read, or not yet. ErrOutside, ErrUnreadable, ErrPoweredOff, ErrNotShown and Unreachable in it are
//     causes that a person can act on.
//   - topology.ErrAbsent: every vCenter was read completely, and none has the VM. The snapshots may be
//     seconds old.
//
// The answer does not depend on which vCenter was read first. A VM that several entries of one vCenter
// show is one VM: see onePerMachine.
func Find(states []State, id Identity) (*Machine, error) {
	found, err := find(states, id, placement)
	if err != nil {
		return nil, err
	}
	return found.details(), nil
}

// PowerOf returns the power state of a Node's VM. The error is one of Find, or a topology.ErrUnknown if the
// VM's vCenter cannot be read, the power state cannot be read, or another VM with the UUID is off too.
func PowerOf(states []State, id Identity) (Power, error) {
	found, err := find(states, id, shutdown)
	if err != nil {
		return PowerUnknown, err
	}
	return found.details().Power, nil
}

// Exists returns nil if any VM may be the Node's, even one that is off or one of several. The error is
// topology.ErrAbsent if every vCenter was read completely and none has the VM, and topology.ErrUnknown
// otherwise.
func Exists(states []State, id Identity) error {
	if IsIndexed(states, id) {
		return nil
	}
	_, err := find(states, id, existence)
	return err
}

// A question is what is asked about a Node's VM.
type question int

const (
	// placement is the question of Find, shutdown of PowerOf, and existence of Exists.
	placement question = iota
	shutdown
	existence
)

// find returns the match that answers a question. Its details are read, and fit the Node, unless the question is
// existence.
func find(states []State, id Identity, asked question) (match, error) {
	var found match
	var err error
	if len(id.UUIDs) > 0 {
		found, err = findByUUID(states, id, asked)
	} else {
		found, err = findByName(states, id)
	}
	if err == nil {
		err = found.isUsable(states, id)
	}
	if err == nil && len(id.UUIDs) == 0 {
		err = poweredOff([]match{found}, id)
	}
	switch {
	case asked == existence && errors.Is(err, topology.ErrAmbiguous):
		err = nil
	case asked == shutdown && err == nil:
		err = found.checkPowerKnown(states)
	}
	return found, err
}

// detailsPending returns why a VM in an index has no details.
func detailsPending(states []State, m match) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: %w", m, err)
	}
	return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: they are read next", m)
}

// findByName takes a unique match only, so it needs all vCenters. A guest reports whatever host name it
// likes, so a VM with that host name does not take precedence over another VM with that name of its own.
func findByName(states []State, id Identity) (match, error) {
	if err := uncertain(states, id); err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is unique: %w", id, err)
	}
	var fits, byHostName, byName []match
	for _, s := range states {
		for _, e := range s.Snapshot.Names[id.Name] {
			if s.Snapshot.isEligible(e.Entry) {
				fits = append(fits, match{snapshot: s.Snapshot, entry: e.Entry, byHostName: e.ByHostName})
			}
		}
	}
	fits = onePerMachine(states, fits)
	switch len(fits) {
	case 0:
		return match{}, notFound(id)
	case 1:
		return fits[0], nil
	}
	for _, m := range fits {
		if m.byHostName {
			byHostName = append(byHostName, m)
		} else {
			byName = append(byName, m)
		}
	}
	hasDetails := !slices.ContainsFunc(fits, func(m match) bool { return m.details() == nil })
	if hasDetails && len(byHostName) > 0 && len(byName) > 0 {
		return match{}, topology.Errorf(topology.ErrAmbiguous, "VMs with %s: by guest host name %s, by their own name %s: have the kubelet report the system UUID, or rename one of them",
			id, listMatches(byHostName), listMatches(byName))
	}
	return match{}, ambiguous(states, id, append(byHostName, byName...))
}

func notFound(id Identity) error {
	return topology.Errorf(topology.ErrAbsent, "no vCenter has a VM with %s: let the account see the VM, or add its vCenter to the configuration", id)
}

// ambiguous is the error of several VMs that fit. One without details may be off, or the secondary of
// another one.
func ambiguous(states []State, id Identity, several []match) error {
	if i := slices.IndexFunc(several, func(m match) bool { return m.details() == nil }); i >= 0 {
		return detailsPending(states, several[i])
	}
	return topology.Errorf(topology.ErrAmbiguous, "%d VMs have %s: %s: %s", len(several), id, id.adviceOnCopies(several), listMatches(several))
}

// adviceOnCopies is what to do about several VMs that have it.
func (id Identity) adviceOnCopies(several []match) string {
	if len(id.UUIDs) == 0 {
		return "have the kubelet report the system UUID, or rename all but one"
	}
	advice := "remove the copies from the inventory, or give each a UUID of its own (uuid.bios)"
	if slices.ContainsFunc(several, func(m match) bool { return m.details() != nil && m.details().WasOff }) {
		advice += ", or reconnect the host of one that was off"
	}
	return advice
}

// IsIndexed reports whether any vCenter's index has a VM with one of the Node's UUIDs that is not a
// template, or the unreadable VM of the Node's record. It may be one of several, and out of date.
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
