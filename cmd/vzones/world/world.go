// Package world reads what the tool's commands answer from: the configuration, the Nodes of the
// cluster, and all vCenters, once. It owns the flags that say where these are.
//
// It uses what the daemon is made of: the same fleet reads the vCenters, and the same placer
// places the Nodes. So what the tool says is what the daemon does. It writes nothing.
package world

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vzones/cmd/vsphere-cloud-controller-manager/app/credentials"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/placement"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/survey"
	"vzones/vcenter/tags"
)

// A World is what was read. Close has to be called.
type World struct {
	// Source says where the configuration is from, for a person.
	Source string
	Config *config.Config
	// Daemon is what the flags of the running daemon say, as far as it was looked for.
	Daemon Daemon
	// Client and RESTConfig are those of the cluster, nil without one.
	Client     kubernetes.Interface
	RESTConfig *rest.Config
	// Nodes are those of the cluster by name, or those that stand for the machines that were
	// asked for.
	Nodes []*v1.Node
	// States are those of the vCenters, in configured order. Each was read, or has an error.
	States []inventory.State
	// Placer places the Nodes by the States.
	Placer *placement.Placer

	// followed are the machines of the Nodes.
	followed []inventory.Identity

	fleet  *vcenter.Fleet
	cancel context.CancelFunc
	ended  chan struct{}
}

// Daemon is what the flags of the daemon say.
type Daemon struct {
	// Found reports whether its Pods were found, Pods are their names.
	Found bool
	Pods  []string
	// Controllers is --controllers.
	Controllers []string
}

// A Need is what a command needs beside the vCenters.
type Need int

// The needs.
const (
	// NoNodes: it asks nothing about Nodes.
	NoNodes Need = iota
	// NodesIfAny: it uses the Nodes of the cluster if there is a kubeconfig.
	NodesIfAny
	// NodesOrMachines: Nodes of the cluster, or machines that flags name.
	NodesOrMachines
	// Cluster: it cannot do without the cluster.
	Cluster
)

// Open reads the configuration and the Nodes, connects to all vCenters, and returns once each was
// read or has failed. What is wrong with one vCenter is in its State and is no error.
func Open(ctx context.Context, f *Flags) (*World, error) {
	w := &World{}
	if err := f.connect(w); err != nil {
		return nil, err
	}
	read := reader{w}
	if err := f.readConfig(ctx, w, read); err != nil {
		return nil, err
	}
	if err := f.readNodes(ctx, w); err != nil {
		return nil, err
	}
	w.fleet = vcenter.NewFleet(w.Config.VCenters, (&credentials.Finder{Secrets: read}).Find, vcenter.Options{
		Requirements: vcenter.RequirementsOf(w.Config), LoginLimits: session.LoginLimits{Failures: 1}, RetryMin: f.Timeout, RetryMax: f.Timeout,
	})
	w.start(ctx)
	if err := w.await(ctx, f); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// start makes the placer of the Nodes and runs the fleet, which follows their machines.
func (w *World) start(ctx context.Context) {
	p := provider.New(w.fleet, w.Config, provider.Options{})
	factory := informers.NewSharedInformerFactory(nil, 0) // it is never started: the Nodes were listed
	p.SetInformers(factory)
	w.Placer = p.Placer()
	store := w.Placer.NodeCache().Quiet().GetIndexer()
	for _, n := range w.Nodes {
		_ = store.Add(n) // the key of a Node is its name
		if w.Placer.IsForeign(n) {
			continue
		}
		if id, err := w.Placer.Statement(n); err == nil {
			w.followed = append(w.followed, id)
		}
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
func (w *World) await(ctx context.Context, f *Flags) error {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	changed := w.fleet.Subscribe()
	for {
		w.States = w.fleet.States()
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

func (w *World) isRead() bool {
	for i := range w.States {
		if s := &w.States[i]; s.Err == nil && (s.Snapshot == nil || !w.isComplete(s.Snapshot)) {
			return false
		}
	}
	return true
}

// isComplete reports whether all that a vCenter has to be searched for was searched for.
func (w *World) isComplete(s *inventory.Snapshot) bool {
	for _, id := range w.followed {
		if _, searched := s.Names[id.Name]; len(id.UUIDs) == 0 && !searched {
			return false
		}
		for _, u := range id.UUIDs {
			if s.Searched != nil && !s.Searched.UUIDs[u] {
				return false
			}
		}
	}
	for _, m := range s.Machines {
		if m.Pending || !tagsAreRead(m) {
			return false
		}
	}
	return len(s.Pending) == 0
}

// tagsAreRead reports whether the tags above a machine were read, or could not be.
func tagsAreRead(m *inventory.Machine) bool {
	for i := range m.Paths {
		for _, o := range m.Paths[i].Objects {
			if errors.Is(o.TagsErr, tags.ErrNotRead) {
				return false
			}
		}
	}
	return true
}

// Health returns the health of each vCenter now.
func (w *World) Health() []vcenter.Health { return w.fleet.Health() }

// Survey reads more of each vCenter that was read, all side by side, in the order of States.
func (w *World) Survey(ctx context.Context, q survey.Query) []survey.Survey {
	return w.fleet.Survey(ctx, q)
}

// Close logs out of all vCenters.
func (w *World) Close() {
	w.cancel()
	<-w.ended
}
