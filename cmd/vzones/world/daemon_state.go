package world

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/internal/quote"
)

// DaemonState is the state of a daemon in the cluster. It is immutable.
type DaemonState struct {
	// Desired is the number of Pods that the workload should have, and Ready the number of ready Pods.
	Desired, Ready int
	// Pods are sorted by name.
	Pods []DaemonPod
	// Lease is nil if the daemon uses none, if it was not read or if HasLease is false.
	Lease *Lease
	// HasLease is false if the Lease does not exist.
	HasLease bool
	// Missing are the permissions that the ServiceAccount lacks.
	Missing []Permission
	// Reviewed is the number of reviewed permissions.
	Reviewed int
	// Events are Warnings about the daemon's workload and Pods, the newest first. Those that the daemon recorded about a
	// Pod are omitted if it recorded their end or has started since.
	Events []v1.Event
	// NodeEvents are the daemon's newest Warnings about Nodes, by the Node's name.
	NodeEvents map[string]v1.Event
	// Neighbors are other cloud controller managers, sorted by workload.
	Neighbors []Neighbor
	// IsElsewhere reports whether the daemon uses a kubeconfig. Its Lease and permissions may be in another cluster then.
	IsElsewhere bool
	// Unread are the reasons that parts were not read.
	Unread []error
}

// DaemonPod is a Pod of the daemon.
type DaemonPod struct {
	*v1.Pod
	// Status is the status of the daemon's container, or zero.
	Status v1.ContainerStatus
	// LastMessage is the termination message of the container's previous run or the last error in its log, or "".
	LastMessage string
}

// IsReady reports whether the container is ready.
func (p *DaemonPod) IsReady() bool { return p.Status.Ready }

// Lease is the Lease of the leader election.
type Lease struct {
	Namespace, Name string
	// Holder is empty if the Lease was released.
	Holder string
	// Age is the time since the last renewal, and Duration the time after which another instance may take the Lease.
	Age, Duration time.Duration
	// IsHeld reports whether the Lease has a holder that renews it.
	IsHeld bool
	// IsOwn reports whether the holder is a Pod of the daemon.
	IsOwn bool
}

// leaseWait limits waiting for a renewal or a new holder. It exceeds the default interval of renewals and the time
// without a leader in a rollout.
const leaseWait = 5 * time.Second

// ReadDaemonState reads the state of the World's daemon. It writes nothing, but creates SubjectAccessReviews.
func (w *World) ReadDaemonState(ctx context.Context) *DaemonState {
	ctx, cancel := w.Within(ctx)
	defer cancel()
	return w.Daemon.readState(ctx, w.Config, leaseWait)
}

