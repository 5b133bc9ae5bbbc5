package inventory

import (
	"slices"

	"vzones/topology"
)

type lookup struct {
	states  []State
	id      Identity
	home    home
	matches []match
	// rivals are the matches that may run, without the home.
	rivals []match
}

// findByUUID follows the table of the package comment, and leaves checkUsable to its caller.
func findByUUID(states []State, id Identity, purpose searchPurpose) (match, error) {
	l := &lookup{states: states, id: id, matches: matches(states, id)}
	l.home = id.home(states, l.matches)
	l.rivals = slices.DeleteFunc(slices.Clone(l.matches), func(m match) bool { return l.home.isMatch(m) || m.isOff() })

	switch l.homeState() {
	case homeOn:
		if len(l.rivals) == 0 { // row 1
			return l.home.match, nil
		}
		return match{}, ambiguous(states, id, append(l.rivals, l.home.match)) // row 2

	case homeOff:
		switch {
		case len(l.matches) == 1: // row 3
			return l.home.match, nil
		case len(l.rivals) == 0 && purpose == forShutdown: // row 4
			return l.home.match, l.checkOnlyOff()
		case len(l.rivals) == 0: // row 4
			return l.home.match, nil
		case len(l.rivals) == 1: // row 5
			return l.rivals[0], l.checkSuccessor(l.rivals[0])
		}
		return match{}, ambiguous(states, id, l.rivals) // row 6

	case homePerhapsOn:
		if len(l.rivals) == 0 { // row 7
			return l.home.match, nil
		}
		return match{}, l.cannotTell(l.matches, l.home.mayRunReason) // row 8

	case homeNotShown: // row 9
		if len(l.matches) == 0 {
			return match{}, l.absentError()
		}
		return match{}, l.cannotTell(l.matches, l.home.mayRunReason)

	case homeGone, homeRemoved:
		switch {
		case len(l.matches) == 0: // rows 10 and 14
			return match{}, l.absentError()
		case len(l.rivals) == 0: // rows 11 and 14
			return match{}, l.offElsewhereError()
		case len(l.rivals) == 1: // rows 12 and 15
			return l.rivals[0], l.checkSuccessor(l.rivals[0])
		}
		return match{}, ambiguous(states, id, l.rivals) // rows 13 and 16
	}

	candidates := l.candidates()
	isAnyOn := slices.ContainsFunc(candidates, match.runs)
	switch {
	case len(l.matches) == 0: // row 17
		return match{}, l.absentError()
	case len(candidates) == 0: // row 18
		return match{}, l.offError()
	case len(candidates) == 1 && isAnyOn: // row 19
		return candidates[0], l.checkRunning(candidates[0])
	case len(candidates) == 1: // row 20
		return candidates[0], l.checkPerhapsRunning(candidates[0])
	case isAnyOn: // row 21
		return match{}, ambiguous(states, id, candidates)
	}
	if err := l.checkNothingElse(candidates[0]); err != nil { // row 22
		return match{}, err
	}
	return match{}, ambiguous(states, id, candidates)
}

func (l *lookup) homeState() homeState {
	isKept := l.home.state == homeNotShown || l.home.state == homePerhapsOn && len(l.rivals) > 0
	if l.id.IsJoining && !isKept {
		return noHome
	}
	return l.home.state
}

// candidates returns the matches that may run in rows 19 to 22.
func (l *lookup) candidates() []match {
	if !slices.ContainsFunc(l.matches, func(m match) bool { return !m.isOff() }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.matches), func(m match) bool { return m.isOff() && !m.details().WasOff })
}

// claimsAnother reports whether a joining Node claims a VM other than m.
func (l *lookup) claimsAnother(m match) bool { return l.home.state != noHome && !l.home.isMatch(m) }

func (l *lookup) checkOnlyOff() error {
	if err := l.home.match.checkUsable(l.states, l.id); err != nil {
		return err
	}
	return topology.Errorf(topology.ErrUnknown, "%d VMs with %s are off, and the Node may run as any of them: %s: %s",
		len(l.matches), l.id, l.id.adviceOnCopies(l.matches), listMatches(l.matches))
}

