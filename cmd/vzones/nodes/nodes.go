// Package nodes is vzones nodes: where each Node is, what it gets from that, and whether it has it.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology/quote"
)

// A command is one call of vzones nodes.
type command struct {
	tool     *cli.Tool
	flags    *world.Flags
	format   cli.Format
	names    []string
	labels   string
	selector labels.Selector
}

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	c := &command{tool: t, flags: &world.Flags{Need: world.NodesOrMachines}}
	cmd := &cobra.Command{
		Use:   "nodes [NODE…]",
		Short: "Show where each Node is, and whether its labels say so",
		Long: `Show where each Node is: its vCenter, datacenter, cluster and host, the region,
the zone and the further labels of that place, its addresses, and what is wrong.

STATUS is Placed if nothing is wrong, Foreign for a Node that vzones leaves
alone, NotInitialized for one that lacks nothing and still has the taint, and
otherwise the reason of the Event that says what is wrong. -o wide has all of
it. A level of the configuration has a column of its own.

Without a cluster, --uuid, --vm and --folder show machines as Nodes that wait.
With --watch, changes are printed until Ctrl-C. The exit status is 1 if a Node
has a problem or other labels than its place.`,
		Example: `  vzones nodes -c vsphere.yaml
  vzones nodes --from-cluster -o wide
  vzones nodes --from-cluster node-1 --watch
  vzones nodes -c vsphere.yaml --vm node-1,node-2 -o json
  vzones nodes -c vsphere.yaml --folder /dc1/vm -o name`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.names = args
			return c.run(cmd.Context())
		},
		ValidArgsFunction: world.CompleteNodes(c.flags),
	}
	c.flags.Add(cmd.Flags())
	c.format.Flag(cmd.Flags(), cli.Formats()...)
	cmd.Flags().StringVarP(&c.labels, "labels", "l", "", "only Nodes with these labels, as kubectl takes them")
	cmd.Flags().BoolVarP(&c.flags.Watch, "watch", "w", false, "print changes until Ctrl-C")
	return cmd
}

// run runs the command.
func (c *command) run(ctx context.Context) error {
	var err error
	if c.selector, err = labels.Parse(c.labels); err != nil {
		return fmt.Errorf("--labels: %w", err)
	}
	if c.flags.Watch && c.format == cli.YAML {
		return errors.New("--watch prints no YAML: write -o json")
	}
	c.tool.Started = true
	end := c.tool.Progress("Reading the vCenters")
	w, err := world.Open(ctx, c.flags)
	end()
	if err != nil {
		return err
	}
	defer w.Close()
	nodes, err := c.look(w)
	if err != nil {
		return err
	}
	if c.flags.Watch {
		return c.watch(ctx, w, nodes)
	}
	report := &Report{VCenters: reportOf(w), Nodes: nodes}
	list := listOf(nodes, w.Config.Topology.Policy.Labels())
	list.Data = report
	if err := c.tool.Print(c.format, list); err != nil {
		return err
	}
	return c.result(report)
}

// look looks at the Nodes that were asked for.
func (c *command) look(w *world.World) ([]Node, error) {
	for _, name := range c.names {
		if !slices.ContainsFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == name }) {
			return nil, fmt.Errorf("there is no Node %s: see kubectl get nodes", quote.Name(name))
		}
	}
	nodes := []Node{}
	for _, n := range w.Nodes {
		if (len(c.names) == 0 || slices.Contains(c.names, n.Name)) && c.selector.Matches(labels.Set(n.Labels)) {
			nodes = append(nodes, nodeOf(w.Look(n)))
		}
	}
	return nodes, nil
}

// result says on standard error which vCenters could not be read, and returns whether anything is
// wrong.
func (c *command) result(r *Report) error {
	var err error
	for _, v := range r.VCenters {
		if v.Error != "" {
			fmt.Fprintf(c.tool.Stderr, "Warning: %s\n", v.Error)
			err = cli.ErrFindings
		}
		if v.TagsError != "" {
			fmt.Fprintf(c.tool.Stderr, "Warning: vCenter %q: its tags are not read, so what they give to Nodes is not known: %s\n", v.Name, v.TagsError)
			err = cli.ErrFindings
		}
	}
	if slices.ContainsFunc(r.Nodes, func(n Node) bool { return !n.IsRight() }) {
		err = cli.ErrFindings
	}
	return err
}
