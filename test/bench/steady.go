package main

import (
	"context"
	"fmt"
	"time"

	"vzones/test/bench/figures"
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

// idle has a program initialise the Nodes and watches it in a window.
func (b *bench) idle(ctx context.Context, p program, c benchCase, window time.Duration) (*figures.Reading, error) {
	machines := b.stack.Fleet.Machines()
	t, err := b.launch(ctx, c.name, p, machines, statusUpdates)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, machines); err != nil {
		return nil, t.abandon(err)
	}
	b.say("%s: %s: watching for %s", c.name, p.name, window)
	if err := t.pause(ctx, calm); err != nil {
		return nil, t.abandon(err)
	}
	before, err := t.daemon.Usage()
	if err != nil {
		return nil, t.abandon(err)
	}
	b.resetRequests()
	if t.harness, err = stack.OwnCPU(); err != nil {
		return nil, t.abandon(err)
	}
	if err := t.pause(ctx, window); err != nil {
		return nil, t.abandon(err)
	}
	requests := t.requests()
	after, err := t.daemon.Usage()
	if err != nil {
		return nil, t.abandon(err)
	}
	reading, err := t.end(window, requests)
	if err != nil {
		return nil, err
	}
	reading.CPUSeconds = (after.CPU - before.CPU).Seconds()
	return reading, nil
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
