// Package election runs the leader election, releases the Lease at the end, and fences writes to Nodes
// while another instance may lead.
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

// RetryPeriod is the interval between attempts to take or renew the Lease. A standby retries after at most 2.2
// times this interval, so it leads within 2 s of a release.
const RetryPeriod = 750 * time.Millisecond

const (
	releaseTimeout = 700 * time.Millisecond
	// WatchdogTime is the time from the end of an unrenewed Lease until /healthz fails, as in the framework.
	WatchdogTime = 20 * time.Second
)

const waitsToLead = "Waiting to lead: another instance holds the Lease"

// ErrLost means that another instance may lead.
var ErrLost = errors.New("lost the Lease: another instance leads, or the API server did not answer in time; exiting to be restarted")

// An Election decides whether this process leads. The framework's own election keeps the Lease when the
// process ends, so that no instance leads until the Lease has expired.
type Election struct {
	elector *leaderelection.LeaderElector
	lock    resourcelock.Interface
	// The elector closes leading when this process leads, and ended when it ends. Release closes released.
	leading, released, ended chan struct{}
	end                      func()
	began                    atomic.Bool
	// isOver means that Release was called or the Lease is lost.
	isOver atomic.Bool
}

// newIdentity returns the name of the Pod or else of the host, and a random part. With the host's network, another
// manager on the Node has the same host name.
func newIdentity() (string, error) {
	name := os.Getenv("POD_NAME")
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("getting the host name of this candidate: %w", err)
		}
		name = host
	}
	return name + "_" + string(uuid.NewUUID()), nil
}

// NewLock returns the Lease, and a function that stops its Event recorder.
func NewLock(ctx context.Context, c *appconfig.CompletedConfig) (resourcelock.Interface, func(), error) {
	cfg := &c.ComponentConfig.Generic.LeaderElection
	id, err := newIdentity()
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(c.Kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for the Events of the Lease: %w", err)
	}
	events := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	lock, err := resourcelock.NewFromKubeconfig(cfg.ResourceLock, cfg.ResourceNamespace, cfg.ResourceName, resourcelock.ResourceLockConfig{
		Identity:      id,
		EventRecorder: events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "cloud-controller-manager"}),
	}, c.Kubeconfig, cfg.RenewDeadline.Duration)
	if err != nil {
		events.Shutdown()
		return nil, nil, fmt.Errorf("creating the lock of Lease %s/%s: %w", cfg.ResourceNamespace, cfg.ResourceName, err)
	}
	events.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events(cfg.ResourceNamespace)})
	return lock, events.Shutdown, nil
}

// New returns an election for Run. The election calls end when it is over, and lost if it ends without Release.
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

// Leading returns a channel that is closed when this process leads.
func (e *Election) Leading() <-chan struct{} { return e.leading }

// Run takes part in the election until the Lease is lost or Release is called. It ignores the end of
// the context, so that the Lease is renewed during the shutdown.
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
		default:
		}
	}()
}

// giveUp removes this process as the holder of the Lease. The elector's own release would also follow a failed
// renewal, when another instance may already lead.
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
			continue
		}
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "Cannot release the Lease", "lock", e.lock.Describe())
		}
		return
	}
}

// Release gives up the Lease if this process holds it. Everything that the Lease protects must have ended.
func (e *Election) Release(ctx context.Context) {
	if isLost := e.isOver.Swap(true); isLost || !e.began.Load() {
		return
	}
	close(e.released)
	select {
	case <-e.ended:
	case <-time.After(releaseTimeout):
		klog.FromContext(ctx).Info("The Lease was not released, because the API server does not answer; another instance leads once it expires", "waited", releaseTimeout)
	}
}
