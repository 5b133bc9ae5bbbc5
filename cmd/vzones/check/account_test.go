package check

import (
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"vzones/cmd/vzones/running"
	"vzones/config"
)

// TestMissingRights: each is found once, with what does not work without it. The script
// check-account shows that the answers of an API server are understood.
func TestMissingRights(t *testing.T) {
	none := func(*authorizationv1.ResourceAttributes) (bool, error) { return false, nil }
	const object = "ServiceAccount kube-system/ccm"
	port := []string{
		"VZ127 " + object + ": it may not create tokenreviews.authentication.k8s.io: nobody gets /metrics with a token",
		"VZ127 " + object + ": it may not create subjectaccessreviews.authorization.k8s.io: nobody gets /metrics",
	}
	deletes := "VZ127 " + object + ": it may not delete nodes: Nodes whose machine is gone stay"
	always := []string{
		"VZ126 " + object + ": it may not update nodes: no Node is initialized",
		"VZ126 " + object + ": it may not patch nodes: labels of running Nodes are not corrected, and no Node is marked as shut down",
		"VZ126 " + object + ": it may not patch nodes/status: no Node gets addresses or the condition vzones/TopologyReady",
		"VZ127 " + object + ": it may not create events in default: no Event says why a Node waits",
		"VZ127 " + object + ": it may not patch events in default: an Event of a Node that repeats is not counted",
		"VZ127 " + object + ": it may not create events in kube-system: no Event on the daemon's Pod says that a configuration is refused",
	}
	for name, c := range map[string]struct {
		cfg     config.Config
		flags   []string
		allowed func(*authorizationv1.ResourceAttributes) (bool, error)
		want    []string
	}{
		"all":                   {allowed: none, want: slices.Concat(port, always, []string{deletes})},
		"skipDeletion":          {cfg: config.Config{SkipNodeDeletion: true}, allowed: none, want: slices.Concat(port, always)},
		"no port":               {flags: []string{"--secure-port=0"}, allowed: none, want: append(slices.Clone(always), deletes)},
		"reviews by another":    {flags: []string{"--authentication-kubeconfig=f"}, allowed: none, want: append(slices.Clone(always), deletes)},
		"an account of its own": {flags: []string{"--kubeconfig=f"}, allowed: none},
		"none":                  {allowed: func(*authorizationv1.ResourceAttributes) (bool, error) { return true, nil }},
		"delete denied":         {allowed: func(a *authorizationv1.ResourceAttributes) (bool, error) { return a.Verb != "delete", nil }, want: []string{deletes}},
		"nobody may ask":        {allowed: func(*authorizationv1.ResourceAttributes) (bool, error) { return false, errors.New("no right") }, want: []string{"VZ125 rights of " + object + ": no right"}},
		"no answer in the middle": {allowed: func(a *authorizationv1.ResourceAttributes) (bool, error) {
			if a.Resource == "events" {
				return false, errors.New("no answer")
			}
			return false, nil
		}, want: append(slices.Clone(always[:3]), "VZ125 rights of "+object+": no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "kube-system", Labels: map[string]string{"component": "cloud-controller-manager"}},
				Spec: v1.PodSpec{ServiceAccountName: "ccm", Containers: []v1.Container{{
					Image: "vsphere-cloud-controller-manager:v1", Args: append([]string{"--cloud-provider=vsphere"}, c.flags...),
				}}},
			})
			client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
				review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
				if groups := []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}; review.Spec.User != "system:serviceaccount:kube-system:ccm" || !slices.Equal(review.Spec.Groups, groups) {
					t.Errorf("asked for %+v", review.Spec)
				}
				var err error
				review.Status.Allowed, err = c.allowed(review.Spec.ResourceAttributes)
				return true, review, err
			})
			d, err := running.Find(t.Context(), client, "kube-system")
			if err != nil {
				t.Fatal(err)
			}
			a := accountOf(t.Context(), client, &c.cfg, d)
			var got []string
			for _, f := range a.findings() {
				got = append(got, f.ID+" "+f.Object+": "+f.Text)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if a := accountOf(t.Context(), nil, &config.Config{}, nil); len(a.findings()) > 0 {
		t.Error("there is no daemon")
	}
}
