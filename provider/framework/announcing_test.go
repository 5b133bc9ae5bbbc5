package framework_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/provider/framework"
)

// received contains the Nodes that a handler was called for.
type received struct {
	mu    sync.Mutex
	names []string
}

func (h *received) note(what string, o any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, ok := o.(*v1.Node); ok {
		h.names = append(h.names, what+" "+n.Name)
		slices.Sort(h.names)
	}
}

func (h *received) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { h.note("add", o) }, UpdateFunc: func(_, o any) { h.note("update", o) },
		DeleteFunc: func(o any) { h.note("delete", o) },
	}
}

func (h *received) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.names, want) {
		t.Errorf("received %q, want %q", h.names, want)
	}
	h.names = nil
}

// TestOnlyAnnounced: uninitialized Nodes reach the framework only when they are announced or deleted, or when a handler is
// added after possible announcements.
func TestOnlyAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taint := []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		waits := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Spec: v1.NodeSpec{Taints: taint}}
		runs := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "runs"}}
		client := fake.NewClientset(waits, runs)
		factory := informers.NewSharedInformerFactory(client, 0)
		nodes := framework.NewCache(func(*v1.Node) bool { return false })
		nodes.Watch(factory)
		var early, late received
		add := func(h *received) {
			if _, err := nodes.Informer().AddEventHandler(h.handler()); err != nil {
				t.Fatal(err)
			}
		}
		add(&early)
		factory.Start(t.Context().Done())
		early.want(t, "add runs")

		changed := waits.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		if _, err := client.CoreV1().Nodes().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		early.want(t)
		nodes.Announce(waits)
		early.want(t, "update waits")
		add(&late)
		late.want(t, "add runs", "add waits")

		changed.Spec.Taints = nil
		if _, err := client.CoreV1().Nodes().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		early.want(t, "update waits")
		late.want(t, "update waits")
		if err := client.CoreV1().Nodes().Delete(t.Context(), "waits", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		early.want(t, "delete waits")
	})
}
