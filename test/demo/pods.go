package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
)

const pods = 12

// schedule lets the real scheduler spread a Deployment over the zones.
func (d *demo) schedule(ctx context.Context) error {
	if err := d.buildPrograms(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.step("Creating a Deployment of %d Pods with a topology-spread constraint on zones; kube-scheduler places them", pods)
	if err := d.stack.Cluster.StartControllerManager(ctx); err != nil {
		return err
	}
	if err := d.stack.Cluster.StartScheduler(ctx); err != nil {
		return err
	}
	if _, err := d.stack.Client.AppsV1().Deployments("default").Create(ctx, deployment(), metav1.CreateOptions{}); err != nil {
		return err
	}
	perZone, err := d.waitForPods(ctx)
	if err != nil {
		return err
	}
	d.print("")
	least, most := pods, 0
	for _, zone := range slices.Sorted(maps.Keys(perZone)) {
		n := perZone[zone]
		d.print("          zone %-8s %d Pods  %s", zone, n, strings.Repeat("#", n))
		least, most = min(least, n), max(most, n)
	}
	zones := 0
	for _, v := range d.stack.Fleet.VCenters() {
		zones += len(v.Machines()) / 4
	}
	if len(perZone) != zones || most-least > 1 {
		return fmt.Errorf("the Pods are not spread over %d zones with a skew of at most 1", zones)
	}
	return nil
}

// buildPrograms builds what only this part of the demo needs, which takes
// minutes the first time.
func (d *demo) buildPrograms(ctx context.Context) error {
	if _, err := cluster.Find(laterPrograms...); !errors.Is(err, cluster.ErrNoBinaries) {
		return err
	}
	d.step("Building kube-controller-manager and kube-scheduler, which only the rest of the demo needs")
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, laterPrograms...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = builder, d.out, os.Stderr
	return cmd.Run()
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "spread"}
	n := int32(pods)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "spread"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n,
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

// waitForPods returns how many Pods are in each zone once all are placed.
func (d *demo) waitForPods(ctx context.Context) (map[string]int, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := d.stack.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=spread"})
		if err != nil {
			return nil, err
		}
		perZone, placed := map[string]int{}, 0
		for _, p := range list.Items {
			if p.Spec.NodeName == "" {
				continue
			}
			n, err := d.stack.Client.CoreV1().Nodes().Get(ctx, p.Spec.NodeName, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			perZone[n.Labels[v1.LabelTopologyZone]]++
			placed++
		}
		if placed == pods {
			return perZone, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d Pods are placed: %w", placed, pods, ctx.Err())
		}
	}
}
