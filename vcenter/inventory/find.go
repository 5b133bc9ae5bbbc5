package inventory

import (
	"errors"
	"slices"

	"vzones/internal/quote"
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
	found, err := find(states, id)
	if err != nil {
		return nil, err
	}
	return found.details(), nil
}

// PowerOf returns the power state of a Node's VM. The error is one of Find, or a topology.ErrUnknown if the
// VM's vCenter cannot be read, the power state cannot be read, or another VM with the UUID is off too.
func PowerOf(states []State, id Identity) (Power, error) {
	found, err := find(states, id)
	if err != nil {
		return PowerUnknown, err
	}
	power := found.details().Power
	if err := StateOf(states, found.snapshot.VCenter).CheckReachable(); err != nil {
		return PowerUnknown, topology.Errorf(topology.ErrUnknown, "the power state of %s is not known: %w", found, err)
	}
	if power == PowerUnknown {
		return PowerUnknown, topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read", found)
	}
	if all := matches(states, id); power.IsOff() && len(id.UUIDs) > 0 && len(all) > 1 {
		return PowerUnknown, topology.Errorf(topology.ErrUnknown, "%d VMs with %s are off, and the Node may run as any of them: %s: %s",
			len(all), id, id.adviceOnCopies(all), listMatches(all))
	}
	return power, nil
}

// Exists returns nil if any VM may be the Node's, even one that is off or one of several. The error is
// topology.ErrAbsent if every vCenter was read completely and none has the VM, and topology.ErrUnknown
// otherwise.
func Exists(states []State, id Identity) error {
	if IsIndexed(states, id) {
		return nil
	}
	_, err := find(states, id)
	if errors.Is(err, topology.ErrAmbiguous) {
		return nil
	}
	return err
}

// find is Find with the match. Its details are read, and fit the Node.
func find(states []State, id Identity) (match, error) {
	byUUID := len(id.UUIDs) > 0
	lookUp := findByName
	if byUUID {
		lookUp = findByUUID
	}
	found, err := lookUp(states, id)
	if err == nil {
		err = found.isUsable(states, id)
	}
	if err == nil && !byUUID {
		err = poweredOff([]match{found}, id)
	}
	return found, err
}

// isUsable returns why a VM cannot be given to the Node although it is the only one that fits: its details
// are outside of what is read.
func (m match) isUsable(states []State, id Identity) error {
	details := m.details()
	switch {
	case m.outside:
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrOutside},
			"%s is in none of the configured datacenters: add its datacenter to the key datacenters of the configuration", m)
	case m.entry.Unreadable:
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrUnreadable},
			"the configuration of %s cannot be read", m)
	case details == nil || details.UUID.IsZero() || len(id.UUIDs) > 0 && !slices.Contains(id.UUIDs, details.UUID):
		return detailsPending(states, m)
	}
	return nil
}

// detailsPending returns why a VM in an index has no details.
func detailsPending(states []State, m match) error {
	if err := StateOf(states, m.snapshot.VCenter).CheckReachable(); err != nil {
		return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: %w", m, err)
	}
	return topology.Errorf(topology.ErrUnknown, "the details of %s are not read yet: they are read next", m)
}

// matches returns the VMs with one of the Node's UUIDs, in configured order. If there is none, and the VM
// of the Node's record exists and cannot be read, it returns that VM.
func matches(states []State, id Identity) []match {
	var found []match
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range id.UUIDs {
			for _, e := range s.Snapshot.Entries(u) {
				if s.Snapshot.isEligible(e) {
					found = append(found, match{snapshot: s.Snapshot, entry: e})
				}
			}
		}
		outside := s.Snapshot.Outside
		if e, ok := id.RecordedIn(s.Snapshot); ok && !e.Unreadable && !slices.Contains(outside, e.ID) {
			outside = append(slices.Clone(outside), e.ID)
		}
		for _, moid := range outside {
			if m := s.Snapshot.Machines[moid]; m != nil && slices.Contains(id.UUIDs, m.UUID) {
				found = append(found, match{snapshot: s.Snapshot, entry: Entry{ID: moid}, outside: true})
			}
		}
	}
	if len(found) == 0 {
		for _, s := range states {
			if e, ok := id.RecordedIn(s.Snapshot); ok && e.Unreadable && s.Snapshot.isEligible(e) {
				found = append(found, match{snapshot: s.Snapshot, entry: e})
			}
		}
	}
	return onePerMachine(states, found)
}

