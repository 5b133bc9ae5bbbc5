// Package nodes is vzones nodes: where each Node is, what it gets from that, and whether it has it.
package nodes

import (
	"context"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology"
)

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{Need: world.NodesOrMachines}
	var format cli.Format
	cmd := &cobra.Command{
		Use:     "nodes",
		Short:   "Show where each Node is",
		Example: "  vzones nodes -c vsphere.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Started = true
			return run(cmd.Context(), t, flags, format)
		},
	}
	flags.Add(cmd.Flags())
	format.Flag(cmd.Flags(), cli.Formats()...)
	return cmd
}

func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format) error {
	end := t.Progress("Reading the vCenters")
	w, err := world.Open(ctx, flags)
	end()
	if err != nil {
		return err
	}
	defer w.Close()
	list := &cli.List{Columns: []string{"NODE", "VCENTER", "REGION", "ZONE", "PROBLEM"}}
	for _, n := range w.Nodes {
		l := w.Look(n)
		placed := &l.Place.Placement
		row := cli.Row{Name: n.Name, Cells: []string{n.Name, l.Place.VCenter, placed.Value(topology.LabelRegion), placed.Value(topology.LabelZone), l.Reason()}}
		list.Rows = append(list.Rows, row)
	}
	return t.Print(format, list)
}
