package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"

	"vzones/test/process"
	"vzones/test/stack"
)

// kubeletProcess is the kubelet of a Node.
type kubeletProcess struct {
	options stack.KubeletOptions
	process *process.Process // nil before the first start
}

// boot kills a Node's kubelet, if it runs, starts it, and waits until the Node is ready.
func (w *world) boot(ctx context.Context, n *registration) error {
	k := n.kubelet
	if err := k.kill(); err != nil {
		return err
	}
	k.options.BootID = uuid.NewString()
	var err error
	if k.process, err = w.stack.StartKubelet(&k.options); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	err = w.observer.await(ctx, k.process.Exited(), func(s view) bool {
		node := s.nodes[n.name]
		if node == nil || node.Status.NodeInfo.BootID != k.options.BootID || readyStatus(node) != v1.ConditionTrue {
			return false
		}
		if n.uid != node.UID {
			n.uid = node.UID
			n.made = node
		}
		return true
	})
	if errors.Is(err, errEnded) {
		err = k.process.Failure()
	} else if err != nil {
		err = fmt.Errorf("%w%s", err, k.process.LastWords())
	}
	if err != nil {
		return fmt.Errorf("waiting until the kubelet of Node %s is ready: %w", n.name, err)
	}
	return nil
}

func (k *kubeletProcess) kill() error {
	if k == nil || k.process == nil {
		return nil
	}
	return k.process.Stop(0)
}

func (k *kubeletProcess) isRunning() bool {
	select {
	case <-k.process.Exited():
		return false
	default:
		return true
	}
}

func readyStatus(n *v1.Node) v1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return ""
}

func restartKubelets(a *arguments) action {
	var names []string
	labels := map[string]string{}
	for _, word := range a.rest() {
		label, isLabel := strings.CutPrefix(word, "label=")
		key, value, ok := strings.Cut(label, "=")
		switch {
		case !isLabel:
			names = append(names, word)
		case !ok:
			a.fail("label= must have the form label=KEY=VALUE")
		default:
			labels[key] = value
		}
	}
	if len(names) == 0 {
		a.fail("NODE is missing")
	}
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(names)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.kubelet == nil {
				return fmt.Errorf("the Node %s has no kubelet: it was created without by-kubelet", n.name)
			}
			maps.Copy(n.kubelet.options.Labels, labels)
			if err := w.boot(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
}

func setReady(ctx context.Context, w *world, name string) error {
	n := w.nodes[name]
	switch {
	case n.kubelet == nil:
		return w.stack.Cluster.SetNodeReady(ctx, name, v1.ConditionTrue)
	case n.kubelet.isRunning():
		return nil
	}
	return w.boot(ctx, n)
}

// setUnknown kills all kubelets before it waits for the control plane.
func setUnknown(a *arguments) action {
	patterns := a.rest()
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if err := n.kubelet.kill(); err != nil {
				return err
			}
		}
		return onNodes(patterns, func(ctx context.Context, w *world, name string) error {
			if !w.stack.HasNodeLifecycle {
				return w.stack.Cluster.SetNodeReady(ctx, name, v1.ConditionUnknown)
			}
			ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
			defer cancel()
			return w.observer.await(ctx, nil, func(s view) bool {
				node := s.nodes[name] // nil if the daemon has deleted it
				return node == nil || readyStatus(node) == v1.ConditionUnknown
			})
		})(ctx, w)
	}
}
