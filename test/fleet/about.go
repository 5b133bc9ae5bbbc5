package fleet

import (
	"time"

	"github.com/vmware/govmomi/vim25/methods"
)

// SetVersion lets the vCenter be of a version, such as 8.0.3, whose API has the same.
func (v *VCenter) SetVersion(version string) {
	v.world.Lock()
	defer v.world.Unlock()
	about := &v.content().About
	about.Version, about.ApiVersion = version, version+".0"
}

// SetClock lets the vCenter's clock be ahead of the right time, or behind it if ahead is negative.
func (v *VCenter) SetClock(ahead time.Duration) { v.setFault(func(f *faults) { f.clock = ahead }) }

// clocked returns an answer to CurrentTime by the vCenter's clock.
func (v *VCenter) clocked(res *response) *response {
	v.faults.mu.Lock()
	ahead := v.faults.clock
	v.faults.mu.Unlock()
	if ahead == 0 {
		return res
	}
	var body methods.CurrentTimeBody
	return amend(res, &body, func() bool {
		if body.Res == nil {
			return false
		}
		body.Res.Returnval = body.Res.Returnval.Add(ahead)
		return true
	})
}
