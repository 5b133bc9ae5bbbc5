package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config"
	"vzones/vcenter"
	"vzones/vcenter/credentials"
)

// accounts takes credentials from the Secret that the configuration names, from
// its directory where the Secret has none for the vCenter, and from the
// configuration itself where neither has.
type accounts struct {
	secrets interface {
		Get(context.Context, config.SecretRef) (map[string][]byte, error)
	}
}

func (a *accounts) credentials(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	var lacks []error
	if cfg.Secret != (config.SecretRef{}) {
		c, err := a.fromSecret(ctx, cfg)
		if !isLack(err) {
			return c, err
		}
		lacks = append(lacks, err)
	}
	if cfg.SecretsDirectory != "" {
		c, err := credentials.FromDirectory(cfg.SecretsDirectory, cfg.Server)
		if !isLack(err) {
			return c, err
		}
		lacks = append(lacks, err)
	}
	if cfg.User != "" && !cfg.Password.IsEmpty() || len(lacks) == 0 {
		return vcenter.FromFile(ctx, cfg)
	}
	if len(lacks) == 2 {
		return vcenter.Credentials{}, fmt.Errorf("%w; %w", lacks[0], lacks[1])
	}
	return vcenter.Credentials{}, lacks[0]
}

func (a *accounts) fromSecret(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	data, err := a.secrets.Get(ctx, cfg.Secret)
	if err != nil {
		return vcenter.Credentials{}, err
	}
	c, err := credentials.Find(data, cfg.Server)
	if err != nil {
		return vcenter.Credentials{}, fmt.Errorf("the Secret %s/%s: %w", cfg.Secret.Namespace, cfg.Secret.Name, lack{err})
	}
	return c, nil
}

// lack is that a Secret which was read has no credentials for a vCenter.
type lack struct{ error }

func (l lack) Unwrap() error { return l.error }

// isLack says whether there are none, rather than that they cannot be read: what
// cannot be read may be others than those that come next.
func isLack(err error) bool {
	var l lack
	return errors.As(err, &l) || errors.Is(err, credentials.ErrNone) || apierrors.IsNotFound(err) || errors.Is(err, fs.ErrNotExist)
}
