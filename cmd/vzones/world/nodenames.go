package world

import (
	"context"
	"time"
)

// completionTimeout limits the time that a shell waits for the names of Nodes.
const completionTimeout = 5 * time.Second

// NodeNames returns the names of the cluster's Nodes. It reads neither the configuration nor a vCenter.
func NodeNames(ctx context.Context, f *Flags) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	w := &World{}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	if err := w.readNodes(ctx, f); err != nil {
		return nil, err
	}
	names := make([]string, len(w.Nodes))
	for i, n := range w.Nodes {
		names[i] = n.Name
	}
	return names, nil
}
