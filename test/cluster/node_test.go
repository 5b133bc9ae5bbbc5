package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const testUUID = "422e4956-ad22-1139-6d72-59cc8f26bc90"

func testNode(t *testing.T, c *Cluster) {
	ctx := t.Context()
	spec := NodeSpec{
		Name:       "node-1",
		SystemUUID: testUUID,
		ProviderID: "vsphere://" + testUUID,
		ProvidedIP: "192.0.2.7,2001:db8::7",
		Labels:     map[string]string{"rack": "a"},
	}
	want := spec.Node()
	created, err := c.CreateNode(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	// The API keeps seconds.
	for i := range want.Status.Conditions {
		want.Status.Conditions[i].LastHeartbeatTime = created.Status.Conditions[i].LastHeartbeatTime
		want.Status.Conditions[i].LastTransitionTime = created.Status.Conditions[i].LastTransitionTime
	}
	for what, pair := range map[string][2]any{
		"spec":        {created.Spec, want.Spec},
		"status":      {created.Status, want.Status},
		"labels":      {created.Labels, want.Labels},
		"annotations": {created.Annotations, map[string]string{"alpha.kubernetes.io/provided-node-ip": "192.0.2.7,2001:db8::7"}},
	} {
		if what == "status" {
			// Defaulted by the server.
			s := pair[0].(corev1.NodeStatus)
			s.DaemonEndpoints = want.Status.DaemonEndpoints
			pair[0] = s
		}
		if !equality.Semantic.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %+v, want %+v", what, pair[0], pair[1])
		}
	}
	if len(created.Spec.Taints) != 1 || created.Spec.Taints[0].Key != uninitializedTaint {
		t.Errorf("taints %v, want %s alone", created.Spec.Taints, uninitializedTaint)
	}
	if _, err := c.CreateNode(ctx, spec.Node()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("once more: error %v, want that it exists", err)
	}

	for _, status := range []corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionFalse, corev1.ConditionTrue} {
		if err := c.SetNodeReady(ctx, "node-1", status); err != nil {
			t.Fatal(err)
		}
		node, err := c.Client().CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if i < 0 || node.Status.Conditions[i].Status != status || len(node.Status.Conditions) != 4 {
			t.Errorf("conditions %v, want four and Ready %s", node.Status.Conditions, status)
		}
	}
	if err := c.SetNodeReady(ctx, "node-0", corev1.ConditionTrue); !apierrors.IsNotFound(err) {
		t.Errorf("of a Node that is not there: error %v, want not found", err)
	}
}

func testManyNodes(t *testing.T, c *Cluster) {
	ctx := t.Context()
	var specs []NodeSpec
	for i := range 200 {
		specs = append(specs, NodeSpec{Name: fmt.Sprintf("many-%d", i), SystemUUID: testUUID, Labels: map[string]string{"many": ""}})
	}
	began := time.Now()
	if err := c.CreateNodes(ctx, specs); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d Nodes in %s", len(specs), time.Since(began).Round(time.Millisecond))
	nodes, err := c.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "many"})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != len(specs) {
		t.Errorf("%d Nodes, want %d", len(nodes.Items), len(specs))
	}
	if err := c.CreateNodes(ctx, specs); !apierrors.IsAlreadyExists(err) {
		t.Errorf("once more: error %v, want that one exists", err)
	}
}

func TestANodeWithoutAddress(t *testing.T) {
	node := NodeSpec{Name: "plain"}.Node()
	if len(node.Annotations) > 0 || node.Spec.ProviderID != "" {
		t.Errorf("annotations %v, provider ID %q, want neither", node.Annotations, node.Spec.ProviderID)
	}
	want := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "plain"}}
	if !slices.Equal(node.Status.Addresses, want) {
		t.Errorf("addresses %v, want %v", node.Status.Addresses, want)
	}
}
