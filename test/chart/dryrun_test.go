package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestADryRunIsWaitedFor: kubectl waits for the Pod of a dry run, which is that of the how-to, until it has
// ended, whether it has succeeded or not.
func TestADryRunIsWaitedFor(t *testing.T) {
	c := start(t)
	pods := c.Client().CoreV1().Pods("kube-system")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}}
	if _, err := c.Client().CoreV1().ServiceAccounts("kube-system").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifests := blocks(t, "how-to/dry-run.md", "yaml")
	i := slices.IndexFunc(manifests, func(text string) bool { return strings.Contains(text, "kind: Pod\n") })
	if i < 0 {
		t.Fatal("dry-run.md has no manifest of a Pod")
	}
	if err := os.WriteFile(filepath.Join(dir, "dry-run.yaml"), []byte(manifests[i]), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		wait   = "kubectl -n kube-system wait pod/vzones-dry-run --for=jsonpath='{.status.containerStatuses[0].state.terminated.exitCode}' --timeout=1s"
		remove = "kubectl -n kube-system delete pod vzones-dry-run --force" // there is no kubelet
	)
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		enter(t, c, dir, "kubectl apply -f dry-run.yaml")
		set := func(phase corev1.PodPhase, state corev1.ContainerState) {
			t.Helper()
			pod, err := pods.Get(t.Context(), "vzones-dry-run", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pod.Status.Phase = phase
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state}}
			if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		expectWaiting := func(when string) {
			t.Helper()
			if out, err := shell(t, c, dir, wait); err == nil || !strings.Contains(string(out), "timed out") {
				t.Errorf("%s: %v, %s", when, err, out)
			}
		}
		expectWaiting("before it starts")
		set(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		expectWaiting("while it runs")
		ended := &corev1.ContainerStateTerminated{Reason: "Completed"}
		if phase == corev1.PodFailed {
			ended = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2}
		}
		set(phase, corev1.ContainerState{Terminated: ended})
		enter(t, c, dir, wait, remove)
	}
}
