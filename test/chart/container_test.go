package chart

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/cluster"
	"vzones/test/container"
	"vzones/test/stack"
)

// runPod starts the Pod of a workload.
func runPod(t *testing.T, c *cluster.Cluster, namespace string, spec *corev1.PodSpec) *container.Container {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "vzones-0", Namespace: namespace, UID: stack.Pod().UID}, Spec: *spec}
	k, err := container.Start(t.Context(), c, pod, static(t), t.TempDir())
	if container.Unsupported(err) {
		t.Skipf("left out: a process cannot be given another root here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Kill() })
	return k
}

// static builds the daemon like the image's and returns its path.
func static(t *testing.T) string {
	t.Helper()
	if err := stack.DependOnSources(helm.Root()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "vsphere-cloud-controller-manager")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "vzones/cmd/vsphere-cloud-controller-manager")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the daemon: %v\n%s", err, out)
	}
	return path
}

// eventually retries until try succeeds, the daemon ends, or three minutes have passed.
func eventually(t *testing.T, k *container.Container, what string, try func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		if last == nil {
			return true, nil
		}
		select {
		case <-k.Exited():
			return false, errors.Join(errors.New("the daemon has ended"), k.Err())
		default:
			return false, nil
		}
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v; the last try: %v\n%s", what, err, last, k.Log())
	}
}
