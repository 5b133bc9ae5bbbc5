// Package role is vzones role: the role that the account of vzones needs in vCenter, and where it is
// granted.
package role

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

const long = `Prints the least role that the account of vzones needs in vCenter, and on which
objects to grant it: that depends on the datacenters, tags, host groups and
fault domains that the configuration uses. No vCenter is contacted.

vCenter puts the privileges that vzones needs into every role, so that the role
that it has, Read-only, does as well. A role of its own shows in vCenter what
the account is for.
`

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: &world.Flags{Need: world.NoNodes}}
	cmd := &cobra.Command{
		Use:   "role",
		Short: "Print the role that vzones needs in vCenter",
		Long:  long,
		Example: `  vzones role -c vsphere.yaml
  vzones role -c vsphere.yaml -o govc --principal 'EXAMPLE\vzones'`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.name == "" {
				return errors.New("--name is empty: write the name of the role")
			}
			t.Started = true
			return run(cmd.Context(), t, o)
		},
	}
	fs := cmd.Flags()
	o.world.Add(fs)
	o.format.Flag(fs, cli.Table, cli.JSON, cli.YAML, terraform, govc)
	fs.StringVar(&o.name, "name", "vzones", "the name of the role")
	fs.StringVar(&o.principal, "principal", "", `whom the printed commands grant it to, such as EXAMPLE\vzones`)
	fs.BoolVar(&o.group, "group", false, "the principal is a group")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, o *options) error {
	w, err := world.Configure(ctx, o.world)
	if err != nil {
		return err
	}
	r := reportOf(w.Config, o)
	return write(t, o.format, &r)
}
