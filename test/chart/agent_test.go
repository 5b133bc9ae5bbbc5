package chart

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/test/kubelet"
)

// TestPodsOfARelease: with the Pods of the chart's DaemonSet run as kubelets would, as in the
// kept demo, a release is rolled out, rolled over and removed, and reports that.
func TestPodsOfARelease(t *testing.T) {
	f := fleettest.Start(t, theFleet)
	c := withControllers(t)
	machines := f.Machines()
	for i, m := range machines {
		node := cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID}
		if i == 0 {
			node.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		}
		if err := c.CreateNodes(t.Context(), []cluster.NodeSpec{node}); err != nil {
			t.Fatal(err)
		}
	}
	said := runPods(t, c, static(t))

	values := []string{"--values", values(t, strings.ReplaceAll(operatorValues(f, freePort(t), ""), "secretNamespace: vcenters", "secretNamespace: kube-system"))}
	inCluster(t, c, append([]string{"install", "vzones", helm.Chart()}, values...)...)
	first := rolledOut(t, c, said, "")
	within(t, said, "the zones", labeled(c, machines, corev1.LabelTopologyZone, func(m fleet.Machine) string { return m.VCenter + "-a" }))

	inCluster(t, c, append([]string{"upgrade", "vzones", helm.Chart(), "--set", "workload.podAnnotations.a=b"}, values...)...)
	rolledOut(t, c, said, first)
	inCluster(t, c, "uninstall", "vzones")
	within(t, said, "the end of the Pods", func(ctx context.Context) error {
		pods, err := c.Client().CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d Pods are left", len(pods.Items))
		}
		return err
	})
}

// withControllers starts a control plane that makes and schedules the Pods of DaemonSets.
func withControllers(t *testing.T) *cluster.Cluster {
	t.Helper()
	if err := cluster.Wanted(cluster.ControllerManager, cluster.Scheduler); err != nil {
		t.Skipf("left out: %v", err)
	}
	c := startWith(t, cluster.Options{Controllers: []string{"daemonset-controller", "garbage-collector-controller", "serviceaccount-controller", "namespace-controller"}})
	for _, start := range []func(context.Context) error{c.StartControllerManager, c.StartScheduler} {
		if err := start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// runPods runs the Pods of a cluster until the test ends, and returns what tells of them.
func runPods(t *testing.T, c *cluster.Cluster, binary string) (said func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	a := &kubelet.Agent{
		Cluster: c, Dir: t.TempDir(), Program: func(string) string { return binary },
		Print: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf(format, args...))
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

// rolledOut waits until the DaemonSet's only Pod is ready and is not the previous one, and
// returns its name.
func rolledOut(t *testing.T, c *cluster.Cluster, said func() string, before string) string {
	t.Helper()
	name := ""
	within(t, said, "the roll-out", func(ctx context.Context) error {
		pods, err := c.Client().CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		d := daemonSet(t, c)
		if len(pods.Items) != 1 || pods.Items[0].Name == before || d.Status.ObservedGeneration != d.Generation || d.Status.NumberReady != 1 || d.Status.UpdatedNumberScheduled != 1 {
			return fmt.Errorf("%d Pods, the DaemonSet's status is %+v", len(pods.Items), d.Status)
		}
		name = pods.Items[0].Name
		return nil
	})
	return name
}

// within tries until there is no error.
func within(t *testing.T, said func() string, what string, try func(ctx context.Context) error) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for {
		err := try(t.Context())
		if err == nil {
			return
		}
		switch {
		case strings.Contains(said(), "cannot be given another root"), strings.Contains(said(), "operation not permitted"):
			t.Skipf("left out: a process cannot be given another root here:\n%s", said())
		case time.Now().After(end):
			t.Fatalf("%s: %v\n%s", what, err, said())
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
