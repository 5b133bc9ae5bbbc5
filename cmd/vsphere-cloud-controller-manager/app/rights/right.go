package rights

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// reviewTimeout bounds a question about the daemon's rights.
const reviewTimeout = 10 * time.Second

// A Right is what an account may do in the cluster.
type Right struct {
	Verb, Group, Resource, Subresource string
	// Namespace is empty for all.
	Namespace string
}

// String returns, for instance, patch nodes/status, or create events in default.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Allowed reports whether the client's account has the right.
func (r Right) Allowed(ctx context.Context, client kubernetes.Interface) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