// findByUUID returns the match that the table of the package comment gives a Node.
func findByUUID(states []State, id Identity) (match, error) {
	fits := matches(states, id)
	h := id.home(states, fits)
	// A VM that was off when its host was disconnected does not replace a home.
	others := slices.DeleteFunc(slices.Clone(fits), func(m match) bool { return h.is(m) || m.isOff() })
	why := h.unknown // row 10
	if h.mayRun != nil && len(others) > 0 {
		why = h.mayRun // rows 3, 8 and 9
	}
	switch {
	case why != nil && len(fits) > 0:
		return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is the VM with %s: %w", listMatches(fits), id, why)
	case id.Joins, h.state == noHome: // rows 16 to 20
		return findWithoutHome(states, id, h, fits)
	case h.state == homeShown && len(others) == 0: // rows 1, 4, 5, 8 and 9
		return h.match, nil
	case h.state == homeShown && h.match.runs(): // row 2
		return match{}, ambiguous(states, id, append(others, h.match))
	case len(others) > 1: // rows 7 and 13
		return match{}, ambiguous(states, id, others)
	case len(others) == 1: // rows 6, 11 and 12
		return others[0], h.isReplacedBy(states, id, others[0])
	case len(fits) > 0: // row 13
		return match{}, noneRuns(states, id, h, fits)
	}
	return match{}, absent(states, id, h) // rows 14 and 15
}

// findWithoutHome returns the match of a Node that joins, or whose VM was never found: rows 16 to 20. A VM
// that was off when its host was disconnected may run beside another one that may run.
func findWithoutHome(states []State, id Identity, h home, fits []match) (match, error) {
	isOff := func(m match) bool { return m.isOff() && !m.details().WasOff }
	mayRun := slices.DeleteFunc(slices.Clone(fits), isOff)
	if slices.ContainsFunc(fits, func(m match) bool { return !m.isOff() }) {
		fits = mayRun
	}
	switch {
	case len(fits) == 0: // row 20
		return match{}, absent(states, id, h)
	case !slices.ContainsFunc(fits, func(m match) bool { return !m.isOff() }): // row 19
		return match{}, noneRuns(states, id, h, fits)
	case slices.ContainsFunc(fits, match.runs) && len(fits) > 1: // row 17
		return match{}, ambiguous(states, id, fits)
	case slices.ContainsFunc(fits, match.runs): // row 16
		err := stillReading(states, id)
		if h.state != noHome && !h.is(fits[0]) {
			err = notAllRead(states, id)
		}
		if err == nil {
			err = CheckInstance(states, fits[0].snapshot.VCenter)
		}
		if err != nil {
			return match{}, topology.Errorf(topology.ErrUnknown, "cannot tell whether %s is the VM with %s: %w", fits[0], id, err)
		}
		return fits[0], nil
	}
	err := uncertain(states, id)
	if err == nil {
		err = CheckInstance(states, fits[0].snapshot.VCenter)
	}
	if err != nil {
		return match{}, topology.Errorf(topology.ErrUnknown, "no running VM with %s is found: %w", id, err)
	}
	if len(fits) > 1 { // row 17
		return match{}, ambiguous(states, id, fits)
	}
	if h.state != noHome && !h.is(fits[0]) {
		return match{}, mayNotRun(fits[0])
	}
	return fits[0], nil // row 18
}

// absent is the error if no VM fits.
func absent(states []State, id Identity, h home) error {
	if second := secondary(states, id.UUIDs); second != "" {
		return topology.Errorf(topology.ErrUnknown, "no primary with %s is found, and its Fault Tolerance secondary is %s: wait for the failover", id, second)
	}
	err := uncertain(states, id)
	if err == nil {
		err = h.unknown
	}
	if err != nil {
		return topology.Errorf(topology.ErrUnknown, "no running VM with %s is found: %w", id, err)
	}
	return notFound(id)
}

// noneRuns is the error if VMs fit, and none that may run.
func noneRuns(states []State, id Identity, h home, fits []match) error {
	if len(fits) == 1 {
		if err := fits[0].isUsable(states, id); err != nil {
			return err
		}
	}
	if err := uncertain(states, id); err != nil {
		return topology.Errorf(topology.ErrUnknown, "no running VM with %s is found: %w", id, err)
	}
	if h.state != noHome && !id.Joins {
		return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "the VM is gone where it was last found, and %s with %s is off: "+
			"switch it on if the Node is to run there, or delete the Node", listMatches(fits), id)
	}
	return poweredOff(fits, id)
}

// poweredOff returns why VMs that do not run are not those of a Node whose VM was never found, nil if one
// may run.
func poweredOff(fits []match, id Identity) error {
	if slices.ContainsFunc(fits, func(m match) bool { return m.details().WasOff }) {
		return topology.Errorf(topology.ErrUnknown, "%s with %s was off when its host was disconnected, and the Node has run since: reconnect its host", listMatches(fits), id)
	}
	if slices.ContainsFunc(fits, func(m match) bool { return !m.isOff() }) {
		return nil
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "%s is off, and vzones never found the Node on it, so the Node may run as another VM with %s: "+
		"switch it on, or add the vCenter or datacenter of the other VM to the configuration, or give the account its role there", listMatches(fits), id)
}

// mayNotRun is the error of a VM whose power state is unknown, if the Node was last found elsewhere.
func mayNotRun(m match) error {
	return topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read, and the VM was last found elsewhere: reconnect its host", m)
}

// secondary returns the name of a Fault Tolerance secondary with one of the UUIDs, empty if there is none.
// If the primary does not exist, the secondary is about to take over.
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

func listMatches(several []match) string {
	names := make([]string, len(several))
	for i, m := range several[:min(len(several), quote.Most)] {
		names[i] = m.String()
	}
	return quote.Some(names, quote.Most)
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
