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

type tokenService struct {
	endpoint *Endpoint
	creds    credentials.Credentials
	// client is nil until find succeeds.
	client *sts.Client
}

// find gets the token service from the vCenter's lookup service, or assumes its default path.
func (t *tokenService) find(ctx context.Context, content types.ServiceContent, sc *soap.Client) error {
	unobserved := &vim25.Client{Client: sc, ServiceContent: content, RoundTripper: sc}
	err := t.endpoint.Do(ctx, "token service: find", func(ctx context.Context) (err error) {
		t.client, err = sts.NewClient(ctx, unobserved)
		return err
	})
	if err != nil {
		return fmt.Errorf("finding the token service: %w", err)
	}
	if u := t.client.URL(); u.Scheme != "https" {
		return fmt.Errorf("the token service is at %s, where tokens would be sent unencrypted", u.Redacted())
	}
	t.client.UserAgent = userAgent
	t.client.Jar = newSessionJar(t.client.URL().Host)
	return nil
}

func (t *tokenService) issue(ctx context.Context) (*sts.Signer, error) {
	pair, err := t.creds.KeyPair()
	if err != nil {
		return nil, err
	}
	var signer *sts.Signer
	err = t.endpoint.exchangeCredentials(ctx, "token service: get token", func(ctx context.Context) (err error) {
		// The REST API delegates the token to other services.
		signer, err = t.client.Issue(ctx, sts.TokenRequest{Certificate: &pair, Delegatable: true})
		return err
	})
	if isCertificateRejected(err) {
		return nil, tokenRejected
	}
	if err != nil {
		return nil, fmt.Errorf("getting a token from %s: %w", t.client.URL().Host, err)
	}
	return signer, nil
}

// isCertificateRejected reports a WS-Trust FailedAuthentication. Other faults are about the request.
func isCertificateRejected(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			return strings.HasSuffix(soap.ToSoapFault(err).Code, "FailedAuthentication")
		}
	}
	return false
}
