package stack

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// awaitEvent waits until somebody has written an Event about an object of a kind in a
// namespace.
func awaitEvent(t *testing.T, s *Stack, namespace, kind, reason string) {
	t.Helper()
	var all []string
	for range 600 {
		list, err := s.Client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		for i := range list.Items {
			if e := &list.Items[i]; e.InvolvedObject.Kind == kind && e.Reason == reason {
				return
			}
			all = append(all, list.Items[i].InvolvedObject.Kind+" "+list.Items[i].Reason)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Errorf("no Event %s of a %s in %s: %q", reason, kind, namespace, all)
}
