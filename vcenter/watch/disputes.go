package watch

import "time"

// disputeTime is how long a machine may be in the index that the vCenter says is
// not there. The filter should have reported that it left by then.
const disputeTime = 2 * time.Second

// disputes are about machines that the index has and no list view takes.
type disputes struct {
	// before are those for which everything was read again. It outlives the watch.
	before map[string]bool
	// due is when the index is compared with what the list did not take, nil if there is
	// nothing to compare.
	due <-chan time.Time
}

// start begins the time that a machine has to leave the index.
func (d *disputes) start() {
	if d.due == nil {
		d.due = time.After(disputeTime)
	}
}

// settle forgets a machine that is on the list, or not in the index.
func (d *disputes) settle(id string) { delete(d.before, id) }
