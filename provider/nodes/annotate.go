package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/provider/identity"
	"vzones/provider/placement"
)

const (
	// annotationsPerSecond keeps the annotations of many new Nodes from delaying their
	// initialization.
	annotationsPerSecond = 20
	annotationTimeout    = 10 * time.Second
)

// annotateLocation has a Node annotated with the location of its machine, if that is to be
// written. One that was written a while ago and is not there has been taken off.
func (c *Controller) annotateLocation(ctx context.Context, n *v1.Node, s *state, to placement.Location) time.Duration {
	if to == (placement.Location{}) {
		s.annotation.pace.done()
		return 0
	}
	if wait := c.annotationDelay(s, to); wait > 0 {
		return wait
	}
	if wait := s.annotation.pace.wait(c.annotationPace); wait > 0 {
		return wait
	}
	s.annotation.pace.done()
	c.startWrite(s, func() {
		err := c.writeLocation(ctx, n, to)
		if ctx.Err() == nil {
			c.noteAnnotated(ctx, n, s, to, err)
		}
	}, func() { c.queue.Add(itemOf(n)) })
	return 0
}

// annotationDelay returns how long a location must not be written: while another write of the
// Node is under way, and for a while after the same location was written.
func (c *Controller) annotationDelay(s *state, to placement.Location) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := time.Until(s.annotation.next)
	switch {
	case s.writing:
		return writePause
	case s.annotation.written == to && again > 0:
		return again
	}
	return 0
}

// noteAnnotated notes the result of a write.
func (c *Controller) noteAnnotated(ctx context.Context, n *v1.Node, s *state, to placement.Location, err error) {
	forGood := isForGood(err)
	if !forGood {
		ctx := withVCenter(ctx, identity.ParseLocation(to.Machine).VCenter)
		klog.FromContext(ctx).Error(err, "Cannot write the location of the machine to the Node; it is tried again", "node", klog.KObj(n))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.annotation.written = to
	s.annotation.ended(forGood)
}

// isForGood reports whether there is no use in trying a write again that has ended so. If the Node
// is gone, one of that name has another UID.
func isForGood(err error) bool {
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// writeLocation patches nothing but the annotations, on no other Node of that name.
func (c *Controller) writeLocation(ctx context.Context, n *v1.Node, to placement.Location) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": to.Annotations()}})
	if err != nil {
		return fmt.Errorf("encoding the annotations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, annotationTimeout)
	defer cancel()
	_, err = c.client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
