package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

const (
	// uninitializedTaint is set by a kubelet with --cloud-provider=external and removed by the
	// cloud controller manager.
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	// providedAddress is the annotation set by a kubelet with --node-ip.
	providedAddress = "alpha.kubernetes.io/provided-node-ip"
	// createWorkers keeps two cores busy without a queue in the API server.
	createWorkers = 32
)

// A NodeSpec describes a self-registered Node.
type NodeSpec struct {
	Name       string
	SystemUUID string // SMBIOS UUID as reported by the guest
	ProviderID string // value of the kubelet's --provider-id; usually empty
	// ProvidedIP is the value of --node-ip, one or two addresses separated by a comma. Without
	// it the kubelet reports only its host name.
	ProvidedIP string
	Labels     map[string]string // in addition to those set by every kubelet
	// Full adds the data of a Node with running Pods, about 20 KB.
	Full bool
}

// Node returns the Node as registered by a kubelet with an external cloud provider: tainted as
// uninitialized, but ready, with room for 110 Pods.
func (s NodeSpec) Node() *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: s.labels()},
		Spec: corev1.NodeSpec{
			ProviderID: s.ProviderID,
			Taints:     []corev1.Taint{{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Addresses:  s.addresses(),
			Conditions: conditions(),
			NodeInfo: corev1.NodeSystemInfo{
				SystemUUID:              s.SystemUUID,
				MachineID:               strings.ReplaceAll(s.SystemUUID, "-", ""),
				BootID:                  s.SystemUUID,
				KernelVersion:           "6.12.0",
				OSImage:                 "no kubelet runs",
				ContainerRuntimeVersion: "none://0.0.0",
				KubeletVersion:          "v1.37.1",
				OperatingSystem:         "linux",
				Architecture:            runtime.GOARCH,
			},
		},
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	node.Status.Capacity = room
	node.Status.Allocatable = room
	if s.ProvidedIP != "" {
		node.Annotations = map[string]string{providedAddress: s.ProvidedIP}
	}
	if s.Full {
		fill(node)
	}
	return node
}

// fill adds the data of kubelets, network and storage plugins: 50 images, which is the kubelet's
// maximum, 10 volumes, and the fields of two further managers.
func fill(node *corev1.Node) {
	for i := range 50 {
		digest := fmt.Sprintf("%064x", i+1)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("registry.example.com/team-%d/service-%d@sha256:%s", i%7, i, digest), fmt.Sprintf("registry.example.com/team-%d/service-%d:v1.%d.0", i%7, i, i)},
			SizeBytes: int64(i+1) << 20,
		})
	}
	for i := range 10 {
		volume := corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/csi/csi.vsphere.vmware.com^%08x-0000-4000-8000-%012x", i, i))
		node.Status.VolumesInUse = append(node.Status.VolumesInUse, volume)
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{Name: volume, DevicePath: "csi-" + strings.Repeat("0", 64)})
	}
	network := condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "RouteCreated")
	node.Status.Conditions = append(node.Status.Conditions, network)
	for _, manager := range []string{"kube-controller-manager", "network-plugin"} {
		var fields strings.Builder
		for i := range 30 {
			key := fmt.Sprintf("%s.example.com/setting-%d", manager, i)
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, strings.Repeat("x", 40))
			fmt.Fprintf(&fields, `,"f:%s":{}`, key)
		}
		node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: new(metav1.Now()),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{}` + fields.String() + `}}}`),
		})
	}
}

func (s NodeSpec) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:      s.Name,
		corev1.LabelOSStable:      "linux",
		corev1.LabelArchStable:    runtime.GOARCH,
		"beta.kubernetes.io/os":   "linux",
		"beta.kubernetes.io/arch": runtime.GOARCH,
	}
	maps.Copy(labels, s.Labels)
	return labels
}

func (s NodeSpec) addresses() []corev1.NodeAddress {
	var addresses []corev1.NodeAddress
	if s.ProvidedIP != "" {
		for address := range strings.SplitSeq(s.ProvidedIP, ",") {
			addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: strings.TrimSpace(address)})
		}
	}
	return append(addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: s.Name})
}

func conditions() []corev1.NodeCondition {
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.NewTime(time.Now())
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
}

// CreateNode creates a Node with its status in one request, as kubelets do.
func (c *Cluster) CreateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	created, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating Node %s: %w", node.Name, err)
	}
	return created, nil
}

// CreateNodes creates Nodes in parallel. It stops at the first error.
func (c *Cluster) CreateNodes(ctx context.Context, specs []NodeSpec) error {
	begin, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workqueue.ParallelizeUntil(begin, createWorkers, len(specs), func(i int) {
		if _, err := c.CreateNode(ctx, specs[i].Node()); err != nil {
			stop(err)
		}
	})
	return context.Cause(begin)
}

// SetNodeReady sets a Node's condition Ready, like its kubelet or, for ConditionUnknown, like the
// control plane when the kubelet is silent.
func (c *Cluster) SetNodeReady(ctx context.Context, name string, status corev1.ConditionStatus) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reason := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue:    "KubeletReady",
		corev1.ConditionFalse:   "KubeletNotReady",
		corev1.ConditionUnknown: "NodeStatusUnknown",
	}[status]
	patch, err := json.Marshal(map[string]any{
		"status": map[string]any{
			"conditions": []corev1.NodeCondition{condition(corev1.NodeReady, status, reason)},
		},
	})
	if err != nil {
		return err
	}
	// A strategic merge patch merges conditions by type.
	_, err = c.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("setting Node %s ready %s: %w", name, status, err)
	}
	return nil
}
