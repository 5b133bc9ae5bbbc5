// Package election decides whether this process leads: it takes part in the election for
// the Lease, releases it at the end, and keeps writes to Nodes behind a fence as long as
// another instance may lead. It never reads or writes a Node itself.
package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	appconfig "k8s.io/cloud-provider/app/config"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
)

// RetryPeriod is the time between two attempts to take or renew the Lease. A standby looks at
// the Lease after one to 2.2 times this period, so it leads within 2 s of a release.
const RetryPeriod = 750 * time.Millisecond

const (
	// releaseTimeout bounds the release of the Lease at the end. An API server that
	// does not answer leaves it to expire.
	releaseTimeout = 700 * time.Millisecond
	// WatchdogTime is the time after the end of the Lease at which /healthz of a leader that
	// could not renew it fails. It is the framework's.
	WatchdogTime = 20 * time.Second
)

// waitsToLead is the message in the log of an instance that sees another leader.
const waitsToLead = "Waiting to lead: another instance holds the Lease"

// ErrLost means that another instance may lead from now on.
var ErrLost = errors.New("the Lease is lost: another instance leads, or the API server has not answered in time; this process ends, to be started again")

// An Election decides whether this process leads. The framework's own keeps the Lease when the
// process ends, so that no instance leads until it has expired.
type Election struct {
	elector *leaderelection.LeaderElector
	lock    resourcelock.Interface
	// The elector closes leading when this process leads and ended when it has ended itself.
	// Release closes released.
	leading, released, ended chan struct{}
	// end is called when it has ended.
	end func()
	// began is true once Run was called.
	began atomic.Bool
	// isOver is true once Release was called or the Lease is lost.
	isOver atomic.Bool
}

// NewLock returns the Lease, and a function that ends the recording of its Events.
func NewLock(ctx context.Context, c *appconfig.CompletedConfig) (resourcelock.Interface, func(), error) {
	cfg := &c.ComponentConfig.Generic.LeaderElection
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("naming this candidate for the Lease: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.Kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for the Events of the Lease: %w", err)
	}
	events := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	lock, err := resourcelock.NewFromKubeconfig(cfg.ResourceLock, cfg.ResourceNamespace, cfg.ResourceName, resourcelock.ResourceLockConfig{
		// The form is the framework's.
		Identity:      host + "_" + string(uuid.NewUUID()),
		EventRecorder: events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "cloud-controller-manager"}),
	}, c.Kubeconfig, cfg.RenewDeadline.Duration)
	if err != nil {
		events.Shutdown()
		return nil, nil, fmt.Errorf("making the Lease %s/%s: %w", cfg.ResourceNamespace, cfg.ResourceName, err)
	}
	events.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events(cfg.ResourceNamespace)})
	return lock, events.Shutdown, nil
}

// New prepares an election, and Run takes part in it. End is called when the election has ended, and
// lost if it ended without Release. The watchdog fails while this process leads and has not renewed the
// Lease for too long.
func New(ctx context.Context, lock resourcelock.Interface, end func(), cfg *componentbaseconfig.LeaderElectionConfiguration, watchdog *leaderelection.HealthzAdaptor, lost func()) (*Election, error) {
	e := &Election{lock: lock, leading: make(chan struct{}), released: make(chan struct{}), ended: make(chan struct{}), end: end}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: cfg.LeaseDuration.Duration,
		RenewDeadline: cfg.RenewDeadline.Duration,
		RetryPeriod:   cfg.RetryPeriod.Duration,
		Name:          cfg.ResourceName,
		WatchDog:      watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(e.leading) },
			OnNewLeader: func(holder string) {
				if holder != "" && holder != lock.Identity() {
					klog.FromContext(ctx).Info(waitsToLead, "holder", quote.Plain(holder))
				}
			},
			OnStoppedLeading: func() {
				if !e.isOver.Swap(true) {
					lost()
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e.elector = elector
	watchdog.SetLeaderElection(elector)
	return e, nil
}

// Leading is closed when this process leads.
func (e *Election) Leading() <-chan struct{} { return e.leading }

// Run takes part in the election until the Lease is lost or Release is called, also after the
// context is done: the Lease is renewed until all else has ended.
func (e *Election) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.began.Store(true)
	go func() {
		defer cancel()
		select {
		case <-e.released:
		case <-e.ended:
		}
	}()
	go func() {
		defer close(e.ended)
		defer e.end()
		e.elector.Run(ctx)
		select {
		case <-e.released:
			e.giveUp(context.WithoutCancel(ctx))
		default: // the Lease is lost
		}
	}()
}

// giveUp removes this process as the holder of the Lease. The elector could do that, but it would
// also do it when it cannot renew the Lease, before it reports the loss: while the API server does
// not answer, another instance may lead by then.
func (e *Election) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for {
		held, _, err := e.lock.Get(ctx)
		if err == nil && held.HolderIdentity == e.lock.Identity() {
			now := metav1.Now()
			err = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
				LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
			})
		}
		if apierrors.IsConflict(err) {
			// A renewal was in flight.
			continue
		}
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "Cannot release the Lease", "lock", e.lock.Describe())
		}
		return
	}
}

// Release gives the Lease up if this process holds it, so that another instance leads at once. The
// caller has ended everything that the Lease protects. If the Lease is lost or Run was never called,
// Release does nothing.
func (e *Election) Release(ctx context.Context) {
	if isLost := e.isOver.Swap(true); isLost || !e.began.Load() {
		return
	}
	close(e.released)
	select {
	case <-e.ended:
	case <-time.After(releaseTimeout):
		klog.FromContext(ctx).Info("The Lease is not released, since the API server does not answer; the next instance leads when it has expired", "waited", releaseTimeout)
	}
}
