package app

import (
	"fmt"

	"github.com/spf13/pflag"

	"vzones/config/readfile"
)

// frameworkFiles are the flags with a file that the framework reads.
var frameworkFiles = []string{
	"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "requestheader-client-ca-file",
	"tls-cert-file", "tls-private-key-file", "leader-migration-config",
}

// checkFiles refuses files that the framework would read without end.
func checkFiles(set *pflag.FlagSet) error {
	for _, name := range frameworkFiles {
		f := set.Lookup(name)
		if f == nil || f.Value.String() == "" {
			continue
		}
		if err := readfile.Check(f.Value.String()); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}
