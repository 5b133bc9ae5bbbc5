// Package world reads the input of the tool's commands: the configuration, which may be a running
// daemon's, the Nodes, and all vCenters once. It defines the flags for these sources.
//
// It uses the daemon's packages to read vCenters and to place Nodes, so its answers match the daemon's.
// It writes nothing.
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

	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
	"vzones/cmd/vzones/recording"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider"
	"vzones/provider/framework"
	"vzones/provider/placement"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// World contains everything that was read. The caller must call Close.
type World struct {
	Source string
	Config *config.Config
	// Daemon is nil if the configuration is a file or a recording.
	Daemon *Daemon
	// Recording is nil without --recording.
	Recording *recording.About
	// Client and RESTConfig are nil without a cluster.
	Client     kubernetes.Interface
	RESTConfig *rest.Config
	// Cluster names the Kubernetes cluster: the context or cluster of the kubeconfig, or the API
	// server's address. It is empty without a cluster.
	Cluster string
	// NoNodes is the reason that the Nodes were not listed, or nil.
	NoNodes error
	// Nodes are sorted by name.
	Nodes []*v1.Node
	// States are in the order of the configuration. Each has a snapshot or an error.
	States []inventory.State
	// Placer and Checker use the States, which only FollowAlso changes after Open.
	Placer  *placement.Placer
	Checker *placement.Checker
	Cache   *framework.Cache

	selector labels.Selector
	isLive   bool
	fleetRun
	claims claims
	// replay is nil without --recording.
	replay *replay
}

type fleetRun struct {
	// wanted returns the VMs to read in detail, and followed is its result.
	wanted   func(*World) []inventory.Identity
	followed []inventory.Identity

	needs   vcenter.Requirements
	timeout time.Duration
	// deadline applies to requests after Open.
	deadline time.Time
	fleet    *vcenter.Fleet
	frozen   *frozenFleet
	changed  <-chan struct{}
	cancel   context.CancelFunc
	ended    chan struct{}
}

// frozenFleet is a fleet with fixed states, so that all answers of a World are consistent.
type frozenFleet struct {
	*vcenter.Fleet
	states atomic.Pointer[[]inventory.State]
}

func (s *frozenFleet) States() []inventory.State {
	if states := s.states.Load(); states != nil {
		return *states
	}
	return nil
}

