package stack

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spreadSelector selects the Pods of SpreadPods.
const spreadSelector = "app=spread"

// SpreadPods creates Pods with a topology-spread constraint on zones and returns them once
// all are scheduled. kube-scheduler has to run.
func (s *Stack) SpreadPods(ctx context.Context, pods int) ([]v1.Pod, error) {
	for i := range pods {
		if _, err := s.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, spreadPod(i), metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return s.awaitPods(ctx, fmt.Sprintf("%d Pods are scheduled", pods), func(all []v1.Pod) bool {
		scheduled := 0
		for _, p := range all {
			if p.Spec.NodeName != "" {
				scheduled++
			}
		}
		return scheduled == pods
	})
}

// DeleteSpreadPods deletes the Pods of SpreadPods, and returns when they are gone. There are no
// kubelets that would end Pods, so they are deleted without grace.
func (s *Stack) DeleteSpreadPods(ctx context.Context) error {
	now := int64(0)
	err := s.Client.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: spreadSelector})
	if err != nil {
		return err
	}
	_, err = s.awaitPods(ctx, "no Pod is left", func(all []v1.Pod) bool { return len(all) == 0 })
	return err
}

// awaitPods returns the Pods of SpreadPods once they are as they should be.
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

func spreadPod(i int) *v1.Pod {
	labels := map[string]string{"app": "spread"}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spread-%d", i), Labels: labels},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "pause", Image: "pause"}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{
				MaxSkew:           1,
				TopologyKey:       v1.LabelTopologyZone,
				WhenUnsatisfiable: v1.DoNotSchedule,
				LabelSelector:     &metav1.LabelSelector{MatchLabels: labels},
			}},
		},
	}
}
