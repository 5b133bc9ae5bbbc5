package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/credentials"
)

// A tokenService is where tokens for a certificate come from.
type tokenService struct {
	endpoint *Endpoint
	creds    credentials.Credentials
	// client is nil until the service was found.
	client *sts.Client
}

// find finds the token service that the vCenter's lookup service knows. If
// that has none, it is where vCenters have their own. It goes the way of the
// SOAP client, with the trust and the bounds of that.
func (t *tokenService) find(ctx context.Context, content types.ServiceContent, sc *soap.Client) error {
	// These requests are one call, so they are not counted on their own.
	bare := &vim25.Client{Client: sc, ServiceContent: content, RoundTripper: sc}
	err := t.endpoint.Do(ctx, "token service: find", func(ctx context.Context) (err error) {
		t.client, err = sts.NewClient(ctx, bare)
		return err
	})
	if err != nil {
		return fmt.Errorf("finding the token service: %w", err)
	}
	if u := t.client.URL(); u.Scheme != "https" {
		return fmt.Errorf("the token service is at %s, where tokens can be read by others", u.Redacted())
	}
	t.client.UserAgent = userAgent
	t.client.Jar = newSessionJar(t.client.URL().Host)
	return nil
}

// issue gets a token for one login.
func (t *tokenService) issue(ctx context.Context) (*sts.Signer, error) {
	pair, err := t.creds.KeyPair()
	if err != nil {
		return nil, err
	}
	var signer *sts.Signer
	err = t.endpoint.exchangeCredentials(ctx, "token service: get token", func(ctx context.Context) (err error) {
		// The REST API asks for tokens in its turn, to call other services.
		signer, err = t.client.Issue(ctx, sts.TokenRequest{Certificate: &pair, Delegatable: true})
		return err
	})
	if refusesCertificate(err) {
		return nil, tokenRefused
	}
	if err != nil {
		return nil, fmt.Errorf("getting a token from %s: %w", t.client.URL().Host, err)
	}
	return signer, nil
}

// refusesCertificate looks for the fault of WS-Trust that says so. Others are
// about the request, such as clocks that differ.
func refusesCertificate(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			return strings.HasSuffix(soap.ToSoapFault(err).Code, "FailedAuthentication")
		}
	}
	return false
}
