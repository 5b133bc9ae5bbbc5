package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"
)

// rightTimeout bounds a question about the daemon's rights.
const rightTimeout = 10 * time.Second

// ownAccounts returns what makes clients with --use-service-account-credentials: as the
// framework's, but that tokens are asked for quietly, and that a client whose token the
// daemon may not ask for has the daemon's own credentials. With those roles that the CPI is
// released with it may ask for none.
func ownAccounts(ctx context.Context, c *appconfig.CompletedConfig) cloudprovider.ControllerClientBuilder {
	return &accountBuilder{
		ctx: ctx,
		accounts: clientbuilder.NewDynamicClientBuilder(
			rest.AnonymousClientConfig(c.Kubeconfig), quietCore{c.Client.CoreV1()}, metav1.NamespaceSystem),
		own:    clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig},
		client: c.Client,
		may:    map[string]error{},
	}
}

// accountBuilder makes clients with a ServiceAccount in kube-system each, of the client's
// name.
type accountBuilder struct {
	ctx           context.Context //nolint:containedctx // the framework's interface carries none
	accounts, own cloudprovider.ControllerClientBuilder
	client        kubernetes.Interface

	mu sync.Mutex
	// may has for each name that was asked for why its account's token may not be asked
	// for, nil if it may.
	may map[string]error
}

// Config returns the configuration of the client of a name.
func (b *accountBuilder) Config(name string) (*rest.Config, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refused, known := b.may[name]
	if !known {
		cfg, err := b.accounts.Config(name) // looks for the account, and makes it
		switch {
		case apierrors.IsForbidden(err):
			refused = err
		case err != nil:
			return cfg, err
		default:
			refused = b.refused(name)
		}
		b.may[name] = refused
		if refused != nil {
			klog.FromContext(b.ctx).Info("A client has the daemon's own credentials, not those of a ServiceAccount as --use-service-account-credentials says: "+
				"grant what is missing, or take the flag out",
				"serviceAccount", metav1.NamespaceSystem+"/"+name, "why", refused.Error())
		}
	}
	if refused != nil {
		return b.own.Config(name)
	}
	return b.accounts.Config(name)
}

// refused returns why no token of an account may be asked for, nil if one may or nobody
// knows.
func (b *accountBuilder) refused(name string) error {
	r := right{verb: "create", resource: "serviceaccounts", sub: "token", namespace: metav1.NamespaceSystem, name: name}
	if allowed, err := r.allowed(b.ctx, b.client); err != nil || allowed {
		return nil //nolint:nilerr // the token will be asked for, and tells
	}
	return fmt.Errorf("the daemon's account may not %s", r)
}

// ConfigOrDie is Config, but ends the process for an error, as the framework's does.
func (b *accountBuilder) ConfigOrDie(name string) *rest.Config {
	cfg, err := b.Config(name)
	if err != nil {
		klog.Fatal(err)
	}
	return cfg
}

// Client returns the client of a name.
func (b *accountBuilder) Client(name string) (kubernetes.Interface, error) {
	cfg, err := b.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cfg)
}

// ClientOrDie is Client, but ends the process for an error, as the framework's does.
func (b *accountBuilder) ClientOrDie(name string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(b.ConfigOrDie(name))
}

// A right is what an account may do in the cluster.
type right struct{ verb, group, resource, sub, namespace, name string }

// String is as in: create serviceaccounts/token "node-controller" in kube-system.
func (r right) String() string {
	text := r.verb + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.sub != "" {
		text += "/" + r.sub
	}
	if r.name != "" {
		text += fmt.Sprintf(" %q", r.name)
	}
	if r.namespace != "" {
		text += " in " + r.namespace
	}
	return text
}

// allowed asks whether the client's account has the right.
func (r right) allowed(ctx context.Context, client kubernetes.Interface) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, rightTimeout)
	defer cancel()
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.sub, Namespace: r.namespace, Name: r.name,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
