package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"vzones/provider"
)

const (
	// rightTimeout bounds a question about the daemon's rights.
	rightTimeout = 10 * time.Second
	// accountPatience is how long the API server may fail to say whether a client can
	// have its account. It is asked again every accountRetry.
	accountPatience, accountRetry = 30 * time.Second, time.Second
)

// What the log says of a client that has no account of its own, and of a right that is
// missing. docs/reference/compared-with-the-cpi.md has both.
const (
	noAccount = "A client has the daemon's own credentials, not those of a ServiceAccount as --use-service-account-credentials says: " +
		"grant what is missing and restart it, or take the flag out"
	noRight = "A right is missing: grant it, as the manifest's roles do"
)

// frameworksClient is the name of the client of the framework's controllers that run here.
func frameworksClient() string {
	return app.DefaultInitFuncConstructors[names.CloudNodeController].InitContext.ClientName
}

// ownAccounts returns what makes clients with --use-service-account-credentials: as the
// framework's, but that tokens are asked for quietly, and that a client whose token the
// daemon may not ask for has the daemon's own credentials. With the roles that the CPI is
// released with it may ask for none. It is an error if the API server does not say so: a
// leader whose clients get no token would do nothing for good.
func ownAccounts(ctx context.Context, c *appconfig.CompletedConfig) (cloudprovider.ControllerClientBuilder, error) {
	return accountsOf(ctx, c.Client, c.Kubeconfig, accountRetry, accountPatience)
}

func accountsOf(ctx context.Context, client kubernetes.Interface, cfg *rest.Config, retry, patience time.Duration) (accountBuilder, error) {
	core := quietCore{client.CoreV1()}
	b := accountBuilder{
		accounts: clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(cfg), core, metav1.NamespaceSystem),
		own:      clientbuilder.SimpleControllerClientBuilder{ClientConfig: cfg},
		without:  map[string]bool{},
	}
	for _, name := range []string{frameworksClient(), provider.ClientName} {
		var why, last error
		err := wait.PollUntilContextTimeout(ctx, retry, patience, true, func(ctx context.Context) (bool, error) {
			why, last = b.refused(ctx, client, core, name)
			return last == nil, nil
		})
		if err != nil {
			return b, fmt.Errorf("the API server does not say whether a client can have the ServiceAccount %s/%s, as --use-service-account-credentials asks for: %w",
				metav1.NamespaceSystem, name, cmp.Or(last, err))
		}
		if why != nil {
			b.without[name] = true
			klog.FromContext(ctx).Info(noAccount, "serviceAccount", klog.KRef(metav1.NamespaceSystem, name), "err", why)
		}
	}
	return b, nil
}

// accountBuilder makes clients with a ServiceAccount in kube-system each, of the client's
// name.
type accountBuilder struct {
	accounts, own cloudprovider.ControllerClientBuilder
	// without are the names of clients that have the daemon's own credentials.
	without map[string]bool
}

// refused returns why a client cannot have the account of its name, nil if it can. The
// error is for nobody knows.
func (b accountBuilder) refused(ctx context.Context, client kubernetes.Interface, core corev1client.CoreV1Interface, name string) (why, err error) {
	// This looks for the account, and makes it.
	if _, err := b.accounts.Config(name); err != nil {
		return unlessForbidden(err)
	}
	token := right{verb: "create", resource: "serviceaccounts", sub: "token", namespace: metav1.NamespaceSystem, name: name}
	allowed, err := token.allowed(ctx, client)
	switch {
	case apierrors.IsForbidden(err):
		// Some clusters let accounts ask for nothing about themselves. The token itself tells.
		ctx, cancel := context.WithTimeout(ctx, rightTimeout)
		defer cancel()
		_, err := core.ServiceAccounts(metav1.NamespaceSystem).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return unlessForbidden(err)
	case err != nil:
		return nil, err
	case !allowed:
		return fmt.Errorf("the daemon's account may not %s", token), nil
	}
	return nil, nil
}

func unlessForbidden(err error) (why, other error) {
	if apierrors.IsForbidden(err) {
		return err, nil
	}
	return nil, err
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
