package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writerKey is the key of the label and of the taint that the other writer has.
const writerKey = "example.com/writer"

// writerCommands are those of another writer, which changes Nodes at the same
// moment as the daemon.
func writerCommands() []command {
	return []command{
		{"writer start NODE… every DURATION", "has another writer change a label and a taint of its own, `" + writerKey + "`, on each of these Nodes that often; " +
			"each time it checks that what it wrote last is still there", startWriter},
		{"writer stop", "ends it and checks that nothing that it wrote was lost", func(a *arguments) action {
			a.p.asserts = true
			return func(_ context.Context, w *world) error {
				if w.writer == nil {
					return errors.New("no other writer runs")
				}
				return w.endWriter()
			}
		}},
	}
}

// A writer writes until it is ended.
type writer struct {
	end  func()
	done sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func startWriter(a *arguments) action {
	patterns := []string{a.node()}
	for len(a.words) > 0 && a.words[0] != "every" {
		patterns = append(patterns, a.node())
	}
	if !a.next("every") {
		a.fail("every is missing")
	}
	every := a.duration()
	return func(ctx context.Context, w *world) error {
		if w.writer != nil {
			return errors.New("another writer runs already")
		}
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		other := &writer{end: cancel}
		for _, n := range nodes {
			other.done.Go(func() {
				err := w.keepWriting(ctx, n.name, every)
				other.mu.Lock()
				defer other.mu.Unlock()
				other.errs = append(other.errs, err)
			})
		}
		w.writer = other
		return nil
	}
}

func (w *world) endWriter() error {
	other := w.writer
	w.writer = nil
	other.end()
	other.done.Wait()
	return errors.Join(other.errs...)
}

// keepWriting changes a Node until the context is done, and looks a last time
// then. The writer is as careful as one has to be: it writes the whole Node and
// fails if anybody has written since it read.
func (w *world) keepWriting(ctx context.Context, name string, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if last == "" {
				return fmt.Errorf("the other writer wrote nothing to %s", name)
			}
			return w.writeOn(context.WithoutCancel(ctx), name, last, "")
		}
		next := strconv.Itoa(n)
		// A write that has begun is not to be broken off: whether it was done
		// would not be known.
		if err := w.writeOn(context.WithoutCancel(ctx), name, last, next); err != nil {
			return err
		}
		last = next
	}
}

// writeOn checks that what was written last is there, and writes what is next.
func (w *world) writeOn(ctx context.Context, name, last, next string) error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	nodes := w.stack.Client.CoreV1().Nodes()
	for {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is := written(node); last != "" && is != last {
			return fmt.Errorf("what another writer wrote to %s is lost: its label and taint are %q, and it wrote %q", name, is, last)
		}
		if next == "" {
			return nil
		}
		node.Labels[writerKey] = next
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, ofWriter),
			v1.Taint{Key: writerKey, Value: next, Effect: v1.TaintEffectPreferNoSchedule})
		if _, err = nodes.Update(ctx, node, metav1.UpdateOptions{FieldManager: "another-writer"}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func ofWriter(t v1.Taint) bool { return t.Key == writerKey }

// written is what the writer has on a Node, if label and taint agree.
func written(n *v1.Node) string {
	i := slices.IndexFunc(n.Spec.Taints, ofWriter)
	switch {
	case i < 0:
		return n.Labels[writerKey] + " and none"
	case n.Spec.Taints[i].Value != n.Labels[writerKey]:
		return n.Labels[writerKey] + " and " + n.Spec.Taints[i].Value
	}
	return n.Labels[writerKey]
}
