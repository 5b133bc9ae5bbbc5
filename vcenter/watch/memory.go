package watch

import "vzones/vcenter/watch/model"

// A Memory is what a watch leaves to the next one of the same vCenter. It belongs to the
// watch that runs, and to who runs watches between two of them.
type Memory struct {
	// model is that of the last watch that had the index in whole.
	model *model.Model
	// missingDatacenters is what was last logged about configured datacenters that are
	// not there.
	missingDatacenters string
	// disputed are the machines for which everything was read again, since the index
	// had them and no list view could.
	disputed map[string]bool
	// hosts is how the vCenter lets host groups be read.
	hosts hostAccess
}

// hostAccess is how one session's vCenter lets host groups and fault domains be read.
type hostAccess struct {
	session Session
	access  model.HostAccess
}

// NewMemory returns the memory of a vCenter that was never watched.
func NewMemory() *Memory { return &Memory{} }

// Machines returns how many machines the vCenter had when it was last watched, and whether
// it ever was.
func (m *Memory) Machines() (n int, watched bool) {
	if m.model == nil {
		return 0, false
	}
	return m.model.Len(), true
}

// Moved forgets what does not hold for another address, which may be another vCenter. What
// was read is told apart by the vCenter's own UUID.
func (m *Memory) Moved() { m.disputed = nil }
