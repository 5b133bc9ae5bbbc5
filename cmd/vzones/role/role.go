// Package role is vzones role: the role that the account of vzones needs in vCenter, where it is
// granted, and making it, which is the only thing that the tool writes to a vCenter.
package role

import (
	"context"

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

--create makes the role in each vCenter, after asking once. This is the only
command of vzones that writes to a vCenter. It makes the role and grants it to
nobody: it prints the commands that do. The account of vzones may not make
roles, so name an administrator with --user.

The exit status is 0 if the role is there, and 2 if it is not.`

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: &world.Flags{Need: world.NoNodes}}
	cmd := &cobra.Command{
		Use:   "role",
		Short: "Print or make the role that vzones needs in vCenter",
		Long:  long,
		Example: `  vzones role -c vsphere.yaml
  vzones role -c vsphere.yaml -o govc --principal 'EXAMPLE\vzones'
  vzones role -c vsphere.yaml --create --user administrator@vsphere.local --password-file password`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
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
	fs.BoolVar(&o.create, "create", false, "make the role in each vCenter")
	fs.BoolVar(&o.update, "update", false, "with --create: change a role of that name that has other privileges")
	fs.BoolVar(&o.yes, "yes", false, "with --create: do not ask")
	fs.StringVar(&o.user, "user", "", "with --create: log in as this user, not as the account of vzones; the password is asked for")
	fs.StringVar(&o.passwordFile, "password-file", "", "with --user: the file with the password, - for standard input")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, o *options) error {
	w, find, err := world.Configure(ctx, o.world)
	if err != nil {
		return err
	}
	r := reportOf(w.Config, o)
	if !o.create {
		return write(t, o.format, &r)
	}
	if err := o.readPassword(ctx, t); err != nil {
		return err
	}
	if err := create(ctx, t, o, w.Config, find); err != nil {
		return err
	}
	return t.Write([]byte("\nGrant it to the account of vzones:\n\n" + govcOf(&r, false)))
}
