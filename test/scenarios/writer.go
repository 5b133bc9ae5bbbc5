package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// writerKey is the key of the other writer's label and taint.
const writerKey = "example.com/writer"

// writerCommands control another writer, which changes Nodes concurrently with the daemon.
func writerCommands() []command {
	return []command{
		{"writer start DURATION", "starts another writer, which changes its own label and taint `" + writerKey + "` on each Node at this interval, " +
			"and checks each time that its last change is still there", func(a *arguments) action {
			every := a.duration()
			return func(ctx context.Context, w *world) error {
				if w.writer != nil {
					return errors.New("another writer is already running")
				}
				ctx, cancel := context.WithCancel(ctx)
				w.writer = &writer{end: cancel, errs: make([]error, len(w.nodes))}
				i := 0
				for name := range w.nodes {
					err := &w.writer.errs[i]
					w.writer.done.Go(func() { *err = w.keepWriting(ctx, name, every) })
					i++
				}
				return nil
			}
		}},
		{"writer stop", "stops the other writer and checks that none of its changes were lost", func(*arguments) action {
			return func(_ context.Context, w *world) error {
				if w.writer == nil {
					return errors.New("no other writer is running")
				}
				return w.endWriter()
			}
		}},
	}
}

// patience is the backoff of the other writer on conflicts with the daemon and the framework.
var patience = wait.Backoff{Steps: 1000, Duration: time.Millisecond}

// A writer writes until end is called. Each of its goroutines has an error.
type writer struct {
	end  func()
	done sync.WaitGroup
	errs []error
}

func (w *world) endWriter() error {
	stopped := w.writer
	w.writer = nil
	stopped.end()
	stopped.done.Wait()
	return errors.Join(stopped.errs...)
}

// keepWriting changes a Node until the context is done, and then checks it a last time. It does not cancel a write,
// because the result would be unknown.
func (w *world) keepWriting(ctx context.Context, name string, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for n := 1; ; n++ {
		next := strconv.Itoa(n)
		select {
		case <-tick.C:
		case <-ctx.Done():
			if last == "" {
				return fmt.Errorf("the other writer wrote nothing to %s", name)
			}
			next = ""
		}
		err := retry.RetryOnConflict(patience, func() error { return w.writeOn(context.WithoutCancel(ctx), name, last, next) })
		if err != nil || next == "" {
			return err
		}
		last = next
	}
}

// writeOn checks that the last write is still present and writes the next. It writes the whole Node and fails on a
// conflict, as a correct writer must.
func (w *world) writeOn(ctx context.Context, name, last, next string) error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	nodes := w.stack.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var taint *v1.Taint
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == writerKey {
			taint = &node.Spec.Taints[i]
		}
	}
	if last != "" && (taint == nil || taint.Value != last || node.Labels[writerKey] != last) {
		return fmt.Errorf("a change by the other writer to %s is lost: label %q, taint %v, want %q", name, node.Labels[writerKey], taint, last)
	}
	if next == "" {
		return nil
	}
	if taint == nil {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: writerKey, Effect: v1.TaintEffectPreferNoSchedule})
		taint = &node.Spec.Taints[len(node.Spec.Taints)-1]
	}
	node.Labels[writerKey] = next
	taint.Value = next
	_, err = nodes.Update(ctx, node, metav1.UpdateOptions{FieldManager: "another-writer"})
	return err
}
