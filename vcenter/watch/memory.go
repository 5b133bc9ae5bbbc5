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
