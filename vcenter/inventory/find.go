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
// The answer does not depend on which vCenter was read first, nor on what was read before: see
// findByUUID. A machine that several entries of one vCenter show is one: see onePerMachine.
func Find(states []State, id Identity) (*Machine, error) {
	var found match
	var err error
	if len(id.UUIDs) > 0 {
		found, err = findByUUID(states, id)
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
	if err := id.checkPower(found, m.Power); err != nil {
		return nil, err
	}
	return m, nil
}

// checkPower returns why a machine that fits is not the Node's, by its power state: one that is off is
// not given to a Node that runs, unless it was found as that one, and a Node that was found as another one
// gets none that does not certainly run.
func (id Identity) checkPower(m match, power Power) error {
	elsewhere := len(id.UUIDs) > 0 && len(id.last()) > 0 && !id.isHome(m)
	switch {
	case elsewhere && power.IsOff():
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "the machine is gone where it was last found, and %s with %s is off: "+
			"switch it on if the Node is to run there, or delete the Node", m, id)
	case elsewhere && power != PowerOn:
		return topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read, and the machine was last found elsewhere: reconnect its host", m)
	case id.Running && m.details().WasOff && (id.Joins || !id.isHome(m)):
		return topology.Errorf(topology.ErrUnknown, "%s with %s was off when its host was disconnected, and the Node runs: reconnect its host", m, id)
	case id.Running && power.IsOff() && (id.Joins || !id.isHome(m)):
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "%s is off, so the Node runs on another machine with %s: "+
			"add the vCenter or datacenter of that to the configuration, or give the account its rights", m, id)
	}
	return nil
}

// detailsPending returns why a machine in an index has no details.
func detailsPending(states []State, m match) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: %w", m, err)
	}
	return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: they are read next", m)
}

// pendingDetails returns why it is not known which of several machines is right: one without details may be off, or
// the secondary of another one.
func pendingDetails(states []State, several []match) error {
	i := slices.IndexFunc(several, func(m match) bool { return m.details() == nil })
	if len(several) < 2 || i < 0 {
		return nil
	}
	return detailsPending(states, several[i])
}

// matches returns the machines with one of the Node's UUIDs, in configured order. If there
// is none, and the machine of the Node's record exists and cannot be read, it returns that
// one.
func matches(states []State, id Identity) []match {
	var all []match
	note := func(m match) { all = append(all, m) }
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range id.UUIDs {
			for _, e := range s.Snapshot.Entries(u) {
				if s.Snapshot.isEligible(e) {
					note(match{snapshot: s.Snapshot, entry: e})
				}
			}
		}
		outside := s.Snapshot.Outside
		if e, ok := id.RecordedIn(s.Snapshot); ok && !e.Unreadable && !slices.Contains(outside, e.ID) {
			outside = append(slices.Clone(outside), e.ID)
		}
		for _, moid := range outside {
			if m := s.Snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
				note(match{snapshot: s.Snapshot, entry: Entry{ID: moid}, outside: true})
			}
		}
	}
	if len(all) == 0 {
		for _, s := range states {
			if e, ok := id.RecordedIn(s.Snapshot); ok && e.Unreadable && s.Snapshot.isEligible(e) {
				note(match{snapshot: s.Snapshot, entry: e})
			}
		}
	}
	return onePerMachine(states, all)
}

// findByUUID decides which machine with its UUID is a Node's:
//   - Several that run are ambiguous, and so are several that are off. One whose power state is not known
//     may run: one that is off counts beside neither. One that was off when its host was disconnected counts
//     as off for a Node that was found before. For any other Node it may run too, beside one that may run.
//   - A Node that was found before has the machine that it was found as, its home, as long as that
//     may be: see keepsHome. Another one is its machine only if it runs and every vCenter can be read.
//   - A Node that was not found before has the one that runs, once each vCenter was read, has
//     failed, or is overdue. One that is off is its machine only if nothing is uncertain, since
//     what runs may be where nothing can be read, and if the kubelet is silent: see checkPower.
//   - None exists only if nothing is uncertain.
func findByUUID(states []State, id Identity) (match, error) {
	fits := matches(states, id)
	hasHome := len(id.last()) > 0 && !id.Joins
	if slices.ContainsFunc(fits, func(m match) bool { return !m.isOff() }) {
		fits = slices.DeleteFunc(fits, func(m match) bool { return m.isOff() && (hasHome || !m.details().WasOff) })
	}
	runs := slices.ContainsFunc(fits, match.runs)
	var err error
	switch elsewhere := slices.ContainsFunc(fits, func(m match) bool { return !id.isHome(m) }); {
	case len(fits) == 0:
		if second := secondary(states, id.UUIDs); second != "" {
			return match{}, topology.Errorf(topology.ErrUnknown, "no primary with %s is found, and its Fault Tolerance secondary is %s: wait for the failover", id, second)
		}
		if err = uncertain(states, id); err == nil {
			err = id.keepsHome(states)
		}
	case !elsewhere && len(fits) == 1 && !id.Joins:
		return fits[0], nil // the record of a Node that joins is what its kubelet says
	case runs:
		if elsewhere {
			err = id.keepsHome(states)
		}
		switch {
		case err != nil || len(fits) > 1:
		case elsewhere && len(id.last()) > 0:
			err = notAllRead(states, id)
		default:
			err = stillReading(states, id)
		}
		if err != nil {
			return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is the machine with %s: %w", listMatches(fits), id, err)
		}
	default:
		if err = uncertain(states, id); err == nil && elsewhere {
			err = id.keepsHome(states)
		}
	}
	if err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "no running machine with %s is found: %w", id, err)
	}
	return uniqueMatch(states, fits, id)
}

// secondary returns the name of a Fault Tolerance secondary with one of the UUIDs, empty
// if there is none. Where the primary does not exist, the secondary is about to take over.
func secondary(states []State, uuids []UUID) string {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range uuids {
			for _, e := range s.Snapshot.Entries(u) {
				if m := s.Snapshot.Machines[e.ID]; m != nil && m.Secondary {
					return s.Snapshot.describe(e.ID)
				}
			}
		}
	}
	return ""
}

// findByName takes a unique match only, so it needs all vCenters. A guest reports whatever
// host name it likes, so a machine with that host name does not come before another one
// with that name of its own.
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
	if err := pendingDetails(states, fits); err != nil {
		return match{}, err
	}
	for _, m := range fits {
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
	return uniqueMatch(states, append(byHostName, byName...), id)
}

func uniqueMatch(states []State, matches []match, id Identity) (match, error) {
	switch len(matches) {
	case 0:
		return match{}, topology.Errorf(topology.ErrAbsent, "no vCenter has a machine with %s: delete the Node if its machine is gone; "+
			"otherwise let the account see the machine, or add its vCenter to the configuration", id)
	case 1:
		return matches[0], nil
	}
	if err := pendingDetails(states, matches); err != nil {
		return match{}, err
	}
	return match{}, topology.Errorf(topology.ErrAmbiguous, "%d machines have %s: %s: %s", len(matches), id, id.adviceOnCopies(matches), listMatches(matches))
}

// adviceOnCopies is what to do about several machines that have it.
func (id Identity) adviceOnCopies(matches []match) string {
	advice := "remove the copies from the inventory, or give each a UUID of its own (uuid.bios)"
	if len(id.UUIDs) == 0 {
		advice = "have the kubelet report the system UUID, or rename all but one"
	} else if slices.ContainsFunc(matches, func(m match) bool { return m.details().WasOff }) {
		advice += ", or reconnect the host of one that was off"
	}
	return advice
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
