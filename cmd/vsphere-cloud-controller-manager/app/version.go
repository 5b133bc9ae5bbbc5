package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
)

// printVersion prints the version if --version asks for it, and reports whether it has: the command
// does nothing else then. The framework's own line would call it a version of Kubernetes. What
// --version=raw prints is the framework's.
func printVersion(cmd *cobra.Command) (printed bool, err error) {
	if f := cmd.Flags().Lookup("version"); f == nil || f.Value.String() != "true" {
		verflag.PrintAndExitIfRequested()
		return false, nil
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil }
	v := version.Get()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "vzones %s\ncommit %s, %s, %s\n", v.GitVersion, v.GitCommit, v.GoVersion, v.Platform)
	return true, err
}
