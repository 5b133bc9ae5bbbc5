package inventory

// match is a machine that fits an identity.
type match struct {
	snapshot *Snapshot
	entry    Entry
	outside  bool
	// byHostName says that a name matched, and that it was the guest's.
	byHostName bool
}

// isOff reports whether the machine is known not to run.
func (m match) isOff() bool {
	details := m.snapshot.Machines[m.entry.ID]
	return !m.entry.Unreadable && details != nil && details.Power.IsOff()
}

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }
