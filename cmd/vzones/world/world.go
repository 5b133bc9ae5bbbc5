// Package world reads what the tool's commands answer from: the configuration, the Nodes of the
// cluster, and all vCenters, once. It owns the flags that say where these are.
//
// It uses what the daemon is made of: the same fleet reads the vCenters, and the same placer
// places the Nodes. So what the tool says is what the daemon does. It writes nothing.
package world

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/running"
	"vzones/config"
	"vzones/provider/absence"
	"vzones/provider/placement"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// A World is what was read. Close has to be called.
type World struct {
	// Source says where the configuration is from, for a person.
	Source string
	Config *config.Config
	// Daemon is the one that runs in the cluster, nil without --from-cluster.
	Daemon *running.Daemon
	// Client and RESTConfig are those of the cluster, nil without one.
	Client     kubernetes.Interface
	RESTConfig *rest.Config
	// NoNodes says why there are no Nodes, nil if they were listed.
	NoNodes error
	// Nodes are those of the cluster by name, or those that stand for the machines that were
	// asked for.
	Nodes []*v1.Node
	// States are those of the vCenters, in configured order. Each was read, or has an error.
	States []inventory.State
	// Placer places the Nodes by the States, which are the same until Close or Refresh. Checker says
	// whether they would be deleted.
	Placer  *placement.Placer
	Checker *absence.Checker

	fleetRun
}

// fleetRun is the fleet that runs for a World, and for which Nodes.
type fleetRun struct {
	// standIns reports whether the Nodes stand for machines, and listed whether they are those of
	// the cluster.
	standIns, listed bool
	// wanted returns the machines that are read, followed are those.
	wanted   func(*World) []inventory.Identity
	followed []inventory.Identity

	// needs are what the configuration needs of the vCenters.
	needs   vcenter.Requirements
	timeout time.Duration
	// until is when what is asked beside the Nodes ends, set once the vCenters were read.
	until time.Time
	fleet *vcenter.Fleet
	shown *shown
	// changed is notified by the fleet, and received from by await and Wait.
	changed <-chan struct{}
	cancel  context.CancelFunc
	// ended is closed when the fleet has ended.
	ended chan struct{}
}

// Health returns the health of each vCenter now.
func (w *World) Health() []vcenter.Health { return w.fleet.Health() }

// Survey reads more of each vCenter that was read, all side by side, in the order of States. It takes
// no longer than what is left of --timeout, see Within.
func (w *World) Survey(ctx context.Context, q survey.Query) []survey.Survey {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return survey.Read(ctx, w.fleet.Sessions(), w.needs, q)
}

// Close logs out of all vCenters, which takes 3 s at most, and returns when nothing runs any more. It
// may be called again.
func (w *World) Close() {
	if w == nil || w.cancel == nil {
		return
	}
	w.cancel()
	<-w.ended
}
