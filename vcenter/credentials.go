package vcenter

import (
	"context"

	"vzones/config"
	"vzones/vcenter/credentials"
)

// Credentials log in to one vCenter.
type Credentials = credentials.Credentials

// A CredentialSource returns the credentials of a vCenter as they are now. It
// is asked before each login and may take until the context is done.
type CredentialSource func(ctx context.Context, cfg *config.VCenter) (Credentials, error)

// FromFile takes the credentials that the configuration file itself holds: a
// user and a password, or a certificate and its key in their places.
func FromFile(_ context.Context, cfg *config.VCenter) (Credentials, error) {
	return credentials.FromAccount(cfg.User, cfg.Password)
}
