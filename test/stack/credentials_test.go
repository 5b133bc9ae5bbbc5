package stack

import (
	"context"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSecrets: those that are put can be read by the daemon, and are gone with
// the right to read them after Reset, but for the usual one.
func TestSecrets(t *testing.T) {
	s := start(t, pair)
	ctx := t.Context()
	further := types.NamespacedName{Namespace: "vmware-system-csi", Name: "vsphere-config-secret"}
	for _, content := range []string{"1", "2"} {
		if err := s.PutSecret(ctx, further, map[string][]byte{"key": []byte(content)}); err != nil {
			t.Fatal(err)
		}
		if data, err := s.Secret(ctx, further); err != nil || string(data["key"]) != content {
			t.Errorf("the Secret has %q, %v", data, err)
		}
	}
	if !mayRead(t, ctx, s, further) || mayRead(t, ctx, s, types.NamespacedName{Namespace: "kube-system", Name: "another"}) {
		t.Error("the daemon may read another Secret, or not this one")
	}
	if err := s.DeleteSecret(ctx, TheSecret()); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Secret(ctx, TheSecret()); err != nil || data != nil {
		t.Errorf("a deleted Secret has %q, %v", data, err)
	}
	if err := s.DeleteSecret(ctx, TheSecret()); !apierrors.IsNotFound(err) {
		t.Errorf("deleted twice: %v", err)
	}
	if err := s.Reset(ctx, pair); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Secret(ctx, further); err != nil || data != nil || mayRead(t, ctx, s, further) {
		t.Errorf("after Renew: %q, %v", data, err)
	}
	v := s.Fleet.VCenters()[0]
	if data, err := s.Secret(ctx, TheSecret()); err != nil || string(data[v.Host()+".password"]) != v.Password() {
		t.Errorf("after Renew the Secret has %q, %v", data, err)
	}
	token, err := s.Token()
	if err != nil || strings.Count(token, ".") != 2 {
		t.Errorf("the token is no JWT: %v", err)
	}
}

func mayRead(t *testing.T, ctx context.Context, s *Stack, name types.NamespacedName) bool {
	t.Helper()
	review, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":" + serviceAccount,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: name.Namespace, Resource: "secrets", Name: name.Name, Verb: "watch",
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestCAFile: the file is that of the certificate as it was when it was written.
func TestCAFile(t *testing.T) {
	s := start(t, pair)
	v := s.Fleet.VCenters()[0]
	if _, err := s.WriteConfig(""); err != nil {
		t.Fatal(err)
	}
	old := string(v.Certificate())
	if err := v.RenewCertificate(); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		want := old
		if write {
			want = string(v.Certificate())
			if err := s.WriteCA(v); err != nil {
				t.Fatal(err)
			}
		}
		if data, err := os.ReadFile(s.CAFile(v)); err != nil || string(data) != want {
			t.Errorf("written: %v: the file has\n%s\nwant\n%s\n%v", write, data, want, err)
		}
	}
}
