package cluster

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"go.uber.org/goleak"
)

// start starts a control plane with its folder in dir. The test fails if goroutines are left.
func start(t *testing.T, dir string, options Options) (*Cluster, error) {
	t.Helper()
	if err := Wanted(); err != nil {
		t.Skip(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() { goleak.VerifyNone(t) })
	return Start(t.Context(), options)
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("these are left: %v (%v)", entries, err)
	}
}

func TestCluster(t *testing.T) {
	dir := t.TempDir()
	c, err := start(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer isEmpty(t, dir)
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("a Pod is admitted though no controller runs", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "alone", Namespace: "default"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		}
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a kubelet may write its own Node", func(t *testing.T) { testKubelet(t, c) })
	t.Run("a manifest", func(t *testing.T) { testApply(t, c) })
}

// testKubelet: the Node authorizer and NodeRestriction are active.
func testKubelet(t *testing.T, c *Cluster) {
	ctx := t.Context()
	config, err := c.KubeletConfig("kubelet-1")
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	nodes := kubelet.CoreV1().Nodes()
	own, err := nodes.Create(ctx, NodeSpec{Name: "kubelet-1"}.Node(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own.Annotations = map[string]string{"example.com/a": "b"}
	if own, err = nodes.Update(ctx, own, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	own.Spec.Taints = nil
	if _, err := nodes.Update(ctx, own, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not allowed to modify taints") {
		t.Errorf("taking off its taint: error %v, want that NodeRestriction forbids it", err)
	}
	if _, err := nodes.Create(ctx, NodeSpec{Name: "kubelet-2"}.Node(), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("creating another's Node: error %v, want that it is forbidden", err)
	}
	if _, err := nodes.List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only its own Node object") {
		t.Errorf("listing all Nodes: error %v, want that the Node authorizer forbids it", err)
	}
}

const testManifest = `# a comment is no object
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: kube-system}, data: {key: value}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
---
apiVersion: v1
kind: Secret
metadata:
  name: unwanted
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: racks.test.vzones
spec:
  group: test.vzones
  scope: Namespaced
  names: {plural: racks, singular: rack, kind: Rack}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: test.vzones/v1
kind: Rack
metadata:
  name: a
`

func testApply(t *testing.T, c *Cluster) {
	ctx := t.Context()
	wanted := func(kind string) bool { return kind != "Secret" }
	for _, manifest := range []string{testManifest, strings.ReplaceAll(testManifest, "value", "other")} {
		if err := c.Apply(ctx, []byte(manifest), wanted); err != nil {
			t.Fatal(err)
		}
	}
	one, err := c.Client().CoreV1().ConfigMaps("kube-system").Get(ctx, "one", metav1.GetOptions{})
	if err != nil || one.Data["key"] != "other" {
		t.Errorf("%v, %v, want the data of the second manifest", one, err)
	}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Get(ctx, "two", metav1.GetOptions{}); err != nil {
		t.Errorf("without a namespace: %v", err)
	}
	if _, err := c.Client().CoreV1().Secrets("default").Get(ctx, "unwanted", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("filtered out: error %v, want not found", err)
	}
	racks := schema.GroupVersionResource{Group: "test.vzones", Version: "v1", Resource: "racks"}
	if _, err := c.objects.Resource(racks).Namespace("default").Get(ctx, "a", metav1.GetOptions{}); err != nil {
		t.Errorf("of the kind that the manifest defines: %v", err)
	}
	err = c.Apply(ctx, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}"), nil)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `ConfigMap "x"`) {
		t.Errorf("into a namespace that is not there: error %v, want not found and the object's name", err)
	}
}

// TestAKilledProgramIsReported also checks that the remaining programs are stopped.
func TestAKilledProgramIsReported(t *testing.T) {
	dir := t.TempDir()
	c, err := start(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(c.processes[1].PID(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	select {
	case <-c.processes[1].Exited():
	case <-time.After(time.Minute):
		t.Error("it lives on")
	}
	etcd := c.processes[0]
	for what, err := range map[string]error{"Err": c.Err(), "Stop": c.Stop()} {
		if err == nil || !strings.Contains(err.Error(), "kube-apiserver has ended on its own: signal: killed") {
			t.Errorf("%s: %v, want that kube-apiserver was killed", what, err)
		}
	}
	if syscall.Kill(etcd.PID(), 0) == nil {
		t.Error("etcd lives after Stop")
	}
	isEmpty(t, dir)
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		flags   []string
		version string
		want    []string
	}{
		{[]string{"--no-such-flag"}, "", []string{"starting kube-apiserver", "ended on its own: exit status 1", "unknown flag: --no-such-flag"}},
		{nil, "v1.0.0", []string{"the API server is of Kubernetes v1.", "VZONES_KUBERNETES demands v1.0.0"}},
	} {
		t.Setenv(versionVariable, c.version)
		dir := t.TempDir()
		_, err := start(t, dir, Options{Flags: map[string][]string{APIServer: c.flags}})
		if err == nil {
			t.Fatal("no error")
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in:\n%v", want, err)
			}
		}
		isEmpty(t, dir)
	}
}

// TestWhatIsMissingIsNamed also checks that the error contains the searched folders.
func TestWhatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	if err := os.WriteFile(Etcd, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(APIServer, nil, 0o600); err != nil { // not executable
		t.Fatal(err)
	}
	_, err := Find()
	if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), APIServer+": not in "+dir) || strings.Contains(err.Error(), Etcd+",") {
		t.Errorf("error %v, want one that names kube-apiserver", err)
	}
}
