// Package world reads what the tool's commands answer from: the configuration, which may be that of a
// daemon in the cluster, the Nodes, and all vCenters, once. It owns the flags that say where these are.
//
// It uses what the daemon is made of: the same fleet reads the vCenters, and the same placer
// places the Nodes. So what the tool says is what the daemon does. It writes nothing.
package world

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider"
	"vzones/provider/framework"
	"vzones/provider/placement"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// A World is what was read. The caller must call Close.
type World struct {
	// Source says where the configuration is from, for a person.
	Source string
	Config *config.Config
	// Daemon is the one that runs in the cluster, nil if a file is the configuration.
	Daemon *Daemon
	// Client and RESTConfig are those of the cluster, nil without one.
	Client     kubernetes.Interface
	RESTConfig *rest.Config
	// NoNodes says why there are no Nodes, nil if they were listed.
	NoNodes error
	// Nodes are those of the cluster by name.
	Nodes []*v1.Node
	// States are those of the vCenters, in configured order. Each was read, or has an error.
	States []inventory.State
	// Placer places the Nodes by the States, which stay the same until Close. Checker says whether
	// they would be deleted.
	Placer  *placement.Placer
	Checker *placement.Checker
	// Cache has the Nodes, by what they say of their machines and addresses.
	Cache *framework.Cache

	selector labels.Selector
	fleetRun
	claims claims
}

// fleetRun is the fleet that runs for a World, and for which Nodes.
type fleetRun struct {
	// wanted returns the machines that are read, followed are those.
	wanted   func(*World) []inventory.Identity
	followed []inventory.Identity

	// needs are what the configuration needs of the vCenters.
	needs   vcenter.Requirements
	timeout time.Duration
	// until is when requests beside the Nodes end, set once the vCenters were read.
	until time.Time
	fleet *vcenter.Fleet
	shown *shown
	// changed is notified by the fleet, and received from by await.
	changed <-chan struct{}
	cancel  context.CancelFunc
	// ended is closed when the fleet has ended.
	ended chan struct{}
}

// shown is a fleet that shows states as they were: all answers about one World are of one time.
type shown struct {
	*vcenter.Fleet
	states atomic.Pointer[[]inventory.State]
}

// States returns the states that are shown.
func (s *shown) States() []inventory.State {
	if states := s.states.Load(); states != nil {
		return *states
	}
	return nil
}

