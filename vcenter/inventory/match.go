package inventory

// match is a machine that fits an identity.
type match struct {
	snapshot *Snapshot
	entry    Entry
	outside  bool
	// byHostName says that a name matched, and that it was the guest's.
	byHostName bool
}

func (m match) String() string { return m.snapshot.describe(m.entry.ID) }
