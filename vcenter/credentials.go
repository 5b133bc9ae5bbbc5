package vcenter

import (
	"context"

	"vzones/config"
)

// Credentials log in to one vCenter.
type Credentials struct {
	User     string
	Password config.Password
}

func (c Credentials) equal(other Credentials) bool {
	return c.User == other.User && c.Password.Equal(other.Password)
}

// A CredentialSource returns the credentials of a vCenter as they are now. It
// is asked before each login and may take until the context is done.
type CredentialSource func(ctx context.Context, cfg *config.VCenter) (Credentials, error)

// FromFile takes the credentials that the configuration file itself holds.
func FromFile(_ context.Context, cfg *config.VCenter) (Credentials, error) {
	return Credentials{User: cfg.User, Password: cfg.Password}, nil
}
