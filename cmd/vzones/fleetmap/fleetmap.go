// Package fleetmap implements vzones map: the fleet as a tree on a terminal or as an HTML page of nested
// boxes.
package fleetmap

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

const (
	formatTree cli.Format = "tree"
	formatHTML cli.Format = "html"
)

type options struct {
	world   world.Flags
	format  cli.Format
	showAll bool
}

// Command returns the map command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{}}
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Show regions, zones, clusters, hosts and Nodes",
		Long: `Show regions, zones, clusters, hosts and Nodes. The map marks unread vCenters, hosts
without a zone, and Nodes that are uninitialized, or have no placement, different labels
or a VM that is off.

A host appears in the zone that tags and names above it determine, and a Node in the zone
of its placement. A Node without a placement appears on its VM's host or, if that is
unknown, in the zone of its labels.

-o html writes a page without scripts and external resources. It contains the names of
your VMs and hosts. Without a kubeconfig, the map shows no Nodes.

The exit status is 1 if a vCenter could not be read, or if a Node has no placement.`,
		Example: `  vzones map -c vsphere.yaml
  vzones map -c vsphere.yaml --all
  vzones map -c vsphere.yaml -o html > map.html`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.showAll && o.format == formatHTML {
				return errors.New("--all applies only to the tree: the HTML page always shows all hosts and Nodes")
			}
			t.Started = true
			return o.run(cmd.Context(), t)
		},
	}
	o.world.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.showAll, "all", false, "show all hosts and Nodes in the tree")
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
	if o.format == formatHTML {
		var page []byte
		if page, err = f.page(); err == nil {
			err = t.Write(page)
		}
	} else {
		err = t.PrintTrees(f.tree(o.showAll)...)
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
