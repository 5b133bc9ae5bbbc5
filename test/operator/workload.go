package operator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"

	"vzones/manifests"
	"vzones/test/stack"
)

const (
	workloadName = "vsphere-cloud-controller-manager"
	leaseName    = "cloud-controller-manager"
	// leaderName is the Pod that deploy makes the leader.
	leaderName = workloadName + "-lead"
)

// deploy writes the ConfigMap and the manifest's DaemonSet with these variables. No process runs it. With a Node, it
// has one Pod there, which is ready and holds the Lease; without, it has none, like a DaemonSet that matches no Node.
func deploy(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	ctx := bounded(ts)
	removeWorkload(s)
	ts.Defer(func() { removeWorkload(s) })
	_, err := s.Client.CoreV1().ConfigMaps(podSpace).Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: podConfig}, Data: configData(ts)}, metav1.CreateOptions{})
	ts.Check(err)
	set := manifestDaemonSet(ts)
	container := &set.Spec.Template.Spec.Containers[0]
	node := ""
	for _, arg := range args {
		if name, value, isVariable := strings.Cut(arg, "="); isVariable {
			container.Env = append(container.Env, v1.EnvVar{Name: name, Value: value})
		} else {
			node = arg
		}
	}
	sets := s.Client.AppsV1().DaemonSets(podSpace)
	set, err = sets.Create(ctx, set, metav1.CreateOptions{})
	ts.Check(err)
	set.Status.ObservedGeneration = set.Generation
	if node == "" {
		_, err = sets.UpdateStatus(ctx, set, metav1.UpdateOptions{})
		ts.Check(err)
		return
	}
	set.Status.DesiredNumberScheduled = 1
	set, err = sets.UpdateStatus(ctx, set, metav1.UpdateOptions{})
	ts.Check(err)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: leaderName, Labels: set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Spec: set.Spec.Template.Spec,
	}
	pod.Spec.NodeName = node
	_, err = s.Client.CoreV1().Pods(podSpace).Create(ctx, pod, metav1.CreateOptions{})
	ts.Check(err)
	setContainer(ts, v1.ContainerStatus{Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}}})
	holdLease(ts, false, []string{leaderName + "_0", "0s"})
}

func configData(ts *testscript.TestScript) map[string]string {
	s := needStack(ts)
	text := ts.ReadFile(ts.MkAbs("vsphere.yaml"))
	data := map[string]string{}
	for _, v := range s.Fleet.VCenters() {
		caFile := s.CAFile(v)
		pem, err := os.ReadFile(caFile)
		ts.Check(err)
		key := filepath.Base(caFile)
		data[key] = string(pem)
		text = strings.ReplaceAll(text, caFile, "/etc/cloud/"+key)
	}
	data["vsphere.conf"] = text
	return data
}

func manifestDaemonSet(ts *testscript.TestScript) *appsv1.DaemonSet {
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests.Plain)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			ts.Fatalf("the manifest has no DaemonSet")
		}
		ts.Check(err)
		set := &appsv1.DaemonSet{}
		ts.Check(kyaml.Unmarshal(document, set))
		if set.Kind == "DaemonSet" {
			return set
		}
	}
}

func removeWorkload(s *stack.Stack) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	_ = s.Client.CoreV1().ConfigMaps(podSpace).Delete(ctx, podConfig, now)
	_ = s.Client.AppsV1().DaemonSets(podSpace).Delete(ctx, workloadName, now)
	_ = s.Client.CoreV1().Pods(podSpace).Delete(ctx, leaderName, now)
	_ = s.Client.CoordinationV1().Leases(podSpace).Delete(ctx, leaseName, now)
}

// crash makes the daemon's Pod restart again and again.
func crash(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: crash RESTARTS MESSAGE")
	}
	setContainer(ts, v1.ContainerStatus{
		RestartCount:         int32(number(ts, args[0])),
		State:                v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: args[1]}},
	})
}

func setContainer(ts *testscript.TestScript, status v1.ContainerStatus) {
	ctx := bounded(ts)
	pods := needStack(ts).Client.CoreV1().Pods(podSpace)
	pod, err := pods.Get(ctx, leaderName, metav1.GetOptions{})
	ts.Check(err)
	status.Name = pod.Spec.Containers[0].Name
	pod.Status.Phase = v1.PodRunning
	pod.Status.ContainerStatuses = []v1.ContainerStatus{status}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	ts.Check(err)
}

