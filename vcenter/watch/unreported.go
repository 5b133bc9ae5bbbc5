package watch

import (
	"math/rand/v2"
	"time"
)

const (
	// unreportedAtOnce bounds how many machines are read at a time, and unreportedTime
	// the pause before they are read again.
	unreportedAtOnce = 20
	unreportedTime   = time.Minute
)

// unreported are machines on the list, outside the configured datacenters, that the
// filter has not reported yet. They are read when they come onto the list, or, if many do,
// some time later. One that is
// destroyed after that and before the vCenter looks at the list again is in no change
// that it reports: as it never came, it does not leave.
type unreported struct {
	machines map[string]bool
	// due is when they are read, nil if there are none.
	due   <-chan time.Time
	pause time.Duration
}

func (u *unreported) add(id string) {
	if u.machines == nil {
		u.machines = map[string]bool{}
	}
	u.machines[id] = true
	if u.due == nil {
		u.pause = disputeTime
		u.due = time.After(u.pause)
	}
}

// remove notes that the filter has reported a machine.
func (u *unreported) remove(id string) {
	if delete(u.machines, id); len(u.machines) == 0 {
		u.due = nil
	}
}

// some returns those that are to be read now. Which of them is chance, so that none waits
// for ever for those that are still there.
func (u *unreported) some() []string {
	u.due = nil
	ids := make([]string, 0, len(u.machines))
	for id := range u.machines {
		ids = append(ids, id)
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:min(unreportedAtOnce, len(ids))]
}

// postponeRest has those that are left be read later.
func (u *unreported) postponeRest() {
	if len(u.machines) > 0 {
		u.pause = min(2*u.pause, unreportedTime)
		u.due = time.After(u.pause)
	}
}
