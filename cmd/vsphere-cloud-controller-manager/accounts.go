package main

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"vzones/provider"
)

// rightTimeout bounds a question about the daemon's rights.
const rightTimeout = 10 * time.Second

// What the log says of a client that has no account of its own, and of a right that is
// missing. docs/how-to/move-from-the-vsphere-cpi.md has both.
const (
	noAccount = "A client has the daemon's own credentials, not those of a ServiceAccount as --use-service-account-credentials says: " +
		"grant what is missing, or take the flag out"
	noRight = "A right is missing: grant it, as the manifest's roles do"
)

// frameworksClient is the name of the client of the framework's controllers that run here.
func frameworksClient() string {
	return app.DefaultInitFuncConstructors[names.CloudNodeController].InitContext.ClientName
}

// ownAccounts returns what makes clients with --use-service-account-credentials: as the
// framework's, but that tokens are asked for quietly, and that a client whose token the
// daemon may not ask for has the daemon's own credentials. With the roles that the CPI is
// released with it may ask for none.
func ownAccounts(ctx context.Context, c *appconfig.CompletedConfig) cloudprovider.ControllerClientBuilder {
	b := accountBuilder{
		accounts: clientbuilder.NewDynamicClientBuilder(
			rest.AnonymousClientConfig(c.Kubeconfig), quietCore{c.Client.CoreV1()}, metav1.NamespaceSystem),
		own:     clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig},
		without: map[string]bool{},
	}
	for _, name := range []string{frameworksClient(), provider.ClientName} {
		if err := b.refused(ctx, c.Client, name); err != nil {
			b.without[name] = true
			klog.FromContext(ctx).Info(noAccount, "serviceAccount", metav1.NamespaceSystem+"/"+name, "why", err.Error())
		}
	}
	return b
}

// accountBuilder makes clients with a ServiceAccount in kube-system each, of the client's
// name.
type accountBuilder struct {
	accounts, own cloudprovider.ControllerClientBuilder
	// without are the names of clients that have the daemon's own credentials.
	without map[string]bool
}

// refused returns why a client cannot have the account of its name, nil if it can or nobody
// knows: then whoever makes the client is told.
func (b accountBuilder) refused(ctx context.Context, client kubernetes.Interface, name string) error {
	// This looks for the account, and makes it.
	if _, err := b.accounts.Config(name); err != nil {
		if apierrors.IsForbidden(err) {
			return err
		}
		return nil
	}
	token := right{verb: "create", resource: "serviceaccounts", sub: "token", namespace: metav1.NamespaceSystem, name: name}
	if allowed, err := token.allowed(ctx, client); err != nil || allowed {
		return nil //nolint:nilerr // the token will be asked for, which tells
	}
	return fmt.Errorf("the daemon's account may not %s", token)
}

// of returns what makes the client of a name.
func (b accountBuilder) of(name string) cloudprovider.ControllerClientBuilder {
	if b.without[name] {
		return b.own
	}
	return b.accounts
}

// Config, ConfigOrDie, Client and ClientOrDie implement the framework's interface.
func (b accountBuilder) Config(name string) (*rest.Config, error) { return b.of(name).Config(name) }

func (b accountBuilder) ConfigOrDie(name string) *rest.Config { return b.of(name).ConfigOrDie(name) }

func (b accountBuilder) Client(name string) (kubernetes.Interface, error) {
	return b.of(name).Client(name)
}

func (b accountBuilder) ClientOrDie(name string) kubernetes.Interface {
	return b.of(name).ClientOrDie(name)
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
