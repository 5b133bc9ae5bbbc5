package volumes

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/stack"
)

const (
	twoVMs = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, tags: {zone: a}, clusters: [{name: c, hosts: 2}], vms: [{name: node-1}, {name: node-2}]}
`
	podName = "web-0"
	// longestSetup bounds the time to the first running Pod.
	longestSetup = 3 * time.Minute
	// longest bounds each measurement: kube-controller-manager waits for six minutes without the taint.
	longest = 15 * time.Minute
	// soon bounds the time to a detached volume and to the end of the Pod with the taint, on a slow machine. Without the
	// taint, kube-controller-manager waits for six minutes.
	soon = 3 * time.Minute
)

// The steps after the loss of a VM, in the order of the table.
const (
	notReady   = "Node not ready"
	tainted    = "Node tainted"
	terminates = "Pod terminating"
	podGone    = "Pod object gone"
	detached   = "volume detached"
	deleted    = "Node deleted"
	reattached = "volume attached to the other Node"
	running    = "Pod running there"
)

var (
	steps = []string{notReady, tainted, terminates, podGone, detached, deleted, reattached, running}
	// optional are the steps that are missing without the key: there is no taint, and Pods of a deleted Node are deleted
	// at once.
	optional = []string{tainted, terminates}
)

// TestVolumesOfALostVM measures the steps from the loss of a VM to its StatefulSet's Pod on another Node, with
// nodes.outOfService: gone and without. make volumes prints the table.
func TestVolumesOfALostVM(t *testing.T) {
	if err := cluster.Wanted(cluster.ControllerManager, cluster.Scheduler); err != nil {
		t.Skip(err)
	}
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"never", "gone"}
	results := make([]map[string]time.Duration, len(words))
	t.Run("outOfService", func(t *testing.T) {
		for i, word := range words {
			t.Run(word, func(t *testing.T) {
				t.Parallel()
				results[i] = lose(t, binary, word)
			})
		}
	})
	var table strings.Builder
	fmt.Fprintf(&table, "%-36s%10s%10s\n", "seconds after the VM was destroyed", words[0], words[1])
	for _, step := range steps {
		fmt.Fprintf(&table, "%-36s", step)
		for _, took := range results {
			cell := "-"
			if d, ok := took[step]; ok {
				cell = fmt.Sprintf("%.1f", d.Seconds())
			}
			fmt.Fprintf(&table, "%10s", cell)
		}
		table.WriteString("\n")
	}
	t.Logf("outOfService:\n%s", table.String())
	never, gone := results[0], results[1]
	if _, ok := never[tainted]; ok {
		t.Error("the Node was tainted without the key")
	}
	for _, pair := range [][2]string{{notReady, tainted}, {tainted, podGone}, {tainted, detached}, {tainted, deleted}, {detached, reattached}} {
		if gone[pair[0]] > gone[pair[1]] {
			t.Errorf("with the key: %q after %v, want it before %q after %v", pair[0], gone[pair[0]], pair[1], gone[pair[1]])
		}
	}
	for _, step := range []string{detached, podGone} {
		if gone[step] > soon {
			t.Errorf("with the key: %q after %v, want at most %v", step, gone[step], soon)
		}
	}
	if never[detached] < 2*gone[detached] {
		t.Errorf("the volume was detached after %v with the key and %v without it, want at least twice the time", gone[detached], never[detached])
	}
}

// lose destroys the VM of a Node with a Pod and returns when each step was seen.
func lose(t *testing.T, binary, outOfService string) map[string]time.Duration {
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{Fleet: twoVMs, Cluster: cluster.Options{Controllers: []string{
		"node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller",
		"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "statefulset-controller",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var standins sync.WaitGroup
	standinCtx, end := context.WithCancel(ctx)
	defer standins.Wait()
	defer end()
	standins.Go(func() { attach(standinCtx, t, s.Client) })
	config, err := s.WriteConfig("labels: {region: region, zone: zone}\nnodes: {outOfService: " + outOfService + "}\n")
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	vms := s.Fleet.VCenter("east").VMs()
	kubelets := map[string]*kubelet{}
	var names []string
	if err := s.Register(ctx, vms...); err != nil {
		t.Fatal(err)
	}
	for _, m := range vms {
		k := startKubelet(standinCtx, t, s.Cluster, m.Name)
		standins.Go(func() { <-standinCtx.Done(); k.kill() })
		kubelets[m.Name] = k
		names = append(names, m.Name)
	}
	if err := driverObjects(ctx, s.Client, names...); err != nil {
		t.Fatal(err)
	}
	err = s.Watch(ctx, "both Nodes are initialized and have a home", func(nodes []*v1.Node) bool {
		return len(nodes) == len(vms) && !slices.ContainsFunc(nodes, func(n *v1.Node) bool { return !stack.Initialized(n) || n.Annotations[nodeinfo.KeyVM] == "" })
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, daemon.Log())
	}
	for _, start := range []func(context.Context) error{s.Cluster.StartControllerManager, s.Cluster.StartScheduler} {
		if err := start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	createSet(ctx, t, s)
	w := &watcher{t: t, s: s, took: map[string]time.Duration{}}
	setup, stop := context.WithTimeout(ctx, longestSetup)
	defer stop()
	w.until(setup, running)
	lost := w.pod.Spec.NodeName

	// A kubelet that dies just after it renewed its Lease, which it does at its start, is missed last.
	kubelets[lost].kill()
	k := startKubelet(ctx, t, s.Cluster, lost)
	pause(ctx, statusEvery)
	k.kill()
	if err := s.Fleet.VCenter("east").Destroy(lost); err != nil {
		t.Fatal(err)
	}
	w = &watcher{t: t, s: s, lost: lost, uid: w.pod.UID, began: time.Now(), took: map[string]time.Duration{}}
	w.until(ctx, steps...)
	if t.Failed() {
		t.Logf("the daemon's log:\n%s", daemon.Log())
	}
	return w.took
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// createSet creates a StatefulSet of one Pod, whose claim is bound to a volume.
func createSet(ctx context.Context, t *testing.T, s *stack.Stack) {
	t.Helper()
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	labels := map[string]string{"app": "web"}
	_, err := s.Client.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.AppsV1().StatefulSets(v1.NamespaceDefault).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{Containers: []v1.Container{{
					Name: "web", Image: "web", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}},
				}}},
			},
			VolumeClaimTemplates: []v1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: v1.PersistentVolumeClaimSpec{
					AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new(""),
					Resources: v1.VolumeResourceRequirements{Requests: size},
				},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A watcher records when each step is first seen. Before the loss, lost and uid are empty.
type watcher struct {
	t     *testing.T
	s     *stack.Stack
	lost  string
	uid   types.UID
	began time.Time
	pod   *v1.Pod
	took  map[string]time.Duration
}

// until waits until all steps were seen, apart from the optional steps.
func (w *watcher) until(ctx context.Context, all ...string) {
	w.t.Helper()
	for {
		seen, err := w.look(ctx)
		if err != nil {
			w.t.Fatalf("waiting for %q, with %v: %v\n%s", all, w.took, err, w.story())
		}
		// Steps that are seen together get the same time, since the order of the map is random.
		took := time.Since(w.began)
		isDone := true
		for step, is := range seen {
			if _, known := w.took[step]; is && !known {
				w.took[step] = took
			}
		}
		for _, step := range all {
			_, known := w.took[step]
			isDone = isDone && (known || slices.Contains(optional, step))
		}
		if isDone {
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// story describes the Pod and all Events.
func (w *watcher) story() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var lines []string
	if w.pod != nil {
		lines = append(lines, fmt.Sprintf("%+v", w.pod.Status))
	}
	events, err := w.s.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, e := range events.Items {
		lines = append(lines, fmt.Sprintf("%s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message))
	}
	return strings.Join(lines, "\n")
}

func (w *watcher) look(ctx context.Context) (map[string]bool, error) {
	seen := map[string]bool{}
	if w.lost != "" {
		n, err := w.s.Client.CoreV1().Nodes().Get(ctx, w.lost, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			seen[deleted] = true
		case err != nil:
			return nil, err
		default:
			_, seen[tainted] = nodeinfo.OutOfServiceTaint(n)
			seen[notReady] = !nodeinfo.IsReady(n)
		}
	}
	attached, err := attachedTo(ctx, w.s.Client)
	if err != nil {
		return nil, err
	}
	seen[detached] = !slices.Contains(attached, w.lost)
	seen[reattached] = slices.ContainsFunc(attached, func(node string) bool { return node != w.lost })
	w.pod, err = w.s.Client.CoreV1().Pods(v1.NamespaceDefault).Get(ctx, podName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		seen[podGone] = true
	case err != nil:
		return nil, err
	case w.pod.UID == w.uid:
		seen[terminates] = w.pod.DeletionTimestamp != nil
	default:
		seen[podGone] = true
		seen[running] = w.pod.Status.Phase == v1.PodRunning
	}
	return seen, nil
}