// Open reads the configuration and the Nodes, connects to all vCenters, and returns once each was read
// or has failed. The error of a vCenter is in its State. The servers that receive a daemon's credentials
// are printed on standard error.
//
// Each vCenter receives each password once: the daemon uses the same account, and repeated failures
// would lock it.
func Open(ctx context.Context, f *Flags) (opened *World, err error) {
	selector, err := f.check()
	if err != nil {
		return nil, err
	}
	ctx = f.withLog(ctx)
	w := &World{selector: selector, fleetRun: fleetRun{timeout: f.Timeout}}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if f.Recording != "" {
		f, err = w.startReplay(ctx, f)
	} else {
		err = w.connect(f)
	}
	if err != nil {
		return nil, err
	}
	finder, err := w.readConfig(ctx, f)
	if err != nil {
		return nil, err
	}
	if w.Recording != nil {
		w.Source = f.Recording
		for i := range w.Config.Warnings {
			// The file is temporary.
			w.Config.Warnings[i].File = f.Recording
			w.Config.Warnings[i].Line = 0
		}
	}
	if f.OnConfig != nil {
		f.OnConfig(w.Config)
	}
	if err := w.readNodes(ctx, f); err != nil {
		return nil, err
	}
	if f.OnNodes != nil {
		if err := f.OnNodes(w); err != nil {
			return nil, err
		}
	}
	if w.Daemon != nil {
		fmt.Fprintln(os.Stderr, announcement(w))
	}
	w.start(ctx, f, finder)
	deadline := time.Now().Add(f.Timeout)
	err = w.await(ctx, deadline)
	if w.deadline = time.Now().Add(f.Timeout / 4); w.deadline.Before(deadline) {
		w.deadline = deadline
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

func announcement(w *World) string {
	servers := make([]string, len(w.Config.VCenters))
	for i := range w.Config.VCenters {
		v := &w.Config.VCenters[i]
		servers[i] = fmt.Sprintf("%s (%s)", quote.Name(v.Name), quote.Plain(v.Server))
	}
	return fmt.Sprintf("%s; the credentials are sent to %s", w.Source, strings.Join(servers, ", "))
}

// minRequestTimeout is the daemon's request timeout.
const minRequestTimeout = 15 * time.Second

// options are the options of the fleet. Failed requests are not retried, so each may take a third of
// --timeout. A login may take all of it: an abandoned login leaves a session in the vCenter, whereas
// Close waits for a running login and logs out.
func (f *Flags) options() vcenter.Options {
	return vcenter.Options{
		LoginTimeout: max(minRequestTimeout, f.Timeout), Timeout: max(minRequestTimeout, f.Timeout/3), TagRefresh: time.Hour,
		RetryMin: session.Never, RetryMax: session.Never,
		LoginLimits: session.LoginLimits{
			Failures: 1, Queue: true, RejectedMin: session.Never, RejectedMax: session.Never, UnansweredMin: session.Never, UnansweredMax: session.Never,
		},
	}
}

func (w *World) start(ctx context.Context, f *Flags, finder *settings.CredentialFinder) {
	o := f.options()
	w.needs = vcenter.RequirementsOf(w.Config)
	o.Requirements = w.needs
	w.fleet = vcenter.NewFleet(w.Config.VCenters, finder.Find, o)
	w.changed = w.fleet.Subscribe()
	w.frozen = &frozenFleet{Fleet: w.fleet}
	p := provider.New(w.frozen, w.Config, provider.Options{})
	// The factory is never started, because the Nodes are already listed.
	p.SetInformers(informers.NewSharedInformerFactory(nil, 0))
	w.Placer = p.Store().Placer()
	w.Cache = p.Store().Cache()
	w.Checker = p.Checker()
	if w.wanted = f.Follow; w.wanted == nil {
		w.wanted = func(w *World) []inventory.Identity { return w.ReportedIdentities(w.Nodes) }
	}
	fillCache(w.Cache, w.Nodes)
	w.followed = w.wanted(w)
	w.fleet.Follow(w.followed)
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		// The error is always the context's.
		_ = w.fleet.Run(ctx)
	}()
}

// ReportedIdentities returns the identities that Nodes report. It skips foreign Nodes and Nodes without a
// valid identity.
func (w *World) ReportedIdentities(nodes []*v1.Node) []inventory.Identity {
	return reportedIdentities(w.Placer, nodes)
}

func reportedIdentities(p *placement.Placer, nodes []*v1.Node) []inventory.Identity {
	var identities []inventory.Identity
	for _, n := range nodes {
		if p.IsForeign(n) {
			continue
		}
		if id, err := p.ReportedIdentity(n); err == nil {
			identities = append(identities, id)
		}
	}
	return identities
}

// followTimeout limits waiting for additional VMs: a VM that the account may not watch is never read.
const followTimeout = 5 * time.Second

// FollowAlso reads more VMs in detail.
func (w *World) FollowAlso(ctx context.Context, ids []inventory.Identity) error {
	if len(ids) == 0 {
		return nil
	}
	w.followed = append(w.followed, ids...)
	w.fleet.Follow(w.followed)
	return w.await(ctx, time.Now().Add(followTimeout))
}

// detailsTimeout limits waiting for further details of VMs after everything else was read. The account
// may not be allowed to watch some VMs, and watching thousands of VMs takes a while to begin.
func (w *World) detailsTimeout() time.Duration { return max(10*time.Second, w.timeout/3) }

// await waits until each vCenter was read or has failed. At the deadline the remaining vCenters fail.
func (w *World) await(ctx context.Context, deadline time.Time) error {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	var enough <-chan time.Time // Fires if no further details arrive for detailsTimeout.
	lacking := 0                // The number of VMs without details when enough was set.
	for {
		states := w.fleet.States()
		if w.isRead(states, true) {
			w.freeze(states)
			return nil
		}
		if missing := w.pendingDetails(states); enough == nil || missing < lacking {
			enough = time.After(w.detailsTimeout())
			lacking = missing
		}
		select {
		case <-w.changed:
		case <-enough:
			if states = w.fleet.States(); w.isRead(states, false) {
				w.freeze(states)
				return nil
			}
			enough = nil
		case <-late.C:
			w.freeze(w.failUnread(w.fleet.States()))
			return nil
		case <-ctx.Done():
			return fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		}
	}
}

func (w *World) freeze(states []inventory.State) {
	// The copy protects the placer's states from callers.
	w.States = slices.Clone(states)
	w.frozen.states.Store(&states)
	w.claims = claimsIn(w.Placer, w.Config, w.States, w.Nodes)
}

// Health returns the current health of each vCenter.
func (w *World) Health() []vcenter.Health { return w.fleet.Health() }

// Within returns a context for requests after Open. It ends with Open's --timeout, or a quarter of
// --timeout after Open if that is later.
func (w *World) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, w.deadline)
}

// Survey surveys all vCenters concurrently. The results are in the order of States.
func (w *World) Survey(ctx context.Context, q SurveyQuery) []Survey {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return readSurveys(ctx, w.fleet.Sessions(), w.needs, q)
}

// SearchOutside searches for a VM outside the configured datacenters, see vcenter.Fleet.
func (w *World) SearchOutside(ctx context.Context, id inventory.Identity) error {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return w.fleet.SearchOutside(ctx, id)
}

// Close logs out of all vCenters within 3 s and waits for all goroutines. It is idempotent.
func (w *World) Close() {
	if w == nil {
		return
	}
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
	if w.replay != nil {
		w.replay.close()
		w.replay = nil
	}
}

// Sessions returns the sessions in the order of States. The World owns them.
func (w *World) Sessions() []vcenter.OpenSession { return w.fleet.Sessions() }
