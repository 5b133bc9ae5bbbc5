package app

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
)

// libraries are those whose versions tell what the daemon can do.
var libraries = []string{"k8s.io/cloud-provider", "k8s.io/client-go", "github.com/vmware/govmomi"}

// printVersion prints the version if --version asks for it, and reports whether it has: the command
// does nothing else then. The framework's own line would call it a version of Kubernetes. What
// --version=raw prints is the framework's.
func printVersion(cmd *cobra.Command) (printed bool, err error) {
	if f := cmd.Flags().Lookup("version"); f == nil || f.Value.String() != "true" {
		verflag.PrintAndExitIfRequested()
		return false, nil
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil }
	built, _ := debug.ReadBuildInfo()
	_, err = io.WriteString(cmd.OutOrStdout(), describeVersion(version.Get(), built))
	return true, err
}

// describeVersion returns the lines of --version. Built is nil where the build did not note it.
func describeVersion(v apiversion.Info, built *debug.BuildInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "vzones %s\ncommit %s, %s, %s\n", v.GitVersion, v.GitCommit, v.GoVersion, v.Platform)
	if built == nil {
		return b.String()
	}
	var with []string
	for _, path := range libraries {
		for _, dep := range built.Deps {
			if dep.Path == path {
				with = append(with, path+" "+dep.Version)
			}
		}
	}
	if len(with) > 0 {
		fmt.Fprintf(&b, "with %s\n", strings.Join(with, ", "))
	}
	return b.String()
}
