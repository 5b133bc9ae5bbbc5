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

// runs reports whether the machine certainly runs, and isOff whether it is off, or was when its host was disconnected.
// Both are false until its details are read.
func (m match) runs() bool { return m.details() != nil && m.details().Power == PowerOn }

func (m match) isOff() bool { d := m.details(); return d != nil && (d.Power.IsOff() || d.WasOff) }

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }
