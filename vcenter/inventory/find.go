package inventory

import (
	"slices"

	"vzones/topology"
	"vzones/topology/quote"
)

// Find returns the machine of a Node. The error is one of
//   - topology.ErrAmbiguous: several machines are equally right; the message
//     names them.
//   - topology.ErrUnknown: it may be in a vCenter that was not read
//     completely, or its details cannot be read, or not yet. ErrOutside,
//     ErrUnreadable and Unreachable in it say what a person can act on.
//   - topology.ErrAbsent: every vCenter was read completely, and none has it.
//     That is what the snapshots say, which may be seconds old.
//
// The answer does not depend on which vCenter was read first: see undecided. A machine
// that several entries of one vCenter show is one: see onePerMachine.
func Find(states []State, id Identity) (*Machine, error) { return find(states, id, uncertain) }

// FindStopped is Find for a Node that may be shut down: a machine that is off counts where
// the Node's was last found, although other vCenters, or some of their machines, cannot be
// read, so that the failure of another vCenter does not hide it. If it is not known where
// that was, every vCenter has to be read, but not each machine. The result must not decide
// where a Node is, since a machine that runs may be among those not read.
func FindStopped(states []State, id Identity) (*Machine, error) {
	return find(states, id, func(states []State, id Identity, off []match) error {
		if err := undecided(states, id, off); err != nil || id.lastIn(states, off) {
			return err
		}
		if len(id.last()) == 0 {
			return join(incompleteIndexes(states), pendingSearches(states, id))
		}
		return uncertain(states, id, off)
	})
}

// A check returns why machines that are off may not be the Node's.
type check func(states []State, id Identity, off []match) error

// find looks for a machine. A machine that is off counts only if check returns no error.
func find(states []State, id Identity, check check) (*Machine, error) {
	var found match
	var err error
	if len(id.UUIDs) > 0 {
		found, err = findByUUID(states, id, check)
	} else {
		found, err = findByName(states, id)
	}
	if err != nil {
		return nil, err
	}
	m := found.snapshot.Machines[found.entry.ID]
	switch {
	case found.outside:
		return nil, topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrOutside},
			"%s is in none of the configured datacenters: add its datacenter to the key datacenters of the configuration", found)
	case found.entry.Unreadable:
		return nil, topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrUnreadable},
			"the configuration of %s cannot be read", found)
	case m == nil || m.UUID.IsZero() || len(id.UUIDs) > 0 && !slices.Contains(id.UUIDs, m.UUID):
		return nil, detailsPending(states, found)
	}
	return m, nil
}

// detailsPending returns why a machine in an index has no details.
func detailsPending(states []State, m match) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: %w", m, err)
	}
	return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: they are read next", m)
}

// matches returns the machines with one of the Node's UUIDs, in configured order. If there
// is none, and the machine of the Node's record exists and cannot be read, it returns that
// one.
func matches(states []State, id Identity) (on, off []match) {
	var all []match
	note := func(m match) { all = append(all, m) }
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range id.UUIDs {
			for _, e := range s.Snapshot.Index[u] {
				if e.Eligible() {
					note(match{snapshot: s.Snapshot, entry: e})
				}
			}
		}
		outside := s.Snapshot.Outside
		if e, ok := id.recorded(s.Snapshot); ok && !e.Unreadable && !slices.Contains(outside, e.ID) {
			outside = append(slices.Clone(outside), e.ID)
		}
		for _, moid := range outside {
			if m := s.Snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
				note(match{snapshot: s.Snapshot, entry: Entry{ID: moid, PoweredOn: m.Power == PowerOn}, outside: true})
			}
		}
	}
	if len(all) == 0 {
		for _, s := range states {
			if e, ok := id.recorded(s.Snapshot); ok && e.Unreadable && e.Eligible() {
				note(match{snapshot: s.Snapshot, entry: e})
			}
		}
	}
	for _, m := range onePerMachine(states, all) {
		if m.entry.PoweredOn {
			on = append(on, m)
		} else {
			off = append(off, m)
		}
	}
	return on, off
}

// findByUUID prefers the one machine that is powered on, unless another vCenter has to be
// read first. Machines that are off count only where nothing is uncertain, since the one
// that runs may be where nothing can be read. The error is ErrAbsent only if all vCenters
// were read completely.
func findByUUID(states []State, id Identity, check check) (match, error) {
	on, off := matches(states, id)
	if len(on) > 0 {
		if err := undecided(states, id, on); err != nil {
			return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is the machine with %s: %w", listMatches(on), id, err)
		}
		return uniqueMatch(on, id)
	}
	if len(off) == 0 {
		check = uncertain
		if second := secondary(states, id.UUIDs); second != "" {
			return match{}, topology.Errorf(topology.ErrUnknown, "no primary with %s is found, and its Fault Tolerance secondary is %s: wait for the failover", id, second)
		}
	}
	err := check(states, id, off)
	if err == nil && len(off) > 0 {
		err = mayStillRun(states, id, off)
	}
	if err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "no running machine with %s is found: %w", id, err)
	}
	return uniqueMatch(off, id)
}

// secondary returns the name of a Fault Tolerance secondary with one of the UUIDs, empty
// if there is none. Where the primary does not exist, the secondary is about to take over.
func secondary(states []State, uuids []UUID) string {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range uuids {
			if i := slices.IndexFunc(s.Snapshot.Index[u], func(e Entry) bool { return e.Secondary }); i >= 0 {
				return s.Snapshot.describe(s.Snapshot.Index[u][i].ID)
			}
		}
	}
	return ""
}

// findByName takes a unique match only, so it needs all vCenters. A guest reports whatever
// host name it likes, so a machine with that host name does not come before another one
// with that name of its own.
func findByName(states []State, id Identity) (match, error) {
	if err := uncertain(states, id, nil); err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is unique: %w", id, err)
	}
	var all, byHostName, byName []match
	for _, s := range states {
		for _, e := range s.Snapshot.Names[id.Name] {
			if e.Eligible() {
				all = append(all, match{snapshot: s.Snapshot, entry: e.Entry, byHostName: e.ByHostName})
			}
		}
	}
	for _, m := range onePerMachine(states, all) {
		if m.byHostName {
			byHostName = append(byHostName, m)
		} else {
			byName = append(byName, m)
		}
	}
	if len(byHostName) > 0 && len(byName) > 0 {
		return match{}, topology.Errorf(topology.ErrAmbiguous, "machines with %s: by guest host name %s, by their own name %s: have the kubelet report the system UUID, or rename one of them",
			id, listMatches(byHostName), listMatches(byName))
	}
	return uniqueMatch(append(byHostName, byName...), id)
}

func uniqueMatch(matches []match, id Identity) (match, error) {
	switch len(matches) {
	case 0:
		return match{}, topology.Errorf(topology.ErrAbsent, "no vCenter has a machine with %s: delete the Node if its machine is gone; "+
			"otherwise let the account see the machine, or add its vCenter to the configuration", id)
	case 1:
		return matches[0], nil
	}
	return match{}, topology.Errorf(topology.ErrAmbiguous, "%d machines have %s: %s: %s", len(matches), id, id.makeUnique(), listMatches(matches))
}

// makeUnique is what to do about several machines that have it.
func (id Identity) makeUnique() string {
	if len(id.UUIDs) == 0 {
		return "have the kubelet report the system UUID, or rename all but one"
	}
	return "remove the copies from the inventory, or give each a UUID of its own (uuid.bios)"
}

func listMatches(matches []match) string {
	names := make([]string, len(matches))
	for i, m := range matches[:min(len(matches), quote.Most)] {
		names[i] = m.String()
	}
	return quote.Some(names, quote.Most)
}

// IsIndexed reports whether any vCenter's index has a machine with one of the Node's UUIDs
// that is not a template, or the unreadable machine of the Node's record. It may be one of
// several, and out of date.
func IsIndexed(states []State, id Identity) bool {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		if e, ok := id.recorded(s.Snapshot); ok && e.Unreadable && !e.Template {
			return true
		}
		for _, u := range id.UUIDs {
			if slices.ContainsFunc(s.Snapshot.Index[u], func(e Entry) bool { return !e.Template }) {
				return true
			}
		}
	}
	return false
}
