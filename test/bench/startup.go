package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vzones/test/bench/figures"
	"vzones/test/fleet"
)

// An affliction is what is wrong with the last vCenter of a fleet.
type affliction func(*fleet.VCenter)

// startup measures the time from the start of a program until the last Node is
// initialized. With an affliction, the Nodes of the other vCenters count, and
// the same is measured of them alone and without it.
func startup(sick affliction) measurement {
	return func(ctx context.Context, b *bench, c benchCase, result *figures.Case) error {
		result.TimeOf = "last Node"
		if c.joinAfter > 0 {
			result.TimeOf = "last join"
		}
		var daemons, floors, healthy []*figures.Reading
		for n := range c.runs {
			b.report("%s: run %d of %d", c.name, n+1, c.runs)
			if sick != nil {
				reading, err := b.initialize(ctx, b.daemon, c, nil, result)
				if err != nil {
					return fmt.Errorf("while all vCenters are well: %w", err)
				}
				healthy = append(healthy, reading)
			}
			reading, err := b.initialize(ctx, b.daemon, c, sick, result)
			if err != nil {
				return err
			}
			daemons = append(daemons, reading)
			if reading, err = b.initialize(ctx, b.floor, c, nil, result); err != nil {
				return err
			}
			floors = append(floors, reading)
		}
		result.Daemon, result.Floor = figures.Median(daemons), figures.Median(floors)
		if sick != nil {
			result.Healthy = figures.Median(healthy)
		}
		result.Compare()
		return nil
	}
}

// initialize has a program initialize all Nodes of the fleet. In a case with an
// affliction, those of the last vCenter are there only while it is: with it and
// without it, as many Nodes can be initialized.
func (b *bench) initialize(ctx context.Context, p program, c benchCase, sick affliction, result *figures.Case) (_ *figures.Reading, err error) {
	all := b.stack.Fleet.Machines()
	counted, registered, lost := all, all, []fleet.Machine(nil)
	vcenters := b.stack.Fleet.VCenters()
	last := vcenters[len(vcenters)-1]
	if c.oneSick {
		lost = last.Machines()
		counted = all[:len(all)-len(lost)]
		registered = counted
	}
	name := p.name
	if sick != nil {
		name += ", one vCenter failing"
		registered = all
		sick(last)
		defer func() { err = errors.Join(err, b.restore(last)) }() //nolint:contextcheck // a vCenter outlives the case's context
	}
	t, err := b.begin(ctx, c, p, registered, counted)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, counted); err != nil {
		return nil, t.abandon(err)
	}
	took, requests := t.sinceStart(counted), t.requests()
	if m := t.nodes.any(lost); m != "" {
		return nil, t.abandon(fmt.Errorf("the Node %s is initialized though its vCenter answers nobody", m))
	}
	if p.floor && b.differ != "" && len(result.Notes) == 0 {
		result.Notes = append(result.Notes, "the daemon and the floor have flags with different defaults: "+b.differ)
	}
	reading, err := t.end(took, requests)
	if err != nil {
		return nil, err
	}
	if requests != nil {
		b.report("%s: %s: %d Nodes in %s, %d requests", c.name, name, len(counted), took.Round(time.Millisecond), requests.Total)
	} else {
		b.report("%s: %s: %d Nodes in %s", c.name, name, len(counted), took.Round(time.Millisecond))
	}
	return reading, nil
}

// begin starts a program with the registered Nodes, or has those that count join later.
func (b *bench) begin(ctx context.Context, c benchCase, p program, registered, counted []fleet.Machine) (*trial, error) {
	if c.joinAfter == 0 {
		return b.launch(ctx, c.name, p, registered)
	}
	t, err := b.launch(ctx, c.name, p, nil)
	if err != nil {
		return nil, err
	}
	if err := t.join(ctx, c.joinAfter, counted); err != nil {
		return nil, t.abandon(err)
	}
	return t, nil
}

// restore undoes the faults of a vCenter.
func (b *bench) restore(v *fleet.VCenter) error {
	err := v.Recover()
	v.SetDelay(b.delay)
	return err
}
