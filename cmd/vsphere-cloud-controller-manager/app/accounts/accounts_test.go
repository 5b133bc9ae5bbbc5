package accounts

import (
	"errors"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"vzones/cmd/vsphere-cloud-controller-manager/app/rights"
	"vzones/cmd/vsphere-cloud-controller-manager/app/rights/rightstest"
	"vzones/provider"
)

// TestWhichClientsHaveAnAccount: a client whose token nobody may ask for has the daemon's
// own credentials. As long as the API server does not say whether it may, no client is
// made: its requests would fail for good.
func TestWhichClientsHaveAnAccount(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
	busy := apierrors.NewTooManyRequests("etcdserver: request timed out", 1)
	for name, c := range map[string]struct {
		review []error // of the first reviews; then they are answered
		always error   // of all reviews
		may    bool
		find   error // of the ServiceAccount
		token  error
		own    bool // the daemon's own credentials
		fails  string
	}{
		"it may":                     {may: true},
		"it may not":                 {own: true},
		"no account may be made":     {find: forbidden, own: true},
		"the account is not found":   {find: busy, fails: "etcdserver: request timed out"},
		"busy at first":              {review: []error{busy, busy}, may: true},
		"busy at first, and may not": {review: []error{busy, busy, busy}, own: true},
		"busy for good":              {always: busy, fails: "etcdserver: request timed out"},
		"no questions, a token":      {always: forbidden},
		"no questions, no token":     {always: forbidden, token: forbidden, own: true},
		"no questions, a busy one":   {always: forbidden, token: busy, fails: "etcdserver: request timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			reviews := 0
			client := rightstest.Reviewing(func(of *authorizationv1.ResourceAttributes) (bool, error) {
				if of.Subresource != "token" || of.Verb != "create" || of.Namespace != "kube-system" {
					t.Errorf("a question about %+v", of)
				}
				if reviews++; reviews <= len(c.review) {
					return false, c.review[reviews-1]
				}
				return c.may, c.always
			})
			client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				return c.find != nil, nil, c.find
			})
			client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return a.GetSubresource() == "token", &authenticationv1.TokenRequest{}, c.token
			})
			b, err := newBuilder(t.Context(), client, &rest.Config{}, time.Millisecond, time.Second)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(err.Error(), "--use-service-account-credentials") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{rights.FrameworkClient(), provider.ClientName} {
				if b.without[name] != c.own {
					t.Errorf("%s has the daemon's own credentials: %v", name, b.without[name])
				}
			}
		})
	}
}