// Open reads the configuration and the Nodes, connects to all vCenters, and returns once each was
// read or has failed. If the configuration is the daemon's, standard error first names it and the
// addresses that credentials go to. A failure of one vCenter is in its State and is no error. An error is
// about what was asked for, or says that the context is done; nothing is open then.
//
// Each vCenter gets each password once. One that it rejects is not tried again, so that the account
// is not locked, which the daemon uses too.
func Open(ctx context.Context, f *Flags) (*World, error) {
	selector, err := f.check()
	if err != nil {
		return nil, err
	}
	ctx = f.withLog(ctx)
	w := &World{selector: selector, fleetRun: fleetRun{timeout: f.Timeout}}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	finder, err := w.readConfig(ctx, f)
	if err != nil {
		return nil, err
	}
	if w.Daemon != nil {
		fmt.Fprintln(os.Stderr, w.announcement())
	}
	if f.Beside != nil {
		f.Beside(w.Config)
	}
	if err := w.readNodes(ctx, f); err != nil {
		return nil, err
	}
	w.start(ctx, f, finder)
	deadline := time.Now().Add(f.Timeout)
	err = w.await(ctx, deadline)
	if w.until = time.Now().Add(f.Timeout / 4); w.until.Before(deadline) {
		w.until = deadline
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// announcement names the daemon's configuration, and the addresses that its credentials go to.
func (w *World) announcement() string {
	servers := make([]string, len(w.Config.VCenters))
	for i := range w.Config.VCenters {
		v := &w.Config.VCenters[i]
		servers[i] = fmt.Sprintf("%s (%s)", quote.Name(v.Name), quote.Plain(v.Server))
	}
	return fmt.Sprintf("configuration: %s; vCenters: %s", w.Source, strings.Join(servers, ", "))
}

// leastRequestTime is how long one request may take at least, as in the daemon.
const leastRequestTime = 15 * time.Second

// options are those of the fleet. A request that has failed is not repeated: so it may take longer where
// the vCenters may, and still fails before all of them are given up. A login has no less time than that:
// one that is given up leaves a session in the vCenter, and Close waits for one that it ends, and logs out.
func (f *Flags) options() vcenter.Options {
	return vcenter.Options{
		LoginTimeout: max(leastRequestTime, f.Timeout), Timeout: max(leastRequestTime, f.Timeout/3), TagRefresh: time.Hour,
		RetryMin: session.Never, RetryMax: session.Never,
		LoginLimits: session.LoginLimits{
			Failures: 1, Queue: true, RejectedMin: session.Never, RejectedMax: session.Never, UnansweredMin: session.Never, UnansweredMax: session.Never,
		},
	}
}

// start makes the placer of the Nodes and runs the fleet, which follows their machines.
func (w *World) start(ctx context.Context, f *Flags, finder *source.CredentialFinder) {
	o := f.options()
	w.needs = vcenter.RequirementsOf(w.Config)
	o.Requirements = w.needs
	w.fleet = vcenter.NewFleet(w.Config.VCenters, finder.Find, o)
	w.changed = w.fleet.Subscribe()
	w.shown = &shown{Fleet: w.fleet}
	p := provider.New(w.shown, w.Config, provider.Options{})
	// The factory is never started: the Nodes were listed.
	p.SetInformers(informers.NewSharedInformerFactory(nil, 0))
	w.Placer = p.Store().Placer()
	w.Cache = p.Store().Cache()
	w.Checker = p.Checker()
	if w.wanted = f.Follow; w.wanted == nil {
		w.wanted = func(w *World) []inventory.Identity { return w.Statements(w.Nodes) }
	}
	fill(w.Cache, w.Nodes)
	w.followed = w.wanted(w)
	w.fleet.Follow(w.followed)
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		// The only error is that of the context.
		_ = w.fleet.Run(ctx)
	}()
}

// Statements returns what Nodes say of their machines, without those that are not ours or say
// nothing.
func (w *World) Statements(nodes []*v1.Node) []inventory.Identity { return statements(w.Placer, nodes) }

func statements(p *placement.Placer, nodes []*v1.Node) []inventory.Identity {
	var all []inventory.Identity
	for _, n := range nodes {
		if p.IsForeign(n) {
			continue
		}
		if id, err := p.Statement(n); err == nil {
			all = append(all, id)
		}
	}
	return all
}

// moreTime bounds how long more machines are waited for: a machine that its vCenter does not let be
// followed never comes.
const moreTime = 5 * time.Second

// FollowAlso has more machines read, and returns once they were.
func (w *World) FollowAlso(ctx context.Context, ids []inventory.Identity) error {
	if len(ids) == 0 {
		return nil
	}
	w.followed = append(w.followed, ids...)
	w.fleet.Follow(w.followed)
	return w.await(ctx, time.Now().Add(moreTime))
}

// detailsTime returns how long details of machines are waited for since the last ones came, if
// everything else was read: those of one that its vCenter does not let be followed never come, and
// those of thousands take a while to begin.
func (w *World) detailsTime() time.Duration { return max(10*time.Second, w.timeout/3) }

// await waits until each vCenter was read or has failed. A vCenter that is not read at the deadline
// has failed.
func (w *World) await(ctx context.Context, deadline time.Time) error {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	var enough <-chan time.Time // fires when no further details have come for a while
	lacking := 0                // the number of machines without details when enough was set
	for {
		states := w.fleet.States()
		if w.isRead(states, true) {
			w.show(states)
			return nil
		}
		if now := w.lacking(states); enough == nil || now < lacking {
			enough = time.After(w.detailsTime())
			lacking = now
		}
		select {
		case <-w.changed:
		case <-enough:
			if states = w.fleet.States(); w.isRead(states, false) {
				w.show(states)
				return nil
			}
			enough = nil
		case <-late.C:
			w.show(w.late(w.fleet.States()))
			return nil
		case <-ctx.Done():
			return fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		}
	}
}

// show makes these the states of the World.
func (w *World) show(states []inventory.State) {
	// No caller can change the states of the placer.
	w.States = slices.Clone(states)
	w.shown.states.Store(&states)
	w.claims = claimsIn(w.Placer, w.Config, w.States, w.Nodes)
}

// Health returns the health of each vCenter now.
func (w *World) Health() []vcenter.Health { return w.fleet.Health() }

// Within returns a context for requests to vCenters after Open: it ends with --timeout, which began
// when the vCenters were first connected to. If one of them took all of that, the others have a quarter
// of it.
func (w *World) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, w.until)
}

// Survey reads more of each vCenter that was read, all side by side, in the order of States. It takes
// no longer than what is left of --timeout, see Within.
func (w *World) Survey(ctx context.Context, q SurveyQuery) []Survey {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return readSurveys(ctx, w.fleet.Sessions(), w.needs, q)
}

// SearchOutside looks for a machine beyond the configured datacenters, as the daemon does before it
// says that there is none. See vcenter.Fleet.
func (w *World) SearchOutside(ctx context.Context, id inventory.Identity) error {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return w.fleet.SearchOutside(ctx, id)
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
