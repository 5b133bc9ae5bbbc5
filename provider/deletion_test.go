package provider

import (
	"testing"

	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestDeletionsAreOfTheNodeThatWasAskedAbout: without an answer nothing is deleted, and
// with one only the Node that it was about, once.
func TestDeletionsAreOfTheNodeThatWasAskedAbout(t *testing.T) {
	p, f := provide(states{stateOf("east")})
	f.confirm = nobody
	node := gone()
	var deleted []metav1.DeleteOptions
	client := fake.NewClientset(node)
	client.PrependReactor("delete", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		deleted = append(deleted, a.(clienttesting.DeleteActionImpl).DeleteOptions) //nolint:forcetypeassert // of that verb
		return true, nil, nil
	})
	nodes := func() typedv1.NodeInterface { return p.Client(client).CoreV1().Nodes() }
	del := func(opts metav1.DeleteOptions) error { return nodes().Delete(t.Context(), node.Name, opts) }

	if err := del(metav1.DeleteOptions{}); err == nil {
		t.Error("deleted, and nobody was asked")
	}
	if exists, err := asked(t, p, f, node); exists || err != nil {
		t.Fatalf("%v, %v", exists, err)
	}
	version := "7"
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
	if err := del(opts); err != nil {
		t.Fatal(err)
	}
	if err := del(metav1.DeleteOptions{}); err == nil {
		t.Error("deleted twice")
	}
	if len(deleted) != 1 {
		t.Fatalf("%d requests", len(deleted))
	}
	if pre := deleted[0].Preconditions; pre == nil || pre.UID == nil || *pre.UID != node.UID || pre.ResourceVersion == nil || *pre.ResourceVersion != version {
		t.Errorf("deleted with %+v", pre)
	}
	if opts.Preconditions.UID != nil {
		t.Error("the options of the caller have changed")
	}
	// What is not a deletion is as with the client itself.
	patch := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
	if n, err := nodes().Patch(t.Context(), node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil || n.Labels["a"] != "b" {
		t.Errorf("%v, %v", n, err)
	}
}
