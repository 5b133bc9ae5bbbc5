// Package fleetmap is vzones map: the fleet as a picture, as a tree on a terminal, as SVG or as a page.
package fleetmap

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/cmd/vzones/fleetmap/render"
	"vzones/cmd/vzones/world"
)

// The formats beside those of lists.
const (
	tree cli.Format = "tree"
	svg  cli.Format = "svg"
	html cli.Format = "html"
)

// options are what the flags say.
type options struct {
	world  world.Flags
	format cli.Format
	hosts  int
	all    bool
}

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{Need: world.NodesIfAny}}
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Show regions, zones, clusters, hosts and Nodes as a picture",
		Long: `Shows the fleet: regions, zones, clusters, hosts and Nodes, with their numbers,
and marks what you should look at: hosts and clusters without a zone, zones with
few Nodes, Nodes that share a host, Nodes whose labels differ from their place
or that have no place, and vCenters that could not be read.

Without a kubeconfig it shows hosts and zones only. The zone of a host is what
tags and names above it give; a Node is shown in its own, which tags on its
resource pool or folder may decide.

The tree shows a few hosts of each cluster, those with problems first. The
formats svg and html make one file that loads nothing else.

The exit status is 0 if the map is complete, 1 if a vCenter could not be read or
a Node has no place, and 2 if the command failed. Other marks do not change it.`,
		Example: `  vzones map -c vsphere.yaml
  vzones map -c vsphere.yaml --all
  vzones map -c vsphere.yaml -o html > map.html
  vzones map -c vsphere.yaml -o svg > map.svg
  vzones map -c vsphere.yaml -o json`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.hosts < 0 {
				return fmt.Errorf("--hosts %d is not a valid number of hosts: write 0 or more, or --all", o.hosts)
			}
			t.Started = true
			return o.run(cmd.Context(), t)
		},
	}
	o.world.Add(cmd.Flags())
	cmd.Flags().IntVar(&o.hosts, "hosts", 5, "how many hosts of each cluster the tree shows at most")
	cmd.Flags().BoolVar(&o.all, "all", false, "show all hosts and Nodes in the tree")
	o.format.Flag(cmd.Flags(), tree, svg, html, cli.JSON, cli.YAML)
	return cmd
}

func (o *options) run(ctx context.Context, t *cli.Tool) error {
	end := t.Progress("Reading the vCenters")
	facts, err := o.read(ctx)
	end()
	if err != nil {
		return err
	}
	m := model.Build(facts)
	if err := o.print(t, m); err != nil {
		return err
	}
	for _, k := range m.Kinds {
		if k.Kind == model.Unread || k.Kind == model.Unplaced {
			return cli.ErrFindings
		}
	}
	return nil
}

// read reads the fleet.
func (o *options) read(ctx context.Context) (*model.Facts, error) {
	w, err := world.Open(ctx, &o.world)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := readFacts(ctx, w)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading the hosts: %w", context.Cause(ctx))
	}
	return f, nil
}

// print prints the map in the format that was asked for.
func (o *options) print(t *cli.Tool, m *model.Map) error {
	switch o.format {
	case cli.JSON:
		return t.PrintJSON(m)
	case cli.YAML:
		return t.PrintYAML(m)
	case svg:
		return t.Write(render.SVG(m))
	case html:
		page, err := render.HTML(m)
		if err != nil {
			return err
		}
		return t.Write(page)
	}
	hosts := o.hosts
	if o.all {
		hosts = -1
	}
	return t.Write((&render.Tree{Hosts: hosts, Width: t.Width(), Paint: t.Paint}).Print(m))
}
