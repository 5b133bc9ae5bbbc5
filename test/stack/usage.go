package stack

import (
	"errors"
	"time"
)

// Usage is the resource usage of a daemon.
type Usage struct {
	// CPU is the user and system time.
	CPU time.Duration
	// Peak is the peak of resident memory in bytes.
	Peak int64
	// Resident is the current resident memory in bytes.
	Resident int64
}

// StopUsage stops the daemon like Stop and returns its total usage, on Linux only, also of a daemon that exits with an
// error. No other child of this process may end meanwhile, because the kernel only reports the sum of the times of all
// ended children.
//
// The peak is read just before the end: the kernel initializes the peak of a child with the memory of its parent.
func (d *Daemon) StopUsage() (Usage, error) {
	running, err := d.Usage()
	if err != nil {
		return Usage{}, err
	}
	cpuBefore, err := childrenCPU()
	if err != nil {
		return Usage{}, err
	}
	_, stopErr := d.Stop()
	cpuAfter, err := childrenCPU()
	return Usage{CPU: cpuAfter - cpuBefore, Peak: running.Peak}, errors.Join(stopErr, err)
}

// Usage returns the daemon's usage so far, on Linux only. The CPU time is in steps of 10 ms.
func (d *Daemon) Usage() (Usage, error) { return usageOf(d.process.PID()) }