func (d *Daemon) readState(ctx context.Context, cfg *config.Config, wait time.Duration) *DaemonState {
	s := &DaemonState{}
	var mu sync.Mutex
	unread := func(part string, err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			s.Unread = append(s.Unread, fmt.Errorf("%s: %w", part, err))
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { unread("the "+d.workload.kind, d.readWorkload(ctx, s)) })
	wg.Go(func() { unread("Events", d.readEvents(ctx, s)) })
	for _, p := range d.pods {
		s.Pods = append(s.Pods, DaemonPod{Pod: p})
	}
	slices.SortFunc(s.Pods, func(a, b DaemonPod) int { return strings.Compare(a.Name, b.Name) })
	for i := range s.Pods {
		wg.Go(func() { d.readPod(ctx, &s.Pods[i]) })
	}
	if s.IsElsewhere = d.Kubeconfig != ""; !s.IsElsewhere {
		wg.Go(func() { unread("the Lease", d.readLease(ctx, s, wait)) })
		wg.Go(func() { unread("permissions", d.review(ctx, s, Permissions(cfg, d.CommandLine, d.Namespace))) })
		wg.Go(func() { unread("Events of Nodes", d.readNodeEvents(ctx, s)) })
		wg.Go(func() { unread("other cloud controller managers", d.readNeighbors(ctx, s)) })
	}
	wg.Wait()
	for i := range s.Pods {
		if s.Pods[i].IsReady() {
			s.Ready++
		}
	}
	slices.SortFunc(s.Unread, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s
}

// readWorkload sets Desired. The number of Pods replaces it if the workload may not be read.
func (d *Daemon) readWorkload(ctx context.Context, s *DaemonState) error {
	s.Desired = len(d.pods)
	switch d.workload.kind {
	case kindDaemonSet:
		o, err := d.client.AppsV1().DaemonSets(d.Namespace).Get(ctx, d.workload.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.Desired = int(o.Status.DesiredNumberScheduled)
		if o.Status.ObservedGeneration < o.Generation {
			s.Desired = max(s.Desired, len(d.pods)) // The DaemonSet is new.
		}
	case kindDeployment:
		o, err := d.client.AppsV1().Deployments(d.Namespace).Get(ctx, d.workload.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.Desired = 1
		if o.Spec.Replicas != nil {
			s.Desired = int(*o.Spec.Replicas)
		}
	}
	return nil
}

// The end of a log that is read.
const (
	maxLogLines = 50
	maxLogBytes = 64 << 10
)

// readPod sets Status and LastMessage. If the log may not be read, LastMessage is only the termination message.
func (d *Daemon) readPod(ctx context.Context, p *DaemonPod) {
	i := slices.IndexFunc(p.Pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.Name == containerOf(p.Pod).Name })
	if i < 0 {
		return
	}
	p.Status = p.Pod.Status.ContainerStatuses[i]
	ended := cmp.Or(p.Status.State.Terminated, p.Status.LastTerminationState.Terminated)
	if ended != nil {
		p.LastMessage = lastError(strings.NewReader(ended.Message))
	}
	if p.IsReady() || p.LastMessage != "" || p.Status.RestartCount == 0 {
		return
	}
	lines := int64(maxLogLines)
	limit := int64(maxLogBytes)
	log, err := d.client.CoreV1().Pods(d.Namespace).GetLogs(p.Name, &v1.PodLogOptions{
		Container: p.Status.Name, Previous: true, TailLines: &lines, LimitBytes: &limit,
	}).Stream(ctx)
	if err != nil {
		return
	}
	defer log.Close()
	p.LastMessage = lastError(io.LimitReader(log, maxLogBytes))
}

// lastError returns the last line of a log that begins with "Error: " or klog's prefix of an error, or else its last line.
func lastError(log io.Reader) string {
	last := ""
	lastFailure := ""
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		last = line
		isKlog := len(line) > 5 && (line[0] == 'E' || line[0] == 'F') && line[5] == ' ' && strings.Trim(line[1:5], "0123456789") == ""
		if isKlog || strings.HasPrefix(line, "Error: ") {
			lastFailure = line
			if _, text, found := strings.Cut(line, "] "); isKlog && found {
				lastFailure = text
			}
		}
	}
	return quote.Line(cmp.Or(lastFailure, last))
}

// readLease waits for a renewal or a holder if the Lease seems to have none, because the clocks of this host and of the
// holder may differ, and because a Pod releases the Lease when it ends.
func (d *Daemon) readLease(ctx context.Context, s *DaemonState, wait time.Duration) error {
	if !d.LeaderElect {
		return nil
	}
	get := func() (*coordinationv1.Lease, error) {
		o, err := d.client.CoordinationV1().Leases(d.LeaseNamespace).Get(ctx, d.LeaseName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return o, err
	}
	first, err := get()
	if err != nil {
		return err
	}
	current := first
	if len(d.pods) == 0 {
		wait = 0 // No Pod can renew it.
	}
	deadline := time.Now().Add(wait)
	for !isHeld(first, current) && time.Now().Before(deadline) {
		select {
		case <-time.After(wait / 10):
		case <-ctx.Done():
			return ctx.Err()
		}
		if current, err = get(); err != nil {
			return err
		}
	}
	s.HasLease = current != nil
	if current == nil {
		return nil
	}
	l := &Lease{Namespace: d.LeaseNamespace, Name: d.LeaseName, Duration: durationOf(current), IsHeld: isHeld(first, current)}
	if holder := current.Spec.HolderIdentity; holder != nil {
		l.Holder = *holder
	}
	if renewed := current.Spec.RenewTime; renewed != nil {
		l.Age = time.Since(renewed.Time)
	}
	l.IsOwn = slices.ContainsFunc(d.pods, func(p *v1.Pod) bool { return holds(l, p) })
	s.Lease = l
	return nil
}

// isHeld reports whether a Lease has a holder that renews it: within the Lease's duration, or between two reads.
func isHeld(first, current *coordinationv1.Lease) bool {
	if current == nil || current.Spec.HolderIdentity == nil || *current.Spec.HolderIdentity == "" || current.Spec.RenewTime == nil {
		return false
	}
	isRenewed := first != nil && first.Spec.RenewTime != nil && !first.Spec.RenewTime.Equal(current.Spec.RenewTime)
	return isRenewed || time.Now().Before(current.Spec.RenewTime.Add(durationOf(current)))
}

func durationOf(l *coordinationv1.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}

// holds reports whether a Pod may be the holder of a Lease. The holder consists of the name of the Pod, or of its host if the
// Pod does not know its name, and a random part. The host's name may differ from the Node's.
func holds(l *Lease, p *v1.Pod) bool {
	holder, _, _ := strings.Cut(l.Holder, "_")
	if holder == p.Name {
		return true
	}
	knowsName := slices.ContainsFunc(containerOf(p).Env, func(e v1.EnvVar) bool { return e.Name == "POD_NAME" })
	return holder != "" && !knowsName && p.Spec.HostNetwork
}

// maxReviews is the number of concurrent reviews.
const maxReviews = 5

// review sets Missing.
func (d *Daemon) review(ctx context.Context, s *DaemonState, permissions []Permission) error {
	allowed := make([]bool, len(permissions))
	errs := make([]error, len(permissions))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxReviews)
	for i := range permissions {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			review, err := d.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:" + d.Namespace + ":" + d.ServiceAccount(),
					Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + d.Namespace, "system:authenticated"},
					ResourceAttributes: permissions[i].attributes(),
				},
			}, metav1.CreateOptions{})
			errs[i] = err
			allowed[i] = err == nil && review.Status.Allowed
		})
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	s.Reviewed = len(permissions)
	for i := range permissions {
		if !allowed[i] {
			s.Missing = append(s.Missing, permissions[i])
		}
	}
	return nil
}
