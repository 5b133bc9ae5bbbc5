package world

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"vzones/cmd/vsphere-cloud-controller-manager/app/flags"
)

// A CommandLine has the flags of a daemon that decide about Nodes.
type CommandLine struct {
	flags.Flags
	// These are flags of the framework.
	CloudProvider, CloudConfig string
}

// ParseArguments reads the arguments of a daemon, without the program, those of the vSphere CPI too.
// Other flags are passed over. An error names a flag, never its value, which a Pod may take from a Secret.
func ParseArguments(args []string) (*CommandLine, error) {
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
	if err := set.Parse(args); err != nil {
		return nil, fmt.Errorf("reading the daemon's flags: %s", withoutValue(err))
	}
	return &c, nil
}

// withoutValue words what pflag says about a command line, which has the values in it.
func withoutValue(err error) string {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		return fmt.Sprintf("--%s has a value that is not a %s: correct it in the Pod's arguments", value.GetFlag().Name, value.GetFlag().Value.Type())
	case errors.As(err, &missing):
		return fmt.Sprintf("--%s has no value: write one in the Pod's arguments", missing.GetFlag().Name)
	}
	return "an argument cannot be read as a flag: correct the Pod's arguments"
}
