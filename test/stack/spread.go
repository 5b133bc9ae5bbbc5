package stack

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spreadSelector selects the Pods of SpreadPods.
const spreadSelector = "app=spread"

// SpreadPods creates a Deployment of Pods with a topology-spread constraint on zones
// and returns them once all are placed. kube-scheduler and
// kube-controller-manager have to run.
func (s *Stack) SpreadPods(ctx context.Context, pods int) ([]v1.Pod, error) {
	if _, err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, deployment(int32(pods)), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return s.awaitPods(ctx, fmt.Sprintf("%d Pods are placed", pods), func(all []v1.Pod) bool {
		placed := 0
		for _, p := range all {
			if p.Spec.NodeName != "" {
				placed++
			}
		}
		return placed == pods
	})
}

// DeleteSpreadPods deletes what SpreadPods has made, and returns when it is gone. There are no
// kubelets that would end Pods, so they are deleted without grace.
func (s *Stack) DeleteSpreadPods(ctx context.Context) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	if err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, "spread", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	_, err := s.awaitPods(ctx, "no Pod is left", func(all []v1.Pod) bool {
		for _, p := range all {
			_ = s.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
		return len(all) == 0
	})
	return err
}

// awaitPods returns the Pods of the Deployment once they are as they should be.
func (s *Stack) awaitPods(ctx context.Context, what string, right func([]v1.Pod) bool) ([]v1.Pod, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := s.Client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: spreadSelector})
		if err != nil {
			return nil, err
		}
		if right(list.Items) {
			return list.Items, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting until %s, of %d: %w", what, len(list.Items), context.Cause(ctx))
		}
	}
}

// PodsPerZone counts Pods by the label of the zone of their Nodes, as it is now.
func (s *Stack) PodsPerZone(ctx context.Context, pods []v1.Pod) (map[string]int, error) {
	zones := map[string]int{}
	for _, p := range pods {
		n, err := s.Client.CoreV1().Nodes().Get(ctx, p.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		zones[n.Labels[v1.LabelTopologyZone]]++
	}
	return zones, nil
}

func deployment(pods int32) *appsv1.Deployment {
	labels := map[string]string{"app": "spread"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "spread"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &pods,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{
					Containers: []v1.Container{{Name: "pause", Image: "pause"}},
					TopologySpreadConstraints: []v1.TopologySpreadConstraint{{
						MaxSkew:           1,
						TopologyKey:       v1.LabelTopologyZone,
						WhenUnsatisfiable: v1.DoNotSchedule,
						LabelSelector:     &metav1.LabelSelector{MatchLabels: labels},
					}},
				},
			},
		},
	}
}
