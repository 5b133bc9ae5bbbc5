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
	patchesPerSecond = 20
	patchTimeout     = 10 * time.Second
	busyDelay        = time.Second
	// conflictDelay does not grow, because then a frequent writer of the Node would starve us.
	conflictDelay = 200 * time.Millisecond
	// repeatDelay is the wait before an equal patch. By then, the informer usually shows the first result.
	repeatDelay = 30 * time.Second
)

var retries = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Steps: 11, Cap: 5 * time.Minute}

type patch struct {
	description string
	kind        types.PatchType
	// body contains the UID, so that no other Node of that name is patched.
	body map[string]any
	// content is equal for equal patches; the encoded body by default.
	content      string
	subresources []string
	written      func()
}

type patchState struct {
	slot slot
	// content is the last patch's content, retryAt the earliest time of an equal patch.
	content          string
	endedAt, retryAt time.Time
	retries          wait.Backoff
}

// A writer sends patches of Nodes. A returned duration is the delay until the next call, 0 for never.
type writer struct {
	client   kubernetes.Interface
	store    *Store
	limiters limiters
	enqueue  func(item)
	requests sync.WaitGroup
}

// annotate writes the VM's location, and KeyInitialized once the Node is known to be the VM's only Node.
func (w *writer) annotate(ctx context.Context, n *v1.Node, r *nodeRecord) time.Duration {
	metadata := map[string]any{"uid": n.UID}
	if len(r.decision.Annotations) > 0 {
		metadata["annotations"] = r.decision.Annotations
	}
	if r.decision.VMErr == nil && n.Spec.ProviderID != "" && n.Labels[nodeinfo.KeyInitialized] == "" {
		metadata["labels"] = map[string]string{nodeinfo.KeyInitialized: "true"}
	}
	if len(metadata) == 1 {
		w.limiters.annotations.release(r)
		return 0
	}
	return w.send(ctx, n, r, &r.annotationPatches, w.limiters.annotations, patch{
		description: "annotations", kind: types.MergePatchType, body: map[string]any{"metadata": metadata},
	})
}

// send does not wait, so that a slow API server delays no other Node. It returns 0 if the Node is requeued.
func (w *writer) send(ctx context.Context, n *v1.Node, r *nodeRecord, sent *patchState, limiter *limiter, p patch) time.Duration {
	body, err := json.Marshal(p.body)
	if err != nil {
		r.log(ctx).Error(err, "Cannot encode a patch of the Node", "node", klog.KObj(n))
		return repeatDelay
	}
	content := cmp.Or(p.content, string(body))
	w.store.Lock()
	isPatching := r.isPatching
	delay := time.Until(sent.retryAt)
	isSame := sent.content == content
	w.store.Unlock()
	switch {
	case isPatching:
		return busyDelay
	case isSame && delay > 0:
		return delay
	}
	if !limiter.acquire(n, r) {
		return 0
	}
	w.store.Lock()
	r.isPatching = true
	w.store.Unlock()
	log := r.log(ctx)
	w.requests.Go(func() {
		patchCtx, cancel := context.WithTimeout(ctx, patchTimeout)
		defer cancel()
		_, err := w.client.CoreV1().Nodes().Patch(patchCtx, n.Name, p.kind, body, metav1.PatchOptions{}, p.subresources...)
		w.store.Lock()
		r.isPatching = false
		sent.finish(content, err)
		w.store.Unlock()
		switch {
		case err == nil && p.written != nil:
			p.written()
		case ctx.Err() != nil:
			return
		case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			err = fmt.Errorf("writing %s: %w", p.description, err)
			log.Error(err, "Cannot write to the Node; retrying", "node", klog.KObj(n))
		}
		w.enqueue(itemOf(n))
	})
	return 0
}

func (p *patchState) finish(content string, err error) {
	if p.content != content {
		p.retries = retries
	}
	delay := repeatDelay
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		p.retries = retries
	case apierrors.IsConflict(err):
		delay = conflictDelay
	default:
		delay = p.retries.Step()
	}
	p.content = content
	p.endedAt = time.Now()
	p.retryAt = p.endedAt.Add(delay)
}
