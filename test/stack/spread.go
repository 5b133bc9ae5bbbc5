package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const spreadSelector = "app=spread"

// SpreadPods creates Pods with a topology spread constraint on zones and returns them after all are scheduled. It
// requires a running kube-scheduler.
func (s *Stack) SpreadPods(ctx context.Context, count int) ([]v1.Pod, error) {
	pods := s.Client.CoreV1().Pods(metav1.NamespaceDefault)
	for i := range count {
		if _, err := pods.Create(ctx, spreadPod(i), metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	var scheduled []v1.Pod
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: spreadSelector})
		if err != nil {
			return false, err
		}
		scheduled = slices.DeleteFunc(list.Items, func(p v1.Pod) bool { return p.Spec.NodeName == "" })
		return len(scheduled) == count, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d Pods are scheduled: %w", len(scheduled), count, errors.Join(err, context.Cause(ctx)))
	}
	return scheduled, nil
}

// PodsPerZone counts Pods by the current zone label of their Nodes.
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
