package flags

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// A CommandLine is what a daemon was started with, as far as that decides about Nodes.
type CommandLine struct {
	Flags
	// CloudProvider, CloudConfig and Controllers are flags of the framework.
	CloudProvider, CloudConfig string
	Controllers                []string
}

// Parse reads the arguments of a daemon, without the program, those of the vSphere CPI too. Flags that
// decide nothing about Nodes are passed over.
func Parse(args []string) (*CommandLine, error) {
	var c CommandLine
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	set.ParseErrorsAllowlist.UnknownFlags = true
	own := c.Sets()
	for _, one := range own.FlagSets {
		set.AddFlagSet(one)
	}
	// The framework's own definitions are part of its server, which only the daemon links. A test of
	// the daemon compares them.
	set.StringVar(&c.CloudProvider, "cloud-provider", "vsphere", "")
	set.StringVar(&c.CloudConfig, "cloud-config", "", "")
	set.StringSliceVar(&c.Controllers, "controllers", []string{"*"}, "")
	if err := set.Parse(args); err != nil {
		return nil, fmt.Errorf("reading the daemon's flags: %w", err)
	}
	return &c, nil
}
