package config

import (
	"fmt"
	"io"
)

const redacted = "[redacted]"

// A Password is a secret that prints as [redacted] with every verb of fmt and as JSON, YAML, text
// and slog. An empty Password prints as nothing.
//
// The secret is behind a pointer because fmt prints unexported fields, and %p, without calling
// methods. Compare Passwords with Equal or reflect.DeepEqual, not ==.
type Password struct {
	secret *string
}

// NewPassword returns the Password of a secret.
func NewPassword(secret string) Password {
	if secret == "" {
		return Password{}
	}
	return Password{secret: &secret}
}

// Reveal returns the secret.
func (p Password) Reveal() string {
	if p.secret == nil {
		return ""
	}
	return *p.secret
}

// IsEmpty reports whether there is no password.
func (p Password) IsEmpty() bool { return p.secret == nil }

// Equal reports whether both have the same secret.
func (p Password) Equal(other Password) bool { return p.Reveal() == other.Reveal() }

func (p Password) String() string {
	if p.IsEmpty() {
		return ""
	}
	return redacted
}

// Format writes String for every verb, flag and width.
func (p Password) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, p.String())
}

// MarshalText is for JSON, YAML and slog.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
