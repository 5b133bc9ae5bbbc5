// Package accounts makes clients with a ServiceAccount each, as
// --use-service-account-credentials asks for. It never lets a token be logged.
package accounts

import (
	"cmp"
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/rights"
	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/provider"
)

const (
	// tokenTimeout bounds a request for a token.
	tokenTimeout = 10 * time.Second
	// accountTimeout is how long the API server may fail to say whether a client can have its
	// account. It is asked again every accountRetry.
	accountTimeout, accountRetry = 30 * time.Second, time.Second
)

// noAccount is what the log says of a client that has no account of its own.
const noAccount = "A client has the daemon's own credentials, not those of a ServiceAccount as --use-service-account-credentials says: " +
	"grant what is missing and restart it, or take the flag out"

// NewBuilder returns what makes clients with --use-service-account-credentials. It differs from
// the framework's: requests for tokens are not logged, and a client whose token the daemon may
// not request has the daemon's own credentials. With the roles that the CPI is released with it
// may request none. It is an error if the API server does not say: a leader whose clients never
// get a token would do nothing.
func NewBuilder(ctx context.Context, c *appconfig.CompletedConfig) (Builder, error) {
	return newBuilder(ctx, c.Client, c.Kubeconfig, accountRetry, accountTimeout)
}

func newBuilder(ctx context.Context, client kubernetes.Interface, cfg *rest.Config, retry, timeout time.Duration) (Builder, error) {
	core := quietCore{client.CoreV1()}
	b := Builder{
		accounts: clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(cfg), core, metav1.NamespaceSystem),
		own:      clientbuilder.SimpleControllerClientBuilder{ClientConfig: cfg},
		without:  map[string]bool{},
	}
	for _, name := range []string{rights.FrameworkClient(), provider.ClientName} {
		var why, last error
		err := wait.PollUntilContextTimeout(ctx, retry, timeout, true, func(ctx context.Context) (bool, error) {
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

// A Builder makes clients with a ServiceAccount in kube-system each, of the client's
// name.
type Builder struct {
	accounts, own cloudprovider.ControllerClientBuilder
	// without are the names of clients that have the daemon's own credentials.
	without map[string]bool
}

// refused returns why a client cannot have the account of its name, nil if it can. The error
// means that it could not be found out.
func (b Builder) refused(ctx context.Context, client kubernetes.Interface, core corev1client.CoreV1Interface, name string) (why, err error) {
	// This looks for the account, and creates it.
	if _, err := b.accounts.Config(name); err != nil {
		return unlessForbidden(err)
	}
	token := rights.Right{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: metav1.NamespaceSystem, Name: name}
	allowed, err := token.Allowed(ctx, client)
	switch {
	case apierrors.IsForbidden(err):
		// Some clusters do not let accounts review their own rights. A token shows it.
		ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
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

// unlessForbidden returns an error as the reason if it is a refusal, else as the error.
func unlessForbidden(err error) (why, other error) {
	if apierrors.IsForbidden(err) {
		return err, nil
	}
	return nil, err
}

// of returns what makes the client of a name.
func (b Builder) of(name string) cloudprovider.ControllerClientBuilder {
	if b.without[name] {
		return b.own
	}
	return b.accounts
}

// Config implements cloudprovider.ControllerClientBuilder.
func (b Builder) Config(name string) (*rest.Config, error) { return b.of(name).Config(name) }

// ConfigOrDie implements cloudprovider.ControllerClientBuilder.
func (b Builder) ConfigOrDie(name string) *rest.Config { return b.of(name).ConfigOrDie(name) }

// Client implements cloudprovider.ControllerClientBuilder.
func (b Builder) Client(name string) (kubernetes.Interface, error) {
	return b.of(name).Client(name)
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (b Builder) ClientOrDie(name string) kubernetes.Interface {
	return b.of(name).ClientOrDie(name)
}

// quietCore makes requests for tokens that client-go does not log.
type quietCore struct{ corev1client.CoreV1Interface }

func (q quietCore) ServiceAccounts(namespace string) corev1client.ServiceAccountInterface {
	return quietAccounts{q.CoreV1Interface.ServiceAccounts(namespace)}
}

type quietAccounts struct {
	corev1client.ServiceAccountInterface
}

func (q quietAccounts) CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, opts metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	quiet, err := secrets.Quietly(ctx)
	if err != nil {
		return nil, fmt.Errorf("a token of the ServiceAccount %s is not requested: %w", name, err)
	}
	return q.ServiceAccountInterface.CreateToken(quiet, name, request, opts)
}
