package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vzones/test/cluster"
)

const (
	driver = "csi.vsphere.vmware.com"
	handle = "volume-1"
	// finalizer is the external attacher's.
	finalizer = "external-attacher/csi-vsphere-vmware-com"
	// managedAttach is the annotation with which a kubelet leaves attaching to kube-controller-manager.
	managedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"
	// renewEvery is a kubelet's default interval for its Lease, statusEvery the shorter interval of its syncs here.
	renewEvery  = 10 * time.Second
	statusEvery = time.Second
)

// every calls sync at an interval until the context is done. A conflict or a missing object is retried.
func every(ctx context.Context, t *testing.T, interval time.Duration, sync func() error) {
	for {
		err := sync()
		if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			t.Errorf("a stand-in: %v", err)
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return
		}
	}
}

// attach answers VolumeAttachments.
func attach(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	attachments := client.StorageV1().VolumeAttachments()
	every(ctx, t, 100*time.Millisecond, func() error {
		list, err := attachments.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			a := &list.Items[i]
			switch {
			case a.DeletionTimestamp != nil:
				a.Finalizers = slices.DeleteFunc(a.Finalizers, func(f string) bool { return f == finalizer })
				_, err = attachments.Update(ctx, a, metav1.UpdateOptions{})
			case !slices.Contains(a.Finalizers, finalizer):
				a.Finalizers = append(a.Finalizers, finalizer)
				_, err = attachments.Update(ctx, a, metav1.UpdateOptions{})
			case !a.Status.Attached:
				a.Status.Attached = true
				_, err = attachments.UpdateStatus(ctx, a, metav1.UpdateOptions{})
			default:
				continue
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// A kubelet reports a Node and its Pods until it is killed.
type kubelet struct {
	client  kubernetes.Interface
	node    string
	renewed time.Time
	kill    func()
}

func startKubelet(ctx context.Context, t *testing.T, c *cluster.Cluster, node string) *kubelet {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	k := &kubelet{client: c.Client(), node: node}
	done := make(chan struct{})
	go func() {
		defer close(done)
		every(ctx, t, statusEvery, func() error { return errors.Join(k.renew(ctx), k.syncPods(ctx)) })
	}()
	k.kill = func() { cancel(); <-done }
	return k
}

func (k *kubelet) renew(ctx context.Context) error {
	if time.Since(k.renewed) < renewEvery {
		return nil
	}
	leases := k.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	now := metav1.NowMicro()
	lease, err := leases.Get(ctx, k.node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: k.node}}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &k.node, LeaseDurationSeconds: new(int32(40)), RenewTime: &now}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	case err == nil:
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err == nil {
		k.renewed = now.Time
	}
	return err
}

// syncPods starts the Node's Pods, ends those that are deleted, and reports their volumes as in use.
func (k *kubelet) syncPods(ctx context.Context) error {
	pods, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.node})
	if err != nil {
		return err
	}
	var used []v1.UniqueVolumeName
	for i := range pods.Items {
		p := &pods.Items[i]
		switch {
		case p.DeletionTimestamp != nil:
			err = k.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		case p.Status.Phase == v1.PodPending:
			used = append(used, v1.UniqueVolumeName("kubernetes.io/csi/"+driver+"^"+handle))
			err = k.run(ctx, p)
		default:
			used = append(used, v1.UniqueVolumeName("kubernetes.io/csi/"+driver+"^"+handle))
		}
		if err != nil {
			return err
		}
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Annotations[managedAttach] == "" {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, managedAttach, "true")
		if node, err = k.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if slices.Equal(node.Status.VolumesInUse, used) {
		return nil
	}
	node.Status.VolumesInUse = used
	_, err = k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// run reports a Pod as running once its volume is attached to the Node.
func (k *kubelet) run(ctx context.Context, p *v1.Pod) error {
	attached, err := attachedTo(ctx, k.client)
	if err != nil || !slices.Contains(attached, k.node) {
		return err
	}
	now := metav1.Now()
	p.Status.Phase = v1.PodRunning
	p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: now})
	p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}}}
	_, err = k.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// attachedTo returns the Nodes to which the volume is attached.
func attachedTo(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	list, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	var nodes []string
	for _, a := range list.Items {
		if a.Status.Attached {
			nodes = append(nodes, a.Spec.NodeName)
		}
	}
	return nodes, nil
}

// driverObjects are what the CSI driver's installation creates.
func driverObjects(ctx context.Context, client kubernetes.Interface, nodes ...string) error {
	_, err := client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)},
	}, metav1.CreateOptions{})
	for _, name := range nodes {
		if err != nil {
			return err
		}
		_, err = client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: name}}},
		}, metav1.CreateOptions{})
	}
	return err
}
