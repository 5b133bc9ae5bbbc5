package serving

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	"k8s.io/client-go/kubernetes"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	appconfig "k8s.io/cloud-provider/app/config"

	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
)

// KeepTokensUnlogged keeps the tokens of the secure port's clients out of the log: client-go logs the bodies of requests and responses
// from -v=8 on, with the logger of the request's context. The framework gives its
// reviews of tokens a context of their own, so it never sees a token here.
func KeepTokensUnlogged(c *appconfig.CompletedConfig, reviews *genericoptions.DelegatingAuthenticationOptions) error {
	if c.SecureServing == nil {
		return nil
	}
	c.Authorization.Authorizer = quietAuthorizer{c.Authorization.Authorizer}
	client, err := reviewer(reviews)
	if err != nil || client == nil {
		return err
	}
	authenticatorfactory.RegisterMetrics()
	review, err := webhook.NewFromInterface(client, nil, *reviews.WebhookRetryBackoff, reviews.TokenRequestTimeout, webhook.AuthenticatorMetrics{
		RecordRequestTotal:   authenticatorfactory.RecordRequestTotal,
		RecordRequestLatency: authenticatorfactory.RecordRequestLatency,
	})
	if err != nil {
		return fmt.Errorf("making the review of tokens: %w", err)
	}
	tokens := cache.New(quietTokens{review}, false, reviews.CacheTTL, reviews.CacheTTL)
	c.Authentication.Authenticator = separateTokens{
		tokens: group.NewAuthenticatedGroupAdder(bearertoken.New(tokens)),
		others: c.Authentication.Authenticator,
	}
	return nil
}

// reviewer returns the client that tokens are reviewed with, as the framework makes
// its own; nil where there is none.
func reviewer(o *genericoptions.DelegatingAuthenticationOptions) (authenticationclient.AuthenticationV1Interface, error) {
	var cfg *rest.Config
	var err error
	if o.RemoteKubeConfigFile != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", o.RemoteKubeConfigFile)
	} else if cfg, err = rest.InClusterConfig(); err != nil {
		return nil, nil //nolint:nilerr // the framework has none either, and says why
	}
	if err != nil {
		return nil, fmt.Errorf("reading --authentication-kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client that reviews tokens: %w", err)
	}
	return client.AuthenticationV1(), nil
}

// separateTokens asks others about a request without its token, and tokens about one that they
// do not authenticate.
type separateTokens struct {
	tokens, others authenticator.Request
}

// AuthenticateRequest implements authenticator.Request.
func (s separateTokens) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	without := r.Clone(r.Context())
	without.Header.Del("Authorization")
	without.Header.Del("Sec-WebSocket-Protocol") // which may hold one too; nothing here is a WebSocket
	other, ok, err := s.others.AuthenticateRequest(without)
	if ok && other.User.GetName() != user.Anonymous {
		return other, ok, err
	}
	if response, ok, err := s.tokens.AuthenticateRequest(r); ok || err != nil {
		return response, ok, err
	}
	return other, ok, err
}

// quietTokens and quietAuthorizer make requests that
// client-go does not log.
type quietTokens struct{ authenticator.Token }

func (q quietTokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	quiet, err := secrets.Quietly(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("a token is not reviewed: %w", err)
	}
	return q.Token.AuthenticateToken(quiet, token)
}

type quietAuthorizer struct{ authorizer.Authorizer }

func (q quietAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	// The review names the user and holds no credential, so it is made anyway: /healthz has
	// to work.
	if quiet, err := secrets.Quietly(ctx); err == nil {
		ctx = quiet
	}
	return q.Authorizer.Authorize(ctx, a)
}
