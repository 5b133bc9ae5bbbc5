package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"vzones/test/process"
)

func TestCluster(t *testing.T) {
	need(t)
	leakFree(t)
	c := start(t, Options{})
	t.Run("what Start promises is there", func(t *testing.T) { testDefaults(t, c) })
	t.Run("a Node is created with its status", func(t *testing.T) { testNode(t, c) })
	t.Run("many Nodes", func(t *testing.T) { testManyNodes(t, c) })
	t.Run("a ServiceAccount may do what RBAC allows", func(t *testing.T) { testServiceAccount(t, c) })
	t.Run("a kubelet may write its own Node", func(t *testing.T) { testKubelet(t, c) })
	t.Run("a manifest", func(t *testing.T) { testApply(t, c) })
}

func testDefaults(t *testing.T, c *Cluster) {
	ctx := t.Context()
	config, err := clientcmd.BuildConfigFromFlags("", c.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := admin.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" || strings.Contains(version.GitVersion, "master") {
		t.Errorf("the API server calls itself %s, want its version", version.GitVersion)
	}
	if _, err := admin.RbacV1().ClusterRoles().Get(ctx, "system:node", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for _, namespace := range []string{"default", "kube-system"} {
		if _, err := admin.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	// A Pod is admitted though no controller runs.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "alone", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
	}
	if _, err := admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func testServiceAccount(t *testing.T, c *Cluster) {
	ctx := t.Context()
	if _, err := c.ServiceAccountKubeconfig(ctx, "default", "nobody"); !apierrors.IsNotFound(err) {
		t.Errorf("of one that is not there: error %v, want not found", err)
	}
	const manifest = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: kube-system}}
`
	if err := c.Apply(ctx, []byte(manifest), nil); err != nil {
		t.Fatal(err)
	}
	path, err := c.ServiceAccountKubeconfig(ctx, "kube-system", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:kube-system:reader") {
		t.Errorf("without a role: error %v, want that this ServiceAccount is forbidden it", err)
	}
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node"}
subjects: [{kind: ServiceAccount, name: reader, namespace: kube-system}]
`
	if err := c.Apply(ctx, []byte(role), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func(ctx context.Context) error {
		_, err := reader.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
}

// testKubelet: the Node authorizer and NodeRestriction are in force.
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

func TestStopLeavesNothing(t *testing.T) {
	need(t, Etcd, APIServer, Scheduler)
	leakFree(t)
	dir := t.TempDir()
	c, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StartScheduler(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.StartScheduler(t.Context()); err == nil {
		t.Error("a second kube-scheduler: no error")
	}
	pids := make(map[string]int)
	for _, p := range c.processes {
		pids[p.Name()] = p.PID()
	}
	if len(pids) != 3 {
		t.Errorf("processes %v, want three", pids)
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	for name, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("%s, process %d, lives after Stop", name, pid)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("Stop leaves %v", entries)
	}
	if err := c.StartControllerManager(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("starting a program after Stop: error %v, want %v", err, errStopped)
	}
	if err := c.Err(); err != nil {
		t.Errorf("a stopped cluster reports %v", err)
	}
}

func TestAKilledProgramIsReported(t *testing.T) {
	need(t)
	leakFree(t)
	dir := t.TempDir()
	c, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.processes {
		if p.Name() == APIServer {
			if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	select {
	case <-c.Failed():
	case <-time.After(time.Minute):
		t.Error("nothing is reported")
	}
	for what, err := range map[string]error{"Err": c.Err(), "Stop": c.Stop()} {
		if err == nil || !strings.Contains(err.Error(), "kube-apiserver has ended on its own: signal: killed") {
			t.Errorf("%s: %v, want that kube-apiserver was killed", what, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("Stop leaves %v (%v)", entries, err)
	}
}

func TestATakenPortIsNoFailure(t *testing.T) {
	need(t)
	leakFree(t)
	taken, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	asked := 0
	start(t, Options{freePort: func() (int, error) {
		// The first is for etcd, which has none.
		if asked++; asked == 2 {
			return taken.Addr().(*net.TCPAddr).Port, nil
		}
		return process.FreePort()
	}})
	if asked != 3 {
		t.Errorf("%d ports, want a third after the taken one", asked)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	need(t)
	leakFree(t)
	for name, test := range map[string]struct {
		options Options
		want    []string
	}{
		"a flag that is none": {
			Options{Flags: map[string][]string{APIServer: {"--no-such-flag"}}},
			[]string{"starting kube-apiserver", "ended on its own: exit status 1", "unknown flag: --no-such-flag"},
		},
		"too slow": {
			Options{ReadyTimeout: 300 * time.Millisecond},
			[]string{"not ready after 300ms", "last answer", "its log"},
		},
		"a program that is not there": {
			Options{Binaries: Binaries{Etcd: "/nowhere/etcd"}},
			[]string{"starting etcd", "/nowhere/etcd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Dir = t.TempDir()
			_, err := Start(t.Context(), test.options)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if entries, err := os.ReadDir(test.options.Dir); err != nil || len(entries) > 0 {
				t.Errorf("it leaves %v (%v)", entries, err)
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	need(t)
	leakFree(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("changed my mind")
	cancel(reason)
	if _, err := Start(ctx, Options{Dir: t.TempDir()}); !errors.Is(err, reason) {
		t.Errorf("error %v, want %v", err, reason)
	}
}

// notYet is for eventually.
func notYet(format string, args ...any) error { return fmt.Errorf("not yet: "+format, args...) }
