package vcenter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
)

const (
	// untoldAtOnce bounds how many machines are asked for at a time, and untoldTime the
	// pause before they are asked for again.
	untoldAtOnce = 20
	untoldTime   = time.Minute
)

// untold are machines on the list, outside the configured datacenters, of which the
// watch has not told yet. They were read when they came onto the list. One that is
// destroyed after that and before the vCenter looks at the list again is in no change
// that it tells of: as it never came, it does not leave.
type untold struct {
	machines map[string]bool
	// due is when they are asked for, nil if there are none.
	due   <-chan time.Time
	pause time.Duration
}

func (u *untold) add(id string) {
	if u.machines == nil {
		u.machines = map[string]bool{}
	}
	u.machines[id] = true
	if u.due == nil {
		u.pause = disputeTime
		u.due = time.After(u.pause)
	}
}

// told notes that the watch has told of a machine.
func (u *untold) told(id string) {
	if delete(u.machines, id); len(u.machines) == 0 {
		u.due = nil
	}
}

// askForUntold finds out which machines are gone that nothing will tell of.
func (w *watch) askForUntold(ctx context.Context) error {
	w.untold.due = nil
	ids := make([]string, 0, len(w.untold.machines))
	for id := range w.untold.machines {
		ids = append(ids, id)
	}
	// Which of them is chance, so that none waits for ever for those that are still there.
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[:min(untoldAtOnce, len(ids))] {
		ref := machineRef(id)
		err := w.s.readMachines(ctx, []types.ManagedObjectReference{ref}, nil, newTree(w.s.vim.ServiceContent.RootFolder))
		switch {
		case faults.Gone(err) && !faults.SessionLost(w.s.Classify(err)):
			delete(w.untold.machines, id)
			w.model.tree.remove(ref)
			w.missing[id], w.changed = true, true
		case err != nil && !faults.Denied(err) && (!w.hearsay[id] || !w.faults(err)):
			return fmt.Errorf("reading machine %s: %w", id, err)
		}
	}
	if len(w.untold.machines) > 0 {
		w.untold.pause = min(2*w.untold.pause, untoldTime)
		w.untold.due = time.After(w.untold.pause)
	}
	return nil
}