// holdLease sets the holder of the daemon's Lease and the time since its last renewal. With !, it deletes the Lease.
func holdLease(ts *testscript.TestScript, neg bool, args []string) {
	ctx := bounded(ts)
	leases := needStack(ts).Client.CoordinationV1().Leases(podSpace)
	if err := leases.Delete(ctx, leaseName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		ts.Check(err)
	}
	if neg {
		return
	}
	if len(args) != 2 {
		ts.Fatalf("usage: lease HOLDER AGE | ! lease")
	}
	age, err := time.ParseDuration(args[1])
	ts.Check(err)
	seconds := int32(60)
	renewed := metav1.NewMicroTime(time.Now().Add(-age))
	_, err = leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &args[0], LeaseDurationSeconds: &seconds, AcquireTime: &renewed, RenewTime: &renewed},
	}, metav1.CreateOptions{})
	ts.Check(err)
}

// revoke takes permissions from the daemon's ServiceAccount: of a resource, or all. With !, it restores them.
func revoke(ts *testscript.TestScript, neg bool, args []string) {
	s := needStack(ts)
	isRole := func(kind string) bool { return strings.Contains(kind, "Role") }
	restore := func(ctx context.Context) error { return s.Cluster.Apply(ctx, manifests.Plain, isRole) }
	ctx := bounded(ts)
	if neg {
		ts.Check(restore(ctx))
		awaitAccess(ts, s, "nodes", true)
		awaitAccess(ts, s, "secrets", true)
		return
	}
	ts.Defer(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		_ = restore(ctx)
	})
	if len(args) == 0 {
		ts.Check(s.Client.RbacV1().ClusterRoleBindings().Delete(ctx, "system:cloud-controller-manager", metav1.DeleteOptions{}))
		ts.Check(s.Client.RbacV1().ClusterRoleBindings().Delete(ctx, "system:cloud-controller-manager:auth-delegator", metav1.DeleteOptions{}))
		for _, namespace := range []string{metav1.NamespaceDefault, podSpace} {
			ts.Check(s.Client.RbacV1().RoleBindings(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=system:cloud-controller-manager"}))
		}
		ts.Check(s.Client.RbacV1().RoleBindings(podSpace).Delete(ctx, "system:cloud-controller-manager:authentication-reader", metav1.DeleteOptions{}))
		awaitAccess(ts, s, "nodes", false)
		return
	}
	role, err := s.Client.RbacV1().Roles(podSpace).Get(ctx, "system:cloud-controller-manager", metav1.GetOptions{})
	ts.Check(err)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, args[0]) })
	_, err = s.Client.RbacV1().Roles(podSpace).Update(ctx, role, metav1.UpdateOptions{})
	ts.Check(err)
	awaitAccess(ts, s, args[0], false)
}

// awaitAccess waits until the API server applies a changed role.
func awaitAccess(ts *testscript.TestScript, s *stack.Stack, resource string, want bool) {
	ctx := bounded(ts)
	attributes := &authorizationv1.ResourceAttributes{Resource: resource, Verb: "watch"}
	switch resource {
	case "secrets":
		attributes.Namespace = podSpace
		attributes.Name = "vsphere-cloud-secret"
	case "events":
		attributes.Namespace = podSpace
		attributes.Verb = "create"
	}
	for {
		review, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:" + podSpace + ":cloud-controller-manager", ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		ts.Check(err)
		if review.Status.Allowed == want {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// warnOf records a Warning of the daemon about its Pod, or about a Node.
func warnOf(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: warn Pod|Node NAME REASON MESSAGE")
	}
	ctx := bounded(ts)
	namespace := metav1.NamespaceDefault
	about := v1.ObjectReference{Kind: args[0], Name: args[1]}
	if args[0] == "Pod" {
		namespace = podSpace
		about.Name = leaderName
		about.Namespace = namespace
	}
	now := metav1.NewTime(time.Now().Add(time.Second)) // After the start of the container.
	_, err := needStack(ts).Client.CoreV1().Events(namespace).Create(ctx, &v1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "planted-" + strconv.FormatInt(now.UnixNano(), 10), Namespace: namespace}, InvolvedObject: about,
		Type: v1.EventTypeWarning, Reason: args[2], Message: args[3], Source: v1.EventSource{Component: "vzones"}, LastTimestamp: now,
	}, metav1.CreateOptions{})
	ts.Check(err)
}
