package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/informers"

	"vzones/cmd/vsphere-cloud-controller-manager/app/credentials"
	"vzones/provider"
	"vzones/vcenter"
	"vzones/vcenter/session"
)

// Open reads the configuration and the Nodes, connects to all vCenters, and returns once each was
// read or has failed. What is wrong with one vCenter is in its State and is no error.
func Open(ctx context.Context, f *Flags) (*World, error) {
	w := &World{}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	read := reader{w}
	if err := w.readConfig(ctx, f, read); err != nil {
		return nil, err
	}
	if err := w.readNodes(ctx, f); err != nil {
		return nil, err
	}
	w.fleet = vcenter.NewFleet(w.Config.VCenters, (&credentials.Finder{Secrets: read}).Find, vcenter.Options{
		Requirements: vcenter.RequirementsOf(w.Config), LoginLimits: session.LoginLimits{Failures: 1}, RetryMin: f.Timeout, RetryMax: f.Timeout,
	})
	w.start(ctx, f)
	if err := w.await(ctx, f.Timeout); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// start makes the placer of the Nodes and runs the fleet, which follows their machines.
func (w *World) start(ctx context.Context, f *Flags) {
	w.shown = &shown{Fleet: w.fleet}
	p := provider.New(w.shown, w.Config, provider.Options{})
	factory := informers.NewSharedInformerFactory(nil, 0) // it is never started: the Nodes were listed
	p.SetInformers(factory)
	w.Placer, w.Checker = p.Placer(), p.Checker()
	fill(w.Placer, w.Nodes)
	if f.Follow != nil {
		w.followed = f.Follow(w)
	} else {
		w.followed = w.Statements(w.Nodes)
	}
	w.fleet.Follow(w.followed)
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = w.fleet.Run(ctx) // it has no error but that of the context
	}()
}

// await waits until each vCenter was read or has failed.
func (w *World) await(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	changed := w.fleet.Subscribe()
	for {
		states := w.fleet.States()
		w.States = states
		w.shown.states.Store(&states)
		if w.isRead() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil // those that have not answered are in the States without a snapshot
			}
			return fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		}
	}
}