// checkSuccessor returns nil if m, the only match that may run, has replaced the home.
func (l *lookup) checkSuccessor(m match) error {
	if err := m.checkUsable(l.states, l.id); err != nil {
		return err
	}
	if !m.runs() {
		return powerUnreadable(m)
	}
	if err := notAllRead(l.states, l.id); err != nil {
		return l.cannotTell([]match{m}, err)
	}
	lastSeen := l.home.lastSeen
	isSame := lastSeen.isSameVM(m.details(), l.id.Addresses)
	name := topology.Ref{VCenter: lastSeen.VCenter, Type: "VirtualMachine", ID: lastSeen.ID}.Located("") + ", which was the VM, "
	cause := ErrNotShown
	switch l.home.state {
	case homeOff:
		if isSame || l.id.OutlivedHome {
			return nil
		}
		name = l.home.match.String() + ", which was the VM, is off"
		cause = ErrPoweredOff
	case homeRemoved:
		isAnother := StateOf(l.states, lastSeen.VCenter).VCenter != ""
		if isSame || !isAnother {
			return nil
		}
		name += "was in a vCenter with another instance UUID"
	default:
		if isSame {
			return nil
		}
		name += "does not exist, unless its host has left the inventory"
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, cause}, "%s, and %s runs with the same UUID, another instance UUID and none of the Node's addresses: "+
		"delete the Node and restart its kubelet if this is now its VM; otherwise power off the copy, or give it a UUID of its own (uuid.bios)", name, m)
}

func (l *lookup) checkRunning(m match) error {
	err := stillReading(l.states, l.id)
	if l.claimsAnother(m) {
		err = notAllRead(l.states, l.id)
	}
	if err == nil {
		err = CheckInstance(l.states, m.snapshot.VCenter)
	}
	if err != nil {
		return l.cannotTell([]match{m}, err)
	}
	return nil
}

func (l *lookup) checkPerhapsRunning(m match) error {
	if err := l.checkNothingElse(m); err != nil {
		return err
	}
	if l.claimsAnother(m) {
		return powerUnreadable(m)
	}
	return nil
}

func (l *lookup) checkNothingElse(m match) error {
	err := whyUncertain(l.states, l.id)
	if err == nil {
		err = CheckInstance(l.states, m.snapshot.VCenter)
	}
	if err != nil {
		return l.noneFound(err)
	}
	return nil
}

func (l *lookup) absentError() error {
	if second := secondary(l.states, l.id.UUIDs); second != "" {
		return topology.Errorf(topology.ErrUnknown, "no primary with %s is found, and its Fault Tolerance secondary is %s: wait for the failover", l.id, second)
	}
	err := whyUncertain(l.states, l.id)
	if err == nil && l.home.state == homeNotShown {
		err = l.home.mayRunReason
	}
	if err != nil {
		return l.noneFound(err)
	}
	return notFound(l.id)
}

func (l *lookup) offElsewhereError() error {
	if err := l.checkOff(); err != nil {
		return err
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "the VM is gone where it was last found, and %s with %s is off: "+
		"power it on if the Node is to run there, or delete the Node", listMatches(l.matches), l.id)
}

func (l *lookup) offError() error {
	if err := l.checkOff(); err != nil {
		return err
	}
	return poweredOff(l.matches, l.id)
}

func (l *lookup) checkOff() error {
	if len(l.matches) == 1 {
		if err := l.matches[0].checkUsable(l.states, l.id); err != nil {
			return err
		}
	}
	if err := whyUncertain(l.states, l.id); err != nil {
		return l.noneFound(err)
	}
	return nil
}

func (l *lookup) cannotTell(found []match, why error) error {
	return topology.Errorf(topology.ErrUnknown, "%w; it is unknown whether %s is the VM with %s", why, listMatches(found), l.id)
}

func (l *lookup) noneFound(why error) error {
	return topology.Errorf(topology.ErrUnknown, "%w; no running VM with %s is found elsewhere", why, l.id)
}

// poweredOff returns nil if a match may run.
func poweredOff(found []match, id Identity) error {
	if slices.ContainsFunc(found, func(m match) bool { return m.details().WasOff }) {
		return topology.Errorf(topology.ErrUnknown, "%s with %s was off when its host was disconnected, and the Node has run since: reconnect its host", listMatches(found), id)
	}
	if slices.ContainsFunc(found, func(m match) bool { return !m.isOff() }) {
		return nil
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrPoweredOff}, "%s is off, and vzones never found the Node on it, so the Node may run as another VM with %s: "+
		"power it on, or add the vCenter or datacenter of the other VM to the configuration, or give the account its role there", listMatches(found), id)
}

func powerUnreadable(m match) error {
	return topology.Errorf(topology.ErrUnknown, "the power state of %s cannot be read, and the VM was last found elsewhere: reconnect its host", m)
}

// secondary returns the name of a Fault Tolerance secondary, which takes over if its primary does not exist.
func secondary(states []State, uuids []UUID) string {
	for _, s := range states {
		if s.Snapshot == nil {
			continue
		}
		for _, u := range uuids {
			for _, e := range s.Snapshot.Entries(u) {
				if m := s.Snapshot.VMs[e.ID]; m != nil && m.Secondary {
					return s.Snapshot.describe(e.ID)
				}
			}
		}
	}
	return ""
}
