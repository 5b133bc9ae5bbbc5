package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/test/cluster"
)

// syncInterval is the interval for syncing Pods and restarting exited containers.
const syncInterval = time.Second

// An Agent runs all scheduled Pods of a cluster, like the kubelets of all Nodes, and reports their status.
type Agent struct {
	Cluster *cluster.Cluster
	// Dir contains the containers' folders.
	Dir string
	// Program returns the program of an image. Pods for which it returns "" stay Pending.
	Program func(image string) string
	// Print logs a change of a Pod.
	Print func(format string, args ...any)

	running map[types.UID]*running
}

type running struct {
	pod       *corev1.Pod
	container *Container
	restarts  int32
	ready     bool
	// problem is the last printed error of starting the container.
	problem string
}

// Run runs the Pods until the context is done and then stops their containers. It retries errors of the API
// server.
func (a *Agent) Run(ctx context.Context) error {
	a.running = map[types.UID]*running{}
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		_ = a.syncPods(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			var errs []error
			for _, r := range a.running {
				errs = append(errs, r.stop())
			}
			return errors.Join(errs...)
		}
	}
}

func (a *Agent) syncPods(ctx context.Context) error {
	pods, err := a.Cluster.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	listed := map[types.UID]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		listed[p.UID] = true
		if p.Spec.NodeName == "" || len(p.Spec.Containers) != 1 || a.Program(p.Spec.Containers[0].Image) == "" {
			continue
		}
		if p.DeletionTimestamp != nil {
			a.terminate(ctx, p)
			continue
		}
		a.ensureRunning(ctx, p)
	}
	for uid, r := range a.running {
		// Only force deletion removes a Pod before its container has stopped.
		if !listed[uid] {
			_ = r.stop()
			delete(a.running, uid)
		}
	}
	return nil
}

// ensureRunning starts a Pod's container, or restarts it after it has exited.
func (a *Agent) ensureRunning(ctx context.Context, p *corev1.Pod) {
	r := a.running[p.UID]
	if r == nil {
		r = &running{}
		a.running[p.UID] = r
	}
	r.pod = p
	if r.container == nil {
		if err := a.start(ctx, r); err != nil {
			if r.problem != err.Error() {
				r.problem = err.Error()
				a.Print("Pod %s/%s cannot be started: %v", p.Namespace, p.Name, err)
			}
			return
		}
		a.Print("Pod %s/%s runs %s; its log: %s", p.Namespace, p.Name, p.Spec.Containers[0].Image, r.container.LogPath())
	}
	select {
	case <-r.container.Exited():
		r.restarts++
		a.Print("Pod %s/%s has ended (%v) and is started again; its log before: %s", p.Namespace, p.Name, r.container.Err(), r.rotateLog())
		if err := r.container.run(); err != nil {
			a.Print("Pod %s/%s cannot be started: %v", p.Namespace, p.Name, err)
		}
	default:
	}
	if err := r.container.Sync(ctx); err != nil && r.problem != err.Error() {
		r.problem = err.Error()
		a.Print("Pod %s/%s: %v", p.Namespace, p.Name, err)
	}
	a.updateStatus(ctx, r)
}

func (a *Agent) start(ctx context.Context, r *running) error {
	dir, err := os.MkdirTemp(a.Dir, r.pod.Name+"-")
	if err != nil {
		return err
	}
	container, err := Start(ctx, a.Cluster, r.pod, a.Program(r.pod.Spec.Containers[0].Image), dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.container = container
	return nil
}

// rotateLog renames the log of an exited container and returns its path.
func (r *running) rotateLog() string {
	kept := filepath.Join(r.container.dir, fmt.Sprintf("daemon-%d.log", r.restarts))
	if err := os.Rename(r.container.LogPath(), kept); err != nil {
		return err.Error()
	}
	return kept
}

func (a *Agent) updateStatus(ctx context.Context, r *running) {
	ready := r.container.Probe(ctx, r.container.container().ReadinessProbe) == nil
	if r.pod.Status.Phase == corev1.PodRunning && r.ready == ready && len(r.pod.Status.ContainerStatuses) == 1 &&
		r.pod.Status.ContainerStatuses[0].RestartCount == r.restarts {
		return
	}
	now := metav1.Now()
	p := r.pod.DeepCopy()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.HostIP = loopback
	p.Status.PodIP = loopback
	p.Status.HostIPs = []corev1.HostIP{{IP: loopback}}
	p.Status.PodIPs = []corev1.PodIP{{IP: loopback}}
	p.Status.StartTime = &now
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}
	p.Status.Conditions = []corev1.PodCondition{scheduled}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now})
	}
	c := r.container.container()
	started := true
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "process://" + string(p.UID), Ready: ready, Started: &started, RestartCount: r.restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	if _, err := a.Cluster.Client().CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{}); err == nil {
		r.ready = ready
	}
}

// terminate stops the container of a terminating Pod and completes the deletion.
func (a *Agent) terminate(ctx context.Context, p *corev1.Pod) {
	if r := a.running[p.UID]; r != nil {
		if err := r.stop(); err != nil {
			a.Print("Pod %s/%s: %v", p.Namespace, p.Name, err)
			return
		}
		delete(a.running, p.UID)
		a.Print("Pod %s/%s has ended", p.Namespace, p.Name)
	}
	var now int64
	err := a.Cluster.Client().CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		a.Print("Pod %s/%s: %v", p.Namespace, p.Name, err)
	}
}

func (r *running) stop() error {
	if r.container == nil {
		return nil
	}
	return r.container.Stop()
}
