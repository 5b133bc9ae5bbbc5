package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"vzones/provider/keys"
	"vzones/provider/placement"
)

const (
	// annotationsPerSecond keeps the annotations of many new Nodes from delaying their
	// initialization.
	annotationsPerSecond = 20
	annotationTimeout    = 10 * time.Second
	// annotationRetryMin and annotationRetryMax bound the delay after one that failed.
	annotationRetryMin, annotationRetryMax = time.Second, 5 * time.Minute
	// annotateAgain is longer than a Node takes to show what was written.
	annotateAgain = 30 * time.Second
)

// annotator writes onto Nodes where their machines were found, so that a restart
// does not forget it: a machine whose configuration cannot be read has no UUID.
type annotator struct {
	nodes  typedv1.NodeInterface
	limit  *rate.Limiter
	delays workqueue.TypedRateLimiter[types.UID]

	mu      sync.Mutex
	written map[types.UID]annotation
}

// annotation is what was written last, or refused for good, and from when on it is written
// again.
type annotation struct {
	location placement.Location
	next     time.Time
}

func newAnnotator(nodes typedv1.NodeInterface) *annotator {
	return &annotator{
		nodes:   nodes,
		limit:   rate.NewLimiter(annotationsPerSecond, 1),
		delays:  workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](annotationRetryMin, annotationRetryMax),
		written: map[types.UID]annotation{},
	}
}

// annotateLocation has a Node annotated with the location of its machine, if that is to be
// written. One that was written a while ago and is not there has been taken off.
func (c *Controller) annotateLocation(ctx context.Context, n *v1.Node, s *state, to placement.Location) time.Duration {
	if to == (placement.Location{}) {
		s.annotation.done()
		return 0
	}
	// In this order: what a request that has just ended has written is known.
	if wait := c.writes.pause(n.UID); wait > 0 {
		return wait
	}
	if wait := c.annotate.pause(n.UID, to); wait > 0 {
		return wait
	}
	if c.busy.is() {
		return busyTime
	}
	if wait := c.untilAddresses(n.UID); wait > 0 {
		return wait
	}
	if wait := s.annotation.wait(c.annotate.limit); wait > 0 {
		return wait
	}
	s.annotation.done()
	c.writes.start(n.UID, func() {
		err := c.annotate.write(ctx, n, to)
		if ctx.Err() == nil {
			c.annotate.finish(ctx, n, to, err)
		}
	}, func() { c.queue.Add(itemOf(n)) })
	return 0
}

// noteInitialized notes that the framework has initialized a Node.
func (c *Controller) noteInitialized(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateLocked(uid).initialized = time.Now()
}

// untilAddresses returns how long the framework may take for the addresses of a Node, which it
// writes after it has initialized it.
func (c *Controller) untilAddresses(uid types.UID) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(time.Until(c.stateLocked(uid).initialized.Add(gather)), 0)
}

// pause returns how long a location must not be written, which is not at all if it is
// another one than was written last.
func (a *annotator) pause(node types.UID, to placement.Location) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.written[node]
	if !ok || last.location != to {
		return 0
	}
	return max(time.Until(last.next), 0)
}

func (a *annotator) forget(node types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, node)
	a.delays.Forget(node)
}

// finish notes the result of a write.
func (a *annotator) finish(ctx context.Context, n *v1.Node, to placement.Location, err error) {
	delay := annotateAgain
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		a.delays.Forget(n.UID) // or the Node is gone, and one of that name has another UID
	} else {
		klog.FromContext(ctx).Error(err, "Cannot note on the Node where its machine is; it is tried again", "node", klog.KObj(n))
		delay = a.delays.When(n.UID)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[n.UID] = annotation{to, time.Now().Add(delay)}
}

// write patches nothing but the annotations, on no other Node of that name.
func (a *annotator) write(ctx context.Context, n *v1.Node, to placement.Location) error {
	annotations := map[string]string{keys.Machine: to.Machine}
	if to.VCenter != "" {
		annotations[keys.VCenter] = to.VCenter
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding the annotations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, annotationTimeout)
	defer cancel()
	_, err = a.nodes.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
