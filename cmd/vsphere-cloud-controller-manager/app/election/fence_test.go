package election

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestFence: a client of the framework reads all the time, writes Events all the
// time, and writes to Nodes only while this process leads. Who lowers the fence can
// wait for a write that has passed.
func TestFence(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			close(arrived)
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}`))
	}))
	defer api.Close()
	f := &Fence{}
	nodes := kubernetes.NewForConfigOrDie(f.Config(&rest.Config{Host: api.URL})).CoreV1().Nodes()
	write := func() error {
		_, err := nodes.Patch(t.Context(), "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
		return err
	}
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("before it leads: %v", err)
	}
	if _, err := nodes.Get(t.Context(), "n", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	f.Raise()
	if err := write(); err != nil {
		t.Error(err)
	}
	deleted := make(chan error)
	go func() { deleted <- nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}) }()
	<-arrived
	idle := f.Lower()
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("when it leads no more: %v", err)
	}
	select {
	case <-idle:
		t.Error("a write is under way")
	default:
	}
	close(answer)
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	<-idle
	<-f.Lower() // again, and nothing is under way
	f.Raise()
	if err := write(); !errors.Is(err, ErrFenced) {
		t.Errorf("when it led before it knew: %v", err)
	}
}
