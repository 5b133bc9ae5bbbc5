// Package rightstest fakes API servers that say which rights an account has, for tests.
package rightstest

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Reviewing returns a client of an API server that answers each question about a right by allowed.
func Reviewing(allowed func(*authorizationv1.ResourceAttributes) (bool, error)) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		var err error
		review.Status.Allowed, err = allowed(review.Spec.ResourceAttributes)
		return true, review, err
	})
	return client
}
