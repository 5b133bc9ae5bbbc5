package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/fleet"
	"vzones/test/process"
	"vzones/test/stack"
)

const (
	// deadline bounds one run of a program. repeats is the number of runs of a case not at rest.
	deadline = 5 * time.Minute
	repeats  = 3
	// idlePause is the pause between the last Node and the time at rest, for one-time work.
	idlePause = 5 * time.Second
	// scrapes is the number of requests to /metrics. The first waits for the API server to
	// authenticate the client, and some may wait for work on the last Nodes.
	scrapes = 10
)

type reading struct {
	// seconds is the time until the last Node, first the time until the first Node.
	seconds, first, cpu float64
	memory              int64 // bytes: peak memory, or resident memory at the end of a time at rest
	// vcenters is the CPU time of this process in seconds, used by the simulated vCenters and the watch of Nodes.
	vcenters float64
	// metrics is the shortest response time of /metrics over a new connection after all Nodes are initialized.
	metrics time.Duration
	// requests is the total of all vCenters, maxPerVCenter the largest number of a single vCenter.
	requests, maxPerVCenter int
}

// median returns the reading with the median time, for an even number the lower of the two.
func median(runs []reading) reading {
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b reading) int { return cmp.Compare(a.seconds, b.seconds) })
	return sorted[(len(sorted)-1)/2]
}

// measure runs the daemon and the floor in turn and returns the case's row of the table.
func (b *bench) measure(ctx context.Context, c benchCase) (string, error) {
	if err := b.stack.ReplaceFleet(ctx, c.fleet.description()); err != nil {
		return "", err
	}
	for _, v := range b.stack.Fleet.VCenters() {
		v.SetDelay(b.delay)
	}
	// Collect the garbage of the previous fleet before the measurement.
	runtime.GC()
	runs := map[string][]reading{}
	for n := range repeats {
		if n > 0 && (b.isShort || c.rest > 0 || c.name == "warm-up") {
			break
		}
		for _, p := range []program{b.daemon, b.floor} {
			r, err := b.runOnce(ctx, c, p)
			if err != nil {
				return "", fmt.Errorf("%s: %w", p.name, err)
			}
			b.report("%s: %s: %+v", c.name, p.name, r)
			runs[p.name] = append(runs[p.name], r)
		}
	}
	daemon := median(runs[b.daemon.name])
	table := row(c, daemon, median(runs[b.floor.name]))
	switch {
	case c.rest > 0 && c.fleet.fillers == 0:
		b.rest = daemon
	case c.rest > 0 && b.rest.seconds > 0:
		table += comparison(c, daemon, b.rest)
	}
	return table, nil
}

// runOnce runs a program until the Nodes of a case are initialized. Nodes of a broken vCenter are
// registered for the daemon only and not counted, so both programs initialize the same number.
func (b *bench) runOnce(ctx context.Context, c benchCase, p program) (r reading, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not finished within %s", deadline))
	defer cancel()
	isFloor := p.name == b.floor.name
	registered := b.stack.Fleet.VMs()
	counted := registered
	if c.breakVCenter != nil {
		vcenters := b.stack.Fleet.VCenters()
		last := vcenters[len(vcenters)-1]
		counted = counted[:len(counted)-len(last.VMs())]
		if isFloor {
			registered = counted
		} else {
			c.breakVCenter(last)
			defer func() { //nolint:contextcheck // a vCenter outlives the context
				err = errors.Join(err, last.Recover())
				last.SetDelay(b.delay)
			}()
		}
	}
	if err := b.stack.Client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return r, fmt.Errorf("deleting the Nodes: %w", err)
	}
	if c.joinAfter > 0 {
		registered = nil
	}
	if err := b.stack.Register(ctx, registered...); err != nil {
		return r, err
	}
	config, err := b.stack.WriteConfig(labels)
	if err != nil {
		return r, err
	}
	nodes, err := watchNodes(ctx, b.stack.Client, counted, isFloor)
	if err != nil {
		return r, err
	}
	defer nodes.stop()
	for _, v := range b.stack.Fleet.VCenters() {
		v.ResetRequests()
	}
	flags := p.flags
	if c.rest > 0 {
		flags = append(slices.Clone(flags), "--node-status-update-frequency=30s")
	}
	d, err := b.stack.StartDaemon(p.path, config, flags...)
	if err != nil {
		return r, err
	}
	cpuBefore := ownCPU()
	if r, err = b.watch(ctx, c, d, nodes, counted); err != nil {
		tail, tailErr := process.Tail(d.LogPath())
		_, stopErr := d.Stop()
		return r, errors.Join(fmt.Errorf("%w; the end of its log:\n%s", err, tail), tailErr, stopErr)
	}
	r.vcenters = ownCPU() - cpuBefore
	usage, err := d.StopUsage()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// The vSphere CPI may exit with an error when it is stopped.
		b.report("%s: %s: %v", c.name, p.name, err)
		err = nil
	}
	if c.rest == 0 {
		r.cpu = usage.CPU.Seconds()
		r.memory = usage.Peak
	}
	return r, err
}

func ownCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		// Getrusage never fails with these arguments.
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// watch waits until the Nodes are initialized and then, in a case at rest, for the time at rest.
func (b *bench) watch(ctx context.Context, c benchCase, d *stack.Daemon, nodes *arrivals, counted []fleet.VM) (r reading, err error) {
	began := d.Started
	if c.joinAfter > 0 {
		if err := pause(ctx, d, c.joinAfter); err != nil {
			return r, err
		}
		began = time.Now()
		if err := b.stack.Register(ctx, counted...); err != nil {
			return r, err
		}
	}
	select {
	case <-nodes.done:
	case <-d.Exited():
		return r, errEnded
	case <-ctx.Done():
		return r, fmt.Errorf("%w; %s", context.Cause(ctx), nodes.missing())
	}
	if nodes.wrongValue != nil {
		return r, nodes.wrongValue
	}
	r.seconds = nodes.last.Sub(began).Seconds()
	r.first = nodes.first.Sub(began).Seconds()
	if c.rest > 0 {
		var changing sync.WaitGroup
		defer changing.Wait()
		changingCtx, stop := context.WithCancel(ctx)
		defer stop()
		changing.Go(func() { b.changeOthers(changingCtx, c.changes) })
		if err := pause(ctx, d, idlePause); err != nil {
			return r, err
		}
		usageBefore, err := d.Usage()
		if err != nil {
			return r, err
		}
		for _, v := range b.stack.Fleet.VCenters() {
			v.ResetRequests()
		}
		if err := pause(ctx, d, c.rest); err != nil {
			return r, err
		}
		usageAfter, err := d.Usage()
		if err != nil {
			return r, err
		}
		r.seconds = c.rest.Seconds()
		r.cpu = (usageAfter.CPU - usageBefore.CPU).Seconds()
		r.memory = usageAfter.Resident
	}
	for _, v := range b.stack.Fleet.VCenters() {
		r.requests += v.Total()
		r.maxPerVCenter = max(r.maxPerVCenter, v.Total())
	}
	r.metrics = deadline
	for range scrapes {
		asked := time.Now()
		if _, err := b.stack.Metrics(ctx, d); err != nil {
			return r, err
		}
		r.metrics = min(r.metrics, time.Since(asked))
	}
	return r, nil
}

// changeOthers changes perSecond fillers a second, rotating over the vCenters, until the context is
// done.
func (b *bench) changeOthers(ctx context.Context, perSecond int) {
	if perSecond == 0 {
		return
	}
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	vcenters := b.stack.Fleet.VCenters()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			vcenters[n%len(vcenters)].UseFiller(n)
		case <-ctx.Done():
			return
		}
	}
}

var errEnded = errors.New("the program exited unexpectedly")

// pause waits until the time has passed, or the program or the context ends.
func pause(ctx context.Context, d *stack.Daemon, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-d.Exited():
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

func heading(delay time.Duration) string {
	cpu := "-"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := modelName.FindSubmatch(info); found != nil {
			cpu = string(found[1])
		}
	}
	const columns = "case | Nodes | vCenters | time s | floor s | / floor | first Node s | floor first s | requests | max/vCenter | CPU s | floor CPU s | vCenters CPU s | MiB | floor MiB | /metrics ms"
	return fmt.Sprintf("%s, %s, %d cores, %s/%s, %s; %s a request\n\n| %s |\n| --- |%s\n", time.Now().UTC().Format(time.DateOnly), cpu,
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), delay, columns, strings.Repeat(" ---: |", strings.Count(columns, "|")))
}

func row(c benchCase, daemon, floor reading) string {
	name := c.name
	if c.fleet.fillers > 0 {
		name += fmt.Sprintf(", %d further VMs", c.fleet.fillers)
	}
	return fmt.Sprintf("| %s | %d | %d | %.2f | %.2f | %.2f | %.2f | %.2f | %d | %d | %.2f | %.2f | %.2f | %d | %d | %d |\n", name, c.fleet.nodes, c.fleet.vcenters,
		daemon.seconds, floor.seconds, daemon.seconds/floor.seconds, daemon.first, floor.first, daemon.requests, daemon.maxPerVCenter, daemon.cpu, floor.cpu, daemon.vcenters-floor.vcenters,
		daemon.memory>>20, floor.memory>>20, daemon.metrics.Milliseconds())
}

// comparison returns a row that compares the daemon at rest with and without fillers: a factor per
// figure, for memory the difference.
func comparison(c benchCase, daemon, none reading) string {
	factor := func(beside, without float64) string { return fmt.Sprintf("%.2f ×", beside/without) }
	return fmt.Sprintf("| %s, against none | | | | | | | | %s | %s | %s | | | %+.1f | | |\n", c.name,
		factor(float64(daemon.requests), float64(none.requests)), factor(float64(daemon.maxPerVCenter), float64(none.maxPerVCenter)),
		factor(daemon.cpu, none.cpu), float64(daemon.memory-none.memory)/(1<<20))
}
