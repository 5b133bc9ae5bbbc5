package fleet

import (
	"cmp"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// settings are further ones of a vCenter.
type settings struct {
	mu sync.Mutex
	// skew is how far its clock is ahead.
	skew time.Duration
}

// SkewClock lets the vCenter's clock be ahead, or behind if d is negative.
func (v *VCenter) SkewClock(d time.Duration) {
	v.settings.mu.Lock()
	defer v.settings.mu.Unlock()
	v.settings.skew = d
}

// skewed returns an answer to CurrentTime by that clock.
func (s *settings) skewed(res *response) *response {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body methods.CurrentTimeBody
	return amend(res, &body, func() bool {
		if body.Res == nil || s.skew == 0 {
			return false
		}
		body.Res.Returnval = body.Res.Returnval.Add(s.skew)
		return true
	})
}

// EnableUUID sets disk.enableUUID of a machine, as the virtual hardware's flag.
func (v *VCenter) EnableUUID(vm string, on bool) error {
	return v.change(vm, func(b *inventory, m *machine) error {
		config := *cmp.Or(m.saved, m.vm.Config)
		config.Flags.DiskUuidEnabled = &on
		if m.saved != nil {
			m.saved = &config
			return nil
		}
		b.update(m.vm, changes{{Name: "config", Val: &config}})
		return nil
	})
}

// StopTools lets a machine's guest run without Tools, which are installed.
func (v *VCenter) StopTools(vm string) error {
	return v.change(vm, func(b *inventory, m *machine) error {
		b.update(m.vm, changes{
			{Name: "guest.toolsStatus", Val: types.VirtualMachineToolsStatusToolsNotRunning},
			{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)},
		})
		return nil
	})
}

// StartTools has a machine's Tools start: they run, and not yet as they will.
func (v *VCenter) StartTools(vm string) error {
	return v.change(vm, func(b *inventory, m *machine) error {
		b.update(m.vm, changes{
			{Name: "guest.toolsRunningStatus", Val: string(types.VirtualMachineToolsRunningStatusGuestToolsExecutingScripts)},
		})
		return nil
	})
}
