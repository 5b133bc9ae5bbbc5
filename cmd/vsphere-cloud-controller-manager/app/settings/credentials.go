package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/vcenter"
	"vzones/vcenter/credentials"
)

// A CredentialFinder reads the credentials of a vCenter from its Secret, its directory or the
// configuration, in this order.
type CredentialFinder struct {
	Secrets Secrets
	// Revision returns the revision of credentials in the configuration; optional.
	Revision func(context.Context) string
	// Directory returns the credentials in a directory; credentials.FromDirectory by default.
	Directory func(dir, server string) (vcenter.Credentials, error)
}

// Find returns the credentials of a vCenter.
func (f *CredentialFinder) Find(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	var missing []error
	if cfg.Secret != (config.SecretRef{}) {
		c, err := f.fromSecret(ctx, cfg)
		if !isMissing(err) {
			return c, err
		}
		missing = append(missing, err)
	}
	if cfg.SecretsDirectory != "" {
		directory := f.Directory
		if directory == nil {
			directory = credentials.FromDirectory
		}
		c, err := directory(cfg.SecretsDirectory, cfg.Server)
		c.Source = "the directory " + cfg.SecretsDirectory
		if !isMissing(err) {
			return c, err
		}
		missing = append(missing, err)
	}
	if cfg.User != "" && !cfg.Password.IsEmpty() || len(missing) == 0 {
		c, err := vcenter.FromFile(ctx, cfg)
		c.Source = "the configuration"
		if f.Revision != nil {
			c.Revision = f.Revision(ctx)
		}
		return c, err
	}
	return vcenter.Credentials{}, quote.Errors(quote.Most, missing...)
}

func (f *CredentialFinder) fromSecret(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	secret, err := f.Secrets.Get(ctx, cfg.Secret)
	if err != nil {
		return vcenter.Credentials{}, err
	}
	c, err := credentials.Find(secret.Data, cfg.Server)
	if err != nil {
		return vcenter.Credentials{}, fmt.Errorf("the Secret %s/%s: %w", cfg.Secret.Namespace, cfg.Secret.Name, missingError{err})
	}
	c.Revision = secret.ResourceVersion
	c.Source = fmt.Sprintf("Secret %s/%s", cfg.Secret.Namespace, cfg.Secret.Name)
	return c, nil
}

type missingError struct{ error }

func (m missingError) Unwrap() error { return m.error }

// isMissing is false for credentials that cannot be read, since they may differ from the credentials of
// the next source.
func isMissing(err error) bool {
	var m missingError
	return errors.As(err, &m) || errors.Is(err, credentials.ErrNone) || apierrors.IsNotFound(err) || errors.Is(err, fs.ErrNotExist)
}
