// Package fleetmap is vzones map: the fleet as a tree on a terminal, or as a page of nested boxes.
package fleetmap

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

// The formats.
const (
	formatTree cli.Format = "tree"
	formatHTML cli.Format = "html"
)

// options are those of the flags.
type options struct {
	world  world.Flags
	format cli.Format
	all    bool
}

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{Need: world.NodesIfAny}}
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Show regions, zones, clusters, hosts and Nodes",
		Long: `Show regions, zones, clusters, hosts and Nodes, and mark vCenters that could not be
read, hosts without a zone, and Nodes that have no place, whose labels differ from it,
that wait, or whose machine is off.

The format html is one page that loads nothing and has no script. It has the names of
your machines and hosts. A host is shown where tags and names above it say, a Node in
its own zone. Without a kubeconfig there are no Nodes.

The exit status is 1 if a vCenter could not be read or a Node has no place.`,
		Example: `  vzones map -c vsphere.yaml
  vzones map -c vsphere.yaml --all
  vzones map -c vsphere.yaml -o html > map.html`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Started = true
			return o.run(cmd.Context(), t)
		},
	}
	o.world.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "show all hosts and Nodes in the tree")
	o.format.Flag(cmd.Flags(), formatTree, formatHTML)
	return cmd
}

func (o *options) run(ctx context.Context, t *cli.Tool) error {
	end := t.Progress("Reading the vCenters")
	f, err := o.read(ctx)
	end()
	if err != nil {
		return err
	}
	f.arrange()
	var out []byte
	if o.format == formatHTML {
		out, err = f.page()
	} else {
		out = f.tree(t, t.Width(), o.all)
	}
	if err == nil {
		err = t.Write(out)
	}
	if err == nil && !f.isComplete() {
		err = cli.ErrFindings
	}
	return err
}

func (o *options) read(ctx context.Context) (*fleet, error) {
	w, err := world.Open(ctx, &o.world)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := read(ctx, w)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading the hosts: %w", context.Cause(ctx))
	}
	return f, nil
}
