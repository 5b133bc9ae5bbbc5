package config

import (
	"fmt"
	"io"
)

// redacted is printed in place of every secret.
const redacted = "[redacted]"

// A Password is a secret that prints as [redacted], whatever prints it: any
// verb of fmt, JSON, YAML, text, slog. The empty one prints as nothing, since
// that a password is missing is worth seeing, and not a secret.
//
// The secret sits behind a pointer because fmt prints unexported fields, and
// %p, without asking their methods: it then shows an address. Two Passwords are
// compared with Equal or reflect.DeepEqual, not with ==.
type Password struct {
	secret *string
}

// NewPassword returns the Password that Reveal gives secret back from.
func NewPassword(secret string) Password {
	if secret == "" {
		return Password{}
	}
	return Password{secret: &secret}
}

// Reveal returns the secret itself, for logging in with it and nothing else.
func (p Password) Reveal() string {
	if p.secret == nil {
		return ""
	}
	return *p.secret
}

// IsEmpty reports whether there is no password.
func (p Password) IsEmpty() bool { return p.secret == nil }

// Equal reports whether both hold the same secret.
func (p Password) Equal(other Password) bool { return p.Reveal() == other.Reveal() }

// String returns [redacted], or nothing for the empty Password.
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

// MarshalText is String, for JSON, YAML and slog.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
