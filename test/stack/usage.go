package stack

import "time"

// Usage is what a daemon has used of the machine.
type Usage struct {
	// CPU is the time in user and system mode.
	CPU time.Duration
	// Peak is the largest resident memory so far, in bytes.
	Peak int64
	// Resident is the resident memory at the time, in bytes.
	Resident int64
}

// StopUsage stops the daemon as Stop does and returns what it used in all. Only
// Linux shows it. No other child of this process may end meanwhile: the kernel
// gives the times of all children that have ended as one sum.
//
// The peak is read just before the end, not from the ended process: to Linux,
// the peak of a child begins with what its parent held when it forked.
func (d *Daemon) StopUsage() (Usage, error) {
	running, err := d.Usage()
	if err != nil {
		return Usage{}, err
	}
	before, err := childrenCPU()
	if err != nil {
		return Usage{}, err
	}
	if _, err := d.Stop(); err != nil {
		return Usage{}, err
	}
	after, err := childrenCPU()
	return Usage{CPU: after - before, Peak: running.Peak}, err
}

// Usage returns what the daemon has used so far, the CPU time in steps of 10 ms.
// Only Linux shows it.
func (d *Daemon) Usage() (Usage, error) { return usageOf(d.process.PID()) }
