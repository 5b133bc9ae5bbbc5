package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestADryRunIsWaitedFor: the commands of the page wait for the Pod of a dry run until it has ended,
// whether it has succeeded or not.
func TestADryRunIsWaitedFor(t *testing.T) {
	c := start(t)
	pods := c.Client().CoreV1().Pods("kube-system")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}}
	if _, err := c.Client().CoreV1().ServiceAccounts("kube-system").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	manifests := blocks(t, "how-to/dry-run.md", "yaml")
	if len(manifests) != 1 {
		t.Fatalf("dry-run.md has %d blocks of YAML instead of one", len(manifests))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dry-run.yaml"), []byte(manifests[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := commands(t, "dry-run.md", "kubectl apply -f dry-run.yaml")
	apply, wait := lines[0], lines[1]
	remove := commands(t, "dry-run.md", "delete pod")[0] + " --force" // there is no kubelet
	impatient := strings.Replace(wait, "--timeout=6m", "--timeout=1s", 1)
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		enter(t, c, dir, apply)
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
			if out, err := shell(t, c, dir, impatient); err == nil || !strings.Contains(string(out), "timed out") {
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
		enter(t, c, dir, impatient, remove)
	}
}
