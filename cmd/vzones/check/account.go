package check

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/running"
	"vzones/config"
	"vzones/topology/quote"
)

// attributes are what a review is asked about.
type attributes = authorizationv1.ResourceAttributes

// A right is what the daemon's account needs in the cluster.
type right struct {
	kind *finding.Kind // of the finding if it is missing
	attributes
	without string // what does not work without it
}

// String returns, for instance, patch nodes/status, or create events in default.
func (r *right) String() string {
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

// rightsOf returns the rights that a daemon needs with a configuration. It leaves out the rights for
// Secrets, for the Lease and to read Nodes: without them the daemon logs an error again and again.
func rightsOf(cfg *config.Config, d *running.Daemon) []right {
	all := []right{
		{finding.RightMissing, attributes{Verb: "update", Resource: "nodes"}, "no Node is initialized"},
		{finding.RightMissing, attributes{Verb: "patch", Resource: "nodes"}, "labels of running Nodes are not corrected, and no Node is marked as shut down"},
		{finding.RightMissing, attributes{Verb: "patch", Resource: "nodes", Subresource: "status"}, "no Node gets addresses or the condition vzones/TopologyReady"},
		{finding.RightWanted, attributes{Verb: "create", Resource: "events", Namespace: v1.NamespaceDefault}, "no Event says why a Node waits"},
		{finding.RightWanted, attributes{Verb: "patch", Resource: "events", Namespace: v1.NamespaceDefault}, "an Event of a Node that repeats is not counted"},
		{finding.RightWanted, attributes{Verb: "create", Resource: "events", Namespace: d.Namespace}, "no Event on the daemon's Pod says that a configuration is refused"},
	}
	if !cfg.SkipNodeDeletion {
		all = append(all, right{finding.RightWanted, attributes{Verb: "delete", Resource: "nodes"}, "Nodes whose machine is gone stay"})
	}
	if d.SecurePort != 0 && d.AuthenticationKubeconfig == "" {
		all = append(all,
			right{finding.RightWanted, attributes{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}, "nobody gets /metrics with a token"},
			right{finding.RightWanted, attributes{Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, "nobody gets /metrics"})
	}
	return all
}

// An account is the ServiceAccount of the daemon's Pod. Its name is empty if it is not known.
type account struct {
	name  string
	lacks []right
	err   error // why not all rights were asked for
}

// accountOf asks the API server which rights the account of a daemon lacks. A daemon with a kubeconfig
// has an account that is not known.
func accountOf(ctx context.Context, client kubernetes.Interface, cfg *config.Config, d *running.Daemon) (a account) {
	if d == nil || d.Kubeconfig != "" {
		return a
	}
	const all = "system:serviceaccounts"
	a.name = d.Namespace + "/" + d.ServiceAccount()
	for _, r := range rightsOf(cfg, d) {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + d.Namespace + ":" + d.ServiceAccount(),
				Groups:             []string{all, all + ":" + d.Namespace, "system:authenticated"},
				ResourceAttributes: &r.attributes,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			a.err = err
			return a
		}
		if !review.Status.Allowed {
			a.lacks = append(a.lacks, r)
		}
	}
	return a
}

// findings finds the rights that the account lacks.
func (a *account) findings() (found []finding.Finding) {
	object := "ServiceAccount " + a.name
	for _, r := range a.lacks {
		found = append(found, finding.Finding{Kind: r.kind, Object: object, Text: "it may not " + r.String() + ": " + r.without})
	}
	if a.err != nil {
		found = append(found, finding.Finding{Kind: finding.NotChecked, Object: "rights of " + object, Text: quote.Line(a.err.Error())})
	}
	return found
}
