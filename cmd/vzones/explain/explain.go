// Package explain implements vzones explain: it shows the VM of a Node, the objects above it with their
// tags, the decision about each label and address, and the conditions for the Node's deletion.
package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
)

// Command returns the explain command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{}
	var format cli.Format
	cmd := &cobra.Command{
		Use:   "explain NODE|UUID|FINDING|REASON",
		Short: "Explain a Node, a VM, a finding of check, or an Event",
		Long: `Explain a Node: its VM, and the objects above the VM up to the root folder; which tag
decided each label, and why other tags did not; why each address was chosen or not; and the
conditions under which vzones deletes the Node.

For the UUID of a VM without a Node, explain shows what a new Node on the VM would get.
A finding by its ID, such as VZ105, the reason of an Event, an outcome in metrics, and an
alert need no connection: explain shows what they mean, what to do, and their other names.

The exit status is 1 if the Node stays uninitialized, its VM is off, its VM or addresses
are uncertain, its labels differ, or vzones would delete it.`,
		Example: `  vzones explain node-1
  vzones explain VZ105
  vzones explain VCenterUnreachable
  vzones explain 422e4956-ad22-1139-6d72-59cc8f26bc90 -c vsphere.yaml
  vzones explain node-1 -o jsonpath='{.vm.path}'`,
		Args: cli.Arguments("the name of a Node, the UUID of a VM, the ID of a finding, or the reason of an Event", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Started = true
			if k := check.Lookup(args[0]); k != nil {
				return t.PrintTrees(finding(k), otherNames(check.NamesOf(k.ID)))
			}
			if n := check.NamesOf(args[0]); n != nil {
				return t.PrintTrees(problem(args[0], n)...)
			}
			return run(cmd.Context(), t, flags, format, args[0])
		},
		ValidArgsFunction: cli.CompleteNames(1, func(cmd *cobra.Command, prefix string) ([]string, error) {
			if strings.HasPrefix(prefix, "VZ") {
				return findings(), nil
			}
			return world.NodeNames(cmd.Context(), flags)
		}),
	}
	flags.Add(cmd.Flags())
	format.Flag(cmd.Flags(), cli.Table, cli.JSON, cli.YAML)
	return cmd
}

// findings returns the IDs of all findings with their titles, as completions.
func findings() []string {
	var all []string
	for _, k := range check.Kinds() {
		all = append(all, cobra.CompletionWithDesc(k.ID, k.Title))
	}
	return all
}

func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, name string) error {
	s := &subject{name: name}
	flags.OnNodes = s.check
	flags.Follow = s.follow
	end := t.Progress("Reading the vCenters")
	defer end()
	w, err := world.Open(ctx, flags)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := s.readRivals(ctx, w); err != nil {
		return err
	}
	e := explain(ctx, w, s)
	if ctx.Err() != nil {
		return fmt.Errorf("searching the vCenters: %w", context.Cause(ctx))
	}
	end()
	if format == cli.Table {
		err = e.print(t)
	} else {
		err = t.Print(format, &cli.List{Data: e})
	}
	if err == nil && len(e.Problems) > 0 {
		err = cli.ErrFindings
	}
	return err
}
