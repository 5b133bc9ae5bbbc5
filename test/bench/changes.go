package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vzones/test/bench/figures"
	"vzones/test/fleet"
)

var errEnded = errors.New("the program has ended on its own")

const (
	// between is the pause before each change.
	between = time.Second
	// timeout is how long changes are made: after it there is no further one.
	timeout = 45 * time.Second
)

// A change gives machines without a zone one.
type change func(*fleet.VCenter, fleet.Machine) error

func migrate(v *fleet.VCenter, m fleet.Machine) error { return v.MoveVM(m.Name, home) }

func tag(v *fleet.VCenter, _ fleet.Machine) error {
	return v.Tag("/"+bareDatacenter+"/host/"+bareCluster, zoneCategory, zone(v.Name(), bareCluster))
}

// changes measures the time from a change in a vCenter until the daemon acts on
// it. What can be seen from outside is a Node that waits for its zone: once the
// machine has one, the Node is initialized. The floor is the time from the
// creation of a Node until it is initialized.
func changes(what string, change change) measurement {
	return func(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
		machines := withoutZone(b.stack.Fleet.Machines())
		floor, err := b.each(ctx, c.name, b.floor, withZone(b.stack.Fleet.Machines()), machines, func(m fleet.Machine) error {
			return b.stack.Register(ctx, m)
		})
		if err != nil {
			return err
		}
		daemon, err := b.each(ctx, c.name, b.daemon, b.stack.Fleet.Machines(), machines, func(m fleet.Machine) error {
			return change(b.stack.Fleet.VCenter(m.VCenter), m)
		})
		if err != nil {
			return err
		}
		b.report("%s: %s known after %.2f to %.2f s", c.name, what, daemon.All[0], daemon.Seconds)
		result.TimeOf = fmt.Sprintf("slowest of %d", len(daemon.All))
		result.Daemon, result.Floor = daemon, floor
		result.Notes = append(result.Notes, "the time to the daemon's knowing includes that of the framework to write the Node, which the floor is")
		return nil
	}
}

// each starts a program with the Nodes of first, waits for those that can be
// initialized, and then makes one change after the other and waits for its Node.
func (b *bench) each(ctx context.Context, name string, p program, first, machines []fleet.Machine, change func(fleet.Machine) error) (*figures.Reading, error) {
	t, err := b.launch(ctx, name, p, first)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, withZone(first)); err != nil {
		return nil, t.abandon(err)
	}
	if m := t.nodes.any(machines); m != "" {
		return nil, t.abandon(fmt.Errorf("the Node %s is initialized before it can be", m))
	}
	b.resetRequests()
	var took []float64
	for start := time.Now(); len(took) < len(machines) && time.Since(start) < timeout; {
		m := machines[len(took)]
		if err := t.pause(ctx, between); err != nil {
			return nil, t.abandon(err)
		}
		began := time.Now()
		if err := change(m); err != nil {
			return nil, t.abandon(err)
		}
		if err := t.awaitOne(ctx, m.Name); err != nil {
			return nil, t.abandon(fmt.Errorf("after the change of %s: %w", m.Name, err))
		}
		took = append(took, t.nodes.last([]fleet.Machine{m}).Sub(began).Seconds())
	}
	reading, err := t.end(0, t.requests())
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	reading.Seconds, reading.All = took[len(took)-1], took
	return reading, nil
}

// awaitOne waits for the Node of a machine as it is now.
func (t *trial) awaitOne(ctx context.Context, name string) error {
	m, err := t.bench.stack.Fleet.Machine(name)
	if err != nil {
		return err
	}
	return t.await(ctx, []fleet.Machine{m})
}
