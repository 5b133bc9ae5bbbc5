package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"vzones/test/bench/figures"
	"vzones/test/fleet"
	"vzones/test/process"
	"vzones/test/stack"
)

// A program is the daemon or the floor.
type program struct {
	name, path string
	floor      bool
}

// A trial is one run of a program against the Nodes of one fleet.
type trial struct {
	bench   *bench
	program program
	name    string // of the case
	daemon  *stack.Daemon
	started time.Time // that of the program, or when its Nodes came
	nodes   *arrivals
	harness time.Duration // our own CPU time when it began
}

// launch creates the Nodes of machines in place of those that are there and
// starts a program, for the case of that name. The caller must call end or
// abandon.
func (b *bench) launch(ctx context.Context, name string, p program, machines []fleet.Machine, flags ...string) (*trial, error) {
	if err := deleteNodes(ctx, b.stack.Client); err != nil {
		return nil, err
	}
	if err := b.stack.Register(ctx, machines...); err != nil {
		return nil, err
	}
	if err := b.registerOthers(ctx); err != nil {
		return nil, err
	}
	config, err := b.stack.WriteConfig(labels + b.more)
	if err != nil {
		return nil, err
	}
	t := &trial{bench: b, program: p, name: name}
	if t.nodes, err = watchNodes(ctx, b.stack.Client); err != nil {
		return nil, err
	}
	b.resetRequests()
	if t.harness, err = stack.OwnCPU(); err != nil {
		t.nodes.stop()
		return nil, err
	}
	if t.daemon, err = b.stack.StartDaemon(p.path, config, flags...); err != nil {
		t.nodes.stop()
		return nil, err
	}
	t.started = t.daemon.Started
	return t, nil
}

// registerOthers creates the further Nodes, all of which are younger: the API server
// notes seconds.
func (b *bench) registerOthers(ctx context.Context) error {
	if len(b.others) == 0 {
		return nil
	}
	select {
	case <-time.After(1100 * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, n := range b.others {
		if _, err := b.stack.Cluster.CreateNode(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// join creates Nodes when the program has run for a while.
func (t *trial) join(ctx context.Context, after time.Duration, machines []fleet.Machine) error {
	select {
	case <-time.After(after):
	case <-t.daemon.Exited():
		return t.failure(fmt.Errorf("%s has ended on its own", t.program.name))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.started = time.Now()
	return t.bench.stack.Register(ctx, machines...)
}

// await waits until the Nodes of machines are initialized, and checks that the
// daemon gave them what it should.
func (t *trial) await(ctx context.Context, machines []fleet.Machine) error {
	full := t.nodes.expect(machines)
	progress := time.NewTicker(10 * time.Second)
	defer progress.Stop()
	for {
		select {
		case <-full:
			if t.program.floor {
				return nil
			}
			return t.nodes.wrong(machines)
		case <-progress.C:
			missing, _ := t.nodes.missing()
			t.bench.report("%s: %s: %d of %d Nodes are initialized", t.name, t.program.name, len(machines)-missing, len(machines))
		case <-t.daemon.Exited():
			return t.failure(fmt.Errorf("%s has ended on its own", t.program.name))
		case <-ctx.Done():
			missing, one := t.nodes.missing()
			return t.failure(fmt.Errorf("%s: %d of %d Nodes are not initialized, %s among them: %w", t.program.name, missing, len(machines), one, context.Cause(ctx)))
		}
	}
}

// failure adds the end of the program's log to an error.
func (t *trial) failure(err error) error {
	tail, tailErr := process.Tail(t.daemon.LogPath())
	if tailErr != nil {
		return errors.Join(err, tailErr)
	}
	return fmt.Errorf("%w; the end of its log:\n%s", err, tail)
}

// sinceStart is how long after the program started, or its Nodes came, the last of those of
// machines was initialized.
func (t *trial) sinceStart(machines []fleet.Machine) time.Duration {
	return t.nodes.last(machines).Sub(t.started)
}

// requests are those since the program was started or the count was reset, nil
// for the floor.
func (t *trial) requests() *figures.Requests {
	if t.program.floor {
		return nil
	}
	return t.bench.requests()
}

// end stops the program and returns what it used, as a reading for a time.
func (t *trial) end(took time.Duration, requests *figures.Requests) (*figures.Reading, error) {
	harness, err := stack.OwnCPU()
	if err != nil {
		return nil, t.abandon(err)
	}
	t.nodes.stop()
	usage, err := t.daemon.StopUsage()
	if err != nil {
		return nil, t.failure(fmt.Errorf("stopping the %s: %w", t.program.name, err))
	}
	return &figures.Reading{
		Seconds: took.Seconds(), All: []float64{took.Seconds()},
		CPUSeconds: usage.CPU.Seconds(), PeakBytes: usage.Peak,
		HarnessCPUSeconds: (harness - t.harness).Seconds(),
		Requests:          requests,
	}, nil
}

// abandon stops the program after an error, which it returns.
func (t *trial) abandon(err error) error {
	t.nodes.stop()
	if _, stopErr := t.daemon.Stop(); stopErr != nil {
		return errors.Join(err, fmt.Errorf("stopping the %s: %w", t.program.name, stopErr))
	}
	return err
}

// flagLine matches the line of the help about a flag.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\S, )?--([a-z0-9-]+)(?:.*\(default (.*)\))?`)

// defaults returns the defaults of a program's flags, by its help.
func defaults(help string) map[string]string {
	found := map[string]string{}
	for _, match := range flagLine.FindAllStringSubmatch(help, -1) {
		found[match[1]] = match[2]
	}
	return found
}

// differences names the flags that two programs both have, with different defaults.
func differences(a, b map[string]string) string {
	var differ []string
	for name, value := range a {
		if other, ok := b[name]; ok && other != value {
			differ = append(differ, fmt.Sprintf("--%s=%s and %s", name, value, other))
		}
	}
	slices.Sort(differ)
	return strings.Join(differ, ", ")
}
