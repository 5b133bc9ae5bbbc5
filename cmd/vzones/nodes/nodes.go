// Package nodes implements vzones nodes: it lists each Node with its place and its problems.
package nodes

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
)

// Command returns the nodes command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{NeedsNodes: true}
	var format cli.Format
	cmd := &cobra.Command{
		Use:   "nodes [NODE…]",
		Short: "Show where each Node is placed, and whether its labels match",
		Long: `Show where each Node's VM is (vCenter, datacenter, cluster and host), and the Node's
placement: the region, zone and further labels that the Node should have. If the Node's
label differs, it follows in parentheses. Also show addresses and problems.

STATUS is Placed if there is no problem, Unmanaged if vzones does not manage the Node, and
NotInitialized if nothing is missing but the Node still has the taint. It is VMPoweredOff
if the Node is not ready because its VM is off. Otherwise it is the reason of the Event
about the Node. If its placement is unknown, VCENTER is the vCenter where its VM was last
found. -o wide shows the problem.

The exit status is 1 if a Node has a problem, or if its labels differ from its
placement.`,
		Example: `  vzones nodes
  vzones nodes node-1 -o wide
  vzones nodes -l topology.kubernetes.io/zone=a
  vzones nodes -c vsphere.yaml -o jsonpath='{.nodes[?(@.vcenter=="east")].name}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Started = true
			return run(cmd.Context(), t, flags, format, args)
		},
		ValidArgsFunction: cli.CompleteNames(0, func(cmd *cobra.Command, _ string) ([]string, error) {
			return world.NodeNames(cmd.Context(), flags)
		}),
	}
	flags.Add(cmd.Flags())
	flags.AddSelector(cmd.Flags())
	format.Flag(cmd.Flags(), cli.Formats()...)
	return cmd
}

// run lists the named Nodes, or all if there are no names.
func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, names []string) error {
	end := t.Progress("Reading the vCenters")
	w, err := world.Open(ctx, flags)
	end()
	if err != nil {
		return err
	}
	defer w.Close()
	for _, name := range names {
		if !slices.ContainsFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == name }) {
			return fmt.Errorf("Node %s not found: see kubectl get nodes", quote.Name(name))
		}
	}
	out := &Report{VCenters: vcentersOf(w), Nodes: []Node{}}
	for _, n := range w.Selected() {
		if len(names) == 0 || slices.Contains(names, n.Name) {
			out.Nodes = append(out.Nodes, nodeOf(w, w.Look(n)))
		}
	}
	list := listOf(out.Nodes, w.Config.Topology.Policy.Labels())
	list.Data = out
	if err := t.Print(format, list); err != nil {
		return err
	}
	return out.result(t)
}

func (r *Report) result(t *cli.Tool) error {
	var err error
	for _, v := range r.VCenters {
		if v.Error != "" {
			fmt.Fprintf(t.Stderr, "Warning: %s\n", v.Error)
			err = cli.ErrFindings
		}
		if v.TagsError != "" {
			fmt.Fprintf(t.Stderr, "Warning: vCenter %q: its tags were not read, so the labels from them are unknown: %s\n", v.Name, v.TagsError)
			err = cli.ErrFindings
		}
	}
	if slices.ContainsFunc(r.Nodes, func(n Node) bool { return !n.IsOK() }) {
		err = cli.ErrFindings
	}
	return err
}
