package world

import (
	"context"
	"fmt"
	"time"

	"vzones/vcenter/inventory"
)

// refreshTime bounds how long a Refresh waits for machines that are new.
const refreshTime = 10 * time.Second

// Wait waits until something has changed in a vCenter, for a time at most. Flags.Watch is needed.
func (w *World) Wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.changed:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the vCenters: %w", context.Cause(ctx))
	}
	return nil
}

// Refresh lists the Nodes again and makes the World what it is now. Answers given before stay as they
// are.
func (w *World) Refresh(ctx context.Context) error {
	if w.listed {
		nodes, err := w.listNodes(ctx)
		if err != nil {
			return err
		}
		gone := map[string]bool{}
		for _, n := range w.Nodes {
			gone[string(n.UID)] = true
		}
		for _, n := range nodes {
			delete(gone, string(n.UID))
		}
		for _, n := range w.Nodes {
			if gone[string(n.UID)] {
				w.Placer.Forget(n.UID)
			}
		}
		before := w.followed
		w.Nodes = nodes
		w.know()
		if !sameMachines(before, w.followed) {
			w.fleet.Follow(w.followed)
		}
	}
	return w.await(ctx, time.Now().Add(refreshTime))
}

// sameMachines reports whether two lists are of the same machines.
func sameMachines(a, b []inventory.Identity) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].String() != b[i].String() {
			return false
		}
	}
	return true
}
