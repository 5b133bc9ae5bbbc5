package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"vzones/provider/keys"
)

const (
	// recordsPerSecond keeps the records of many new Nodes from delaying their
	// initialisation.
	recordsPerSecond = 20
	recordTimeout    = 10 * time.Second
	// rewriteAfter is longer than a Node takes to show what was written.
	rewriteAfter = 30 * time.Second
)

// records writes onto Nodes where their machines were found, so that a restart
// does not forget it: a machine whose configuration cannot be read has no UUID.
type records struct {
	nodes typedv1.NodeInterface
	queue workqueue.TypedRateLimitingInterface[types.UID]

	mu     sync.Mutex
	wanted map[types.UID]finding
	// written is when what is wanted was written, or refused for good.
	written map[types.UID]time.Time
}

// finding is what is to be written onto a Node.
type finding struct {
	node  string
	value string
	// vcenter is the vCenter's own UUID, empty if it does not tell.
	vcenter string
}

func newRecords(nodes typedv1.NodeInterface) *records {
	return &records{
		nodes: nodes,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](time.Second, 5*time.Minute)),
		wanted:  map[types.UID]finding{},
		written: map[types.UID]time.Time{},
	}
}

// want has a record written, instead of the one wanted before. It is called for
// as long as the Node does not show it: one that was written a while ago has been
// taken off.
func (r *records) want(uid types.UID, to finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, written := r.written[uid]
	if r.wanted[uid] == to && (!written || time.Since(at) < rewriteAfter) {
		return
	}
	r.wanted[uid] = to
	delete(r.written, uid)
	r.queue.Add(uid)
}

// forget ends what is wanted for a Node.
func (r *records) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.wanted, uid)
	delete(r.written, uid)
}

// done notes that what was wanted needs no more writing.
func (r *records) done(uid types.UID, what finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted[uid] == what {
		r.written[uid] = time.Now()
	}
}

// run writes records until the context is done.
func (r *records) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	pace := flowcontrol.NewTokenBucketRateLimiter(recordsPerSecond, 1)
	defer pace.Stop()
	for {
		uid, done := r.queue.Get()
		if done {
			return
		}
		if pace.Wait(ctx) == nil {
			r.next(ctx, uid)
		}
		r.queue.Done(uid)
	}
}

func (r *records) next(ctx context.Context, uid types.UID) {
	r.mu.Lock()
	to, ok := r.wanted[uid]
	r.mu.Unlock()
	if !ok {
		r.queue.Forget(uid)
		return
	}
	err := r.write(ctx, uid, to)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		r.queue.Forget(uid) // or the Node is gone, and one of that name has another UID
		r.done(uid, to)
		return
	}
	if ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot note on the Node where its machine is; it is tried again", "node", klog.KRef("", to.node))
		r.queue.AddRateLimited(uid)
	}
}

// write patches nothing but the annotations, on no other Node of that name.
func (r *records) write(ctx context.Context, uid types.UID, to finding) error {
	annotations := map[string]string{keys.Machine: to.value}
	if to.vcenter != "" {
		annotations[keys.VCenter] = to.vcenter
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding the annotations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	_, err = r.nodes.Patch(ctx, to.node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
