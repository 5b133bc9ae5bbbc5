package config

import (
	"fmt"

	"vzones/config/check"
)

// Check says what is wrong with a name for a Secret, if anything is.
func (r SecretRef) Check() error {
	if !check.IsSecretName(r.Name) {
		return fmt.Errorf("%q is not a valid name of a Secret: write lower-case letters, digits, . and -", r.Name)
	}
	if !check.IsNamespace(r.Namespace) {
		return fmt.Errorf("%q is not a valid name of a namespace: write lower-case letters, digits and -", r.Namespace)
	}
	return nil
}

// SecretRef names a Kubernetes Secret.
type SecretRef struct {
	Namespace string
	Name      string
}
