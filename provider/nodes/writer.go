package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"vzones/provider/nodeinfo"
)

const (
	// patchesPerSecond bounds what the patches of one kind to the Nodes of a large cluster cost the
	// API server.
	patchesPerSecond = 20
	patchTimeout     = 10 * time.Second
	// patchPause is the delay after which a Node that is being patched is decided about again.
	patchPause = time.Second
	// conflictDelay is the delay after a conflict with another writer. It does not grow, because a
	// frequent writer would starve us.
	conflictDelay = 200 * time.Millisecond
	// patchAgain is the delay before the same patch is sent again. The informer shows a patch sooner.
	patchAgain = 30 * time.Second
)

// retries are the delays after patches that fail.
var retries = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Steps: 11, Cap: 5 * time.Minute}

// patch is one write to a Node.
type patch struct {
	// about names in the log what is written. The body has the Node's UID, so that another Node of the same
	// name is not patched.
	about string
	kind  types.PatchType
	body  map[string]any
	// content is the same for patches that write the same. It is the encoded body, if empty.
	content      string
	subresources []string
	// written is called when it is written, unless it is nil.
	written func()
}

// patches has the state of the patches of one kind to a Node.
type patches struct {
	slot slot
	// content is that of the last patch, at when it ended, next when the same is sent again, and
	// retries the delays if the same fails.
	content  string
	at, next time.Time
	retries  wait.Backoff
}

// A writer sends patches of Nodes. A duration that a method returns is the time after which the method has to be called
// again, 0 for none.
type writer struct {
	client   kubernetes.Interface
	store    *Store
	limiters limiters
	enqueue  func(item)
	// requests waits for the requests to the API server that are under way.
	requests sync.WaitGroup
}

// annotate writes the location of a Node's machine into annotations if that has changed, and the label of
// initialized Nodes when the Node has its machine alone. It returns the time after which it has to be called
// again.
func (w *writer) annotate(ctx context.Context, n *v1.Node, r *record) time.Duration {
	to := map[string]any{"uid": n.UID}
	if len(r.decision.Annotations) > 0 {
		to["annotations"] = r.decision.Annotations
	}
	if r.decision.MachineErr == nil && n.Spec.ProviderID != "" && n.Labels[nodeinfo.KeyInitialized] == "" {
		to["labels"] = map[string]string{nodeinfo.KeyInitialized: "true"}
	}
	if len(to) == 1 {
		w.limiters.annotations.release(r)
		return 0
	}
	return w.send(ctx, n, r, &r.annotation, w.limiters.annotations, patch{
		about: "annotations", kind: types.MergePatchType, body: map[string]any{"metadata": to},
	})
}

// send sends a patch in a goroutine of its own, so that a slow API server delays no other Node. One patch of a
// Node is sent at a time. send returns the time after which it has to be called again. It returns 0 if it has
// started the patch, whose end enqueues the Node, or if the Node waits for a slot of the limiter, which enqueues it too.
func (w *writer) send(ctx context.Context, n *v1.Node, r *record, sent *patches, limited *limiter, p patch) time.Duration {
	body, err := json.Marshal(p.body)
	if err != nil {
		r.log(ctx).Error(err, "Cannot encode what is to be written to the Node", "node", klog.KObj(n))
		return patchAgain
	}
	content := cmp.Or(p.content, string(body))
	w.store.Lock()
	writing := r.writing
	again := time.Until(sent.next)
	same := sent.content == content
	w.store.Unlock()
	switch {
	case writing:
		return patchPause
	case same && again > 0:
		return again
	}
	if !limited.acquire(n, r) {
		return 0
	}
	w.store.Lock()
	r.writing = true
	w.store.Unlock()
	log := r.log(ctx)
	w.requests.Go(func() {
		limited, cancel := context.WithTimeout(ctx, patchTimeout)
		defer cancel()
		_, err := w.client.CoreV1().Nodes().Patch(limited, n.Name, p.kind, body, metav1.PatchOptions{}, p.subresources...)
		w.store.Lock()
		r.writing = false
		sent.ended(content, err)
		w.store.Unlock()
		switch {
		case err == nil && p.written != nil:
			p.written()
		case ctx.Err() != nil:
			return
		case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			err = fmt.Errorf("writing %s: %w", p.about, err)
			log.Error(err, "Cannot write to the Node; it is tried again", "node", klog.KObj(n))
		}
		w.enqueue(itemOf(n))
	})
	return 0
}

// ended notes that a patch has ended.
func (p *patches) ended(content string, err error) {
	if p.content != content {
		p.retries = retries
	}
	delay := patchAgain
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsInvalid(err): // there is no use in sending it again soon
		p.retries = retries
	case apierrors.IsConflict(err):
		delay = conflictDelay
	default:
		delay = p.retries.Step()
	}
	p.content = content
	p.at = time.Now()
	p.next = p.at.Add(delay)
}
