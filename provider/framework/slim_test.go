package framework

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
)

// TestSlim: the parts of a Node that are read or written back are kept.
func TestSlim(t *testing.T) {
	whole := slimNode("node-1", withProviderID("vsphere://"+uuidA), withSystemUUID(uuidA))
	whole.Labels = map[string]string{"a": "b"}
	whole.Annotations = map[string]string{nodeinfo.KeyVM: "east/vm-1", "example.com/big": strings.Repeat("x", 100_000)}
	whole.Finalizers = []string{"example.com/f"}
	whole.OwnerReferences = []metav1.OwnerReference{{Name: "o"}}
	zoneByKubelet := metav1.ManagedFieldsEntry{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:topology.kubernetes.io/zone":{}}`)}
	whole.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubelet"}, {Manager: "kubectl-label", FieldsV1: zoneByKubelet.FieldsV1},
		{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:topology.kubernetes.io/zone":{},"f:kubernetes.io/os":{}}}}`)},
	}
	whole.Spec.PodCIDR = "10.0.0.0/24"
	whole.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeHostName, Address: "node-1"}}
	whole.Status.Images = []v1.ContainerImage{{Names: []string{"image"}}}
	whole.Status.Conditions = append(whole.Status.Conditions, v1.NodeCondition{Type: v1.NodeDiskPressure})
	ours := v1.NodeCondition{Type: nodeinfo.TopologyReady, Status: v1.ConditionFalse, Reason: "TopologyDrift", Message: "label", LastTransitionTime: metav1.Unix(1, 0)}
	whole.Status.Conditions = append(whole.Status.Conditions, ours)
	whole.Status.Conditions[2].LastHeartbeatTime = metav1.Unix(2, 0)
	whole.Status.NodeInfo.KernelVersion = "6"
	for range 100 {
		whole.Status.VolumesAttached = append(whole.Status.VolumesAttached, v1.AttachedVolume{Name: "csi/volume", DevicePath: strings.Repeat("x", 1000)})
	}

	got := slimmed(t, whole.DeepCopy())
	want := whole.DeepCopy()
	want.ManagedFields = []metav1.ManagedFieldsEntry{zoneByKubelet}
	want.Status = v1.NodeStatus{
		Addresses: whole.Status.Addresses, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}, ours},
		NodeInfo: v1.NodeSystemInfo{SystemUUID: uuidA}, VolumesAttached: []v1.AttachedVolume{{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slimming a whole Node (-want +got):\n%s", diff)
	}
	if gone, err := slim("a tombstone"); gone != "a tombstone" || err != nil {
		t.Error(gone, err)
	}
}

// TestSlimIsShort: a cut provider ID still belongs to the same provider, and cannot be parsed.
func TestSlimIsShort(t *testing.T) {
	for id, foreign := range map[string]bool{
		"vsphere://" + strings.Repeat("x", 1<<20):         false,
		"vsphere://" + uuidA + strings.Repeat("x", 1<<20): false,
		"vsphere://" + uuidA + strings.Repeat(" ", 1<<20): false,
		"vsphere://" + strings.Repeat(" ", 1<<20) + uuidA: false,
		"other://" + strings.Repeat("x", 1<<20):           true,
		strings.Repeat("x", 1<<20):                        true,
	} {
		n := slimmed(t, slimNode("node-1", withProviderID(id), withSystemUUID(uuidA+strings.Repeat(" ", 1<<20)), func(n *v1.Node) {
			for range 1000 {
				address(n, v1.NodeInternalIP, "10.0.0.1")
			}
			address(n, v1.NodeHostName, strings.Repeat("x", 1<<20))
			n.Status.Conditions = []v1.NodeCondition{{Type: nodeinfo.TopologyReady, Message: strings.Repeat("x", 1<<20)}}
		}))
		if len(n.Status.Conditions) > 0 {
			t.Errorf("%.60q: conditions %.300v", id, n.Status.Conditions)
		}
		if len(n.Spec.ProviderID) > longestProviderID || nodeinfo.IsOtherProviders(n.Spec.ProviderID) != foreign || n.Status.NodeInfo.SystemUUID != "" || len(n.Status.Addresses) != mostAddresses {
			t.Errorf("%.60q: foreign %v, %d addresses", n.Spec.ProviderID, nodeinfo.IsOtherProviders(n.Spec.ProviderID), len(n.Status.Addresses))
		}
		for _, id := range []string{id, n.Spec.ProviderID} {
			if u, err := nodeinfo.ParseProviderID(id); err == nil || len(err.Error()) > 1000 {
				t.Errorf("%.60q is %s: %.300v", id, u, err)
			}
		}
		if !foreign && !strings.Contains(n.Spec.ProviderID, " bytes)") {
			t.Errorf("%q does not tell its length", n.Spec.ProviderID)
		}
	}
}

// slimmed returns a slim Node. An informer may call slim twice, with the same result.
func slimmed(t *testing.T, n *v1.Node) *v1.Node {
	t.Helper()
	var before *v1.Node
	for range 2 {
		object, err := slim(n)
		if err != nil {
			t.Fatal(err)
		}
		n = object.(*v1.Node) //nolint:forcetypeassert // of a Node it is one
		if before != nil {
			if diff := cmp.Diff(before, n); diff != "" {
				t.Errorf("slimming a Node again changes it (-before +after):\n%s", diff)
			}
		}
		before = n.DeepCopy()
	}
	return n
}

const uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"

func slimNode(name string, changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func withSystemUUID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.NodeInfo.SystemUUID = s }
}

func withProviderID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.ProviderID = s }
}

func address(n *v1.Node, kind v1.NodeAddressType, value string) {
	n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: kind, Address: value})
}
