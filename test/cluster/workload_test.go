package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const testDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
`

func TestADeploymentIsPlaced(t *testing.T) {
	need(t, Etcd, APIServer, Scheduler, ControllerManager)
	leakFree(t)
	ctx := t.Context()
	c := start(t, Options{})
	for _, run := range []func(context.Context) error{c.StartControllerManager, c.StartScheduler} {
		began := time.Now()
		if err := run(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("a further program started in %s", time.Since(began).Round(time.Millisecond))
	}
	for i := range 3 {
		node := NodeSpec{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i)}}.Node()
		node.Spec.Taints = nil
		if _, err := c.CreateNode(ctx, node); err != nil {
			t.Fatal(err)
		}
	}
	// Nothing but the controller manager makes this namespace's ServiceAccount.
	manifest := "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---" + testDeployment
	if err := c.Apply(ctx, []byte(manifest), nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		pods, err := c.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		nodes := make(map[string]bool)
		for _, pod := range pods.Items {
			nodes[pod.Spec.NodeName] = true
		}
		if len(pods.Items) != 3 || len(nodes) != 3 || nodes[""] {
			return notYet("%d Pods on the Nodes %v, want 3 on 3", len(pods.Items), nodes)
		}
		return nil
	})
	t.Logf("placed in %s", time.Since(began).Round(time.Millisecond))

	deletion := metav1.DeletePropagationBackground
	if err := c.Client().AppsV1().Deployments("shop").Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &deletion}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		sets, err := c.Client().AppsV1().ReplicaSets("shop").List(ctx, metav1.ListOptions{})
		if err == nil && len(sets.Items) > 0 {
			return notYet("%d ReplicaSets are left", len(sets.Items))
		}
		return err
	})
}

// With the real controller a new Node is tainted until it is found to be ready,
// and again when it is not.
func TestNodeLifecycle(t *testing.T) {
	need(t, Etcd, APIServer, ControllerManager)
	leakFree(t)
	ctx := t.Context()
	c := start(t, Options{NodeLifecycle: true})
	if err := c.StartControllerManager(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateNode(ctx, NodeSpec{Name: "node"}.Node()); err != nil {
		t.Fatal(err)
	}
	for _, ready := range []bool{true, false} {
		status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]
		if err := c.SetNodeReady(ctx, "node", status); err != nil {
			t.Fatal(err)
		}
		eventually(t, 30*time.Second, func(ctx context.Context) error {
			node, err := c.Client().CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if tainted(node, corev1.TaintNodeNotReady) == ready {
				return notYet("ready %t, taints %v", ready, node.Spec.Taints)
			}
			return nil
		})
	}
}

func tainted(node *corev1.Node, key string) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}
