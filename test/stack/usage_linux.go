package stack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc on every architecture.
const tick = 10 * time.Millisecond

func usageOf(pid int) (Usage, error) {
	cpu, err := processCPU(pid)
	if err != nil {
		return Usage{}, err
	}
	peak, err := memory(pid, "VmHWM:")
	if err != nil {
		return Usage{}, err
	}
	resident, err := memory(pid, "VmRSS:")
	return Usage{CPU: cpu, Peak: peak, Resident: resident}, err
}

func processCPU(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The second field, in parentheses, is a name that may contain anything.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: %d fields after the name", path, len(fields))
	}
	ticks := int64(0)
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

func memory(pid int, key string) (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		value, ok := strings.CutPrefix(line, key)
		if !ok {
			continue
		}
		kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		return kB << 10, nil
	}
	return 0, fmt.Errorf("%s has no %s", path, key)
}

func childrenCPU() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
