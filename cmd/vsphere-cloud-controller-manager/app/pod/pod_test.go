package pod

import (
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestRecorder: Events are about the Pod that the environment names, and there are none without one.
func TestRecorder(t *testing.T) {
	for _, name := range []string{"ccm-1", ""} {
		t.Setenv("POD_NAME", name)
		t.Setenv("POD_NAMESPACE", "kube-system")
		t.Setenv("POD_UID", "u")
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			r, end := NewRecorder(t.Context(), client)
			r.Record(v1.EventTypeNormal, "ConfigurationApplied", "It is in force.")
			synctest.Wait()
			end()
			var about []v1.ObjectReference
			for _, a := range client.Actions() {
				if create, ok := a.(clienttesting.CreateAction); ok {
					about = append(about, create.GetObject().(*v1.Event).InvolvedObject)
				}
			}
			want := v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "kube-system", Name: name, UID: "u"}
			if (len(about) == 1) != (name != "") || len(about) == 1 && about[0] != want {
				t.Errorf("%q: %+v", name, about)
			}
		})
	}
}
