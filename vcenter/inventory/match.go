package inventory

// match is a machine that fits an identity.
type match struct {
	snapshot *Snapshot
	entry    Entry
	outside  bool
	// byHostName says that a name matched, and that it was the guest's.
	byHostName bool
}

// details returns the machine's, nil if they are not read yet.
func (m match) details() *Machine { return m.snapshot.Machines[m.entry.ID] }

// runs reports whether the machine certainly runs, isOff whether it does not. Neither is known until its details are
// read, nor while its host is disconnected, unless it was off before.
func (m match) runs() bool { return m.details() != nil && m.details().Power == PowerOn }

func (m match) isOff() bool {
	return m.details() != nil && (m.details().Power.IsOff() || m.details().WasOff)
}

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }
