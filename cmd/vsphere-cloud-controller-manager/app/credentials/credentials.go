// Package credentials finds the credentials of a vCenter: in its Secret, in its directory, or
// in the configuration. It never tries them.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/config"
	"vzones/vcenter"
	vccredentials "vzones/vcenter/credentials"
)

// A Finder takes credentials from the Secret that the configuration names, from
// its directory where the Secret has none for the vCenter, and from the
// configuration itself where neither has.
type Finder struct {
	Secrets interface {
		Get(context.Context, config.SecretRef) (map[string][]byte, error)
	}
	// Directory returns the credentials in a directory; nil for those of this machine, as
	// FromDirectory of package vcenter/credentials.
	Directory func(dir, server string) (vcenter.Credentials, error)
}

// Find returns the credentials of a vCenter.
func (f *Finder) Find(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
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
			directory = vccredentials.FromDirectory
		}
		c, err := directory(cfg.SecretsDirectory, cfg.Server)
		if !isMissing(err) {
			return c, err
		}
		missing = append(missing, err)
	}
	if cfg.User != "" && !cfg.Password.IsEmpty() || len(missing) == 0 {
		return vcenter.FromFile(ctx, cfg)
	}
	if len(missing) == 2 {
		return vcenter.Credentials{}, fmt.Errorf("%w; %w", missing[0], missing[1])
	}
	return vcenter.Credentials{}, missing[0]
}

func (f *Finder) fromSecret(ctx context.Context, cfg *config.VCenter) (vcenter.Credentials, error) {
	data, err := f.Secrets.Get(ctx, cfg.Secret)
	if err != nil {
		return vcenter.Credentials{}, err
	}
	c, err := vccredentials.Find(data, cfg.Server)
	if err != nil {
		return vcenter.Credentials{}, fmt.Errorf("the Secret %s/%s: %w", cfg.Secret.Namespace, cfg.Secret.Name, missingError{err})
	}
	return c, nil
}

// missingError means that a Secret which was read has no credentials for a vCenter.
type missingError struct{ error }

func (m missingError) Unwrap() error { return m.error }

// isMissing reports whether there are no credentials. An error of reading is not that: the
// credentials that cannot be read may differ from those of the next source.
func isMissing(err error) bool {
	var m missingError
	return errors.As(err, &m) || errors.Is(err, vccredentials.ErrNone) || apierrors.IsNotFound(err) || errors.Is(err, fs.ErrNotExist)
}
