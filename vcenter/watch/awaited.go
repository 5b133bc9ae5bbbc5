package watch

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// awaitTime is how long the filter may report nothing before machines are read that were put
// on the list. It reports them in any case, so that what is read is transferred twice.
const awaitTime = 2 * time.Second

// awaitedDetails are machines on the list whose details the filter is to report.
type awaitedDetails struct {
	machines map[string]bool
	// since is when the filter last reported something, or when a machine was put on the
	// list; due is when to look at that, nil if nothing is awaited.
	since time.Time
	due   <-chan time.Time
}

func (a *awaitedDetails) add(machines []types.ManagedObjectReference) {
	if len(machines) == 0 {
		return
	}
	if a.machines == nil {
		a.machines = map[string]bool{}
	}
	for _, ref := range machines {
		a.machines[ref.Value] = true
	}
	if a.since = time.Now(); a.due == nil {
		a.due = time.After(awaitTime)
	}
}

// reported notes that the filter has reported an object.
func (a *awaitedDetails) reported(id string) {
	if a.due == nil {
		return
	}
	if a.since = time.Now(); a.machines[id] {
		if delete(a.machines, id); len(a.machines) == 0 {
			a.due = nil
		}
	}
}

// overdue reports whether the machines are to be read now. Otherwise due is when to look
// again.
func (a *awaitedDetails) overdue() bool {
	if left := awaitTime - time.Since(a.since); left > 0 {
		a.due = time.After(left)
		return false
	}
	return true
}

// take returns the machines, which are not awaited any more.
func (a *awaitedDetails) take() (ids []string) {
	for id := range a.machines {
		ids = append(ids, id)
	}
	a.machines, a.due = nil, nil
	return ids
}
