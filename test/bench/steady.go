package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vzones/test/bench/figures"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// statusUpdates is how often the framework asks for each Node. At its
	// default, 5 minutes, nothing would be seen.
	statusUpdates = "--node-status-update-frequency=30s"
	// calm is the pause between the last Node and the window, for what a
	// program does once.
	calm = 5 * time.Second
)

// steady measures what a program uses and asks for in a window in which nothing
// changes.
func steady(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
	result.TimeOf = "window"
	window, floorWindow := 5*time.Minute, time.Minute
	if b.short {
		window, floorWindow = time.Minute, 20*time.Second
	}
	daemon, err := b.idle(ctx, b.daemon, c, window)
	if err != nil {
		return err
	}
	floor, err := b.idle(ctx, b.floor, c, floorWindow)
	if err != nil {
		return err
	}
	result.Daemon = daemon
	floor.CPUSeconds *= window.Seconds() / floorWindow.Seconds()
	floor.Seconds, floor.All = 0, nil
	result.Floor = floor
	result.Notes = append(result.Notes, fmt.Sprintf("the floor was watched for %s; its CPU time is scaled to %s", floorWindow, window))
	return nil
}

// idle has a program initialize the Nodes and watches it in a window.
func (b *bench) idle(ctx context.Context, p program, c benchCase, window time.Duration) (*figures.Reading, error) {
	machines := b.stack.Fleet.Machines()
	t, err := b.launch(ctx, c.name, p, machines, statusUpdates)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, machines); err != nil {
		return nil, t.abandon(err)
	}
	b.report("%s: %s: watching for %s", c.name, p.name, window)
	if err := t.pause(ctx, calm); err != nil {
		return nil, t.abandon(err)
	}
	before, err := t.daemon.Usage()
	if err != nil {
		return nil, t.abandon(err)
	}
	lines := t.logLines()
	b.resetRequests()
	if t.harness, err = stack.OwnCPU(); err != nil {
		return nil, t.abandon(err)
	}
	if err := t.pause(ctx, window); err != nil {
		return nil, t.abandon(err)
	}
	requests, lines := t.requests(), t.logLines()-lines
	after, err := t.daemon.Usage()
	if err != nil {
		return nil, t.abandon(err)
	}
	reading, err := t.end(window, requests)
	if err != nil {
		return nil, err
	}
	reading.CPUSeconds, reading.LogLines = (after.CPU - before.CPU).Seconds(), &lines
	return reading, nil
}

// logLines is how many lines the program has logged.
func (t *trial) logLines() int { return strings.Count(t.daemon.Log(), "\n") }

const (
	// quietBefore is how long there must have been no write before the window of quiet.
	quietBefore = 15 * time.Second
	// part of all machines have Nodes in a short run: the first annotations take
	// as much less time.
	part = 5
)

// quiet measures what the daemon writes and asks for in a window in which nothing
// changes, once the annotations and conditions that it writes at a bounded rate are written.
func quiet(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
	result.TimeOf = "window"
	machines, window := b.stack.Fleet.Machines(), 2*time.Minute
	if b.short {
		window = time.Minute
		var some []fleet.Machine
		for i := 0; i < len(machines); i += part {
			some = append(some, machines[i])
		}
		machines = some
		result.Nodes = len(machines)
	}
	t, err := b.launch(ctx, c.name, b.daemon, machines)
	if err != nil {
		return err
	}
	var note string
	result.Daemon, note, err = t.quiet(ctx, machines, window)
	if err == nil {
		result.Notes = append(result.Notes, note)
	}
	return err
}

// quiet returns the reading of the window, and a note on what the log has of the start.
func (t *trial) quiet(ctx context.Context, machines []fleet.Machine, window time.Duration) (*figures.Reading, string, error) {
	if err := t.await(ctx, machines); err != nil {
		return nil, "", t.abandon(err)
	}
	t.bench.report("%s: waiting until nothing is written", t.name)
	before, err := t.writesCease(ctx)
	if err != nil {
		return nil, "", t.abandon(err)
	}
	if t.bench.more == levels {
		if err := t.bench.leveled(ctx, machines); err != nil {
			return nil, "", t.abandon(err)
		}
	}
	t.bench.report("%s: watching for %s", t.name, window)
	used, err := t.daemon.Usage()
	if err != nil {
		return nil, "", t.abandon(err)
	}
	begun := t.logLines()
	note := fmt.Sprintf("the log has %d lines from the start to the window, %d of them before the first Node, and %.1f MB", begun, t.linesBeforeNodes(), float64(len(t.daemon.Log()))/1e6)
	t.bench.resetRequests()
	if err := t.pause(ctx, window); err != nil {
		return nil, "", t.abandon(err)
	}
	requests, lines := t.requests(), t.logLines()-begun
	after, err := t.bench.stack.Writes(ctx)
	if err != nil {
		return nil, "", t.abandon(err)
	}
	using, err := t.daemon.Usage()
	if err != nil {
		return nil, "", t.abandon(err)
	}
	reading, err := t.end(window, requests)
	if err != nil {
		return nil, "", err
	}
	writes := after - before
	reading.LogLines = &lines
	reading.RestBytes = using.Resident
	reading.APIWrites, reading.CPUSeconds = &writes, (using.CPU - used.CPU).Seconds()
	return reading, note, nil
}

// linesBeforeNodes is how many lines come before the first that is about a Node's
// initialization.
func (t *trial) linesBeforeNodes() int {
	before, _, _ := strings.Cut(t.daemon.Log(), "Initializing node ")
	return strings.Count(before, "\n")
}

// writesCease waits until the API server has been sent no write for a while, and
// returns how many it was sent before.
func (t *trial) writesCease(ctx context.Context) (int, error) {
	last := -1
	for {
		now, err := t.bench.stack.Writes(ctx)
		if err != nil || now == last {
			return now, err
		}
		last = now
		if err := t.pause(ctx, quietBefore); err != nil {
			return 0, err
		}
	}
}

// pause waits, unless the program or the context ends.
func (t *trial) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.daemon.Exited():
		return t.failure(errEnded)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
