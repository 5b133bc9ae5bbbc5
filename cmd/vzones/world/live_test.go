package world

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The client of a Live sends no request that could change an object.
func TestReadOnly(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "Node", "apiVersion": "v1"}`))
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	nodes := client.CoreV1().Nodes()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	for verb, write := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error { _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); return err },
		"update": func(ctx context.Context) error { _, err := nodes.Update(ctx, node, metav1.UpdateOptions{}); return err },
		"patch": func(ctx context.Context) error {
			_, err := nodes.Patch(ctx, "node-1", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"delete": func(ctx context.Context) error { return nodes.Delete(ctx, "node-1", metav1.DeleteOptions{}) },
	} {
		if err := write(t.Context()); err == nil {
			t.Errorf("%s: no error", verb)
		}
	}
	if len(sent) > 0 {
		t.Errorf("sent %v, want nothing", sent)
	}
	if _, err := nodes.Get(t.Context(), "node-1", metav1.GetOptions{}); err != nil || len(sent) != 1 {
		t.Errorf("get: error %v, sent %v", err, sent)
	}
}
