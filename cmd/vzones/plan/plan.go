// Package plan is vzones plan: what the daemon would write to each Node as everything is now, or what
// another configuration, other tags or a move would change of that. It changes copies of what was read
// of the vCenters, and has the daemon's packages place the Nodes by them. It writes nothing.
package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// asked is what the plan is for.
type asked struct {
	with  string
	tags  []string
	moves []string
}

// wantsChange says how a change is written.
const wantsChange = "write --with FILE, --tag OBJECT=CATEGORY:NAME, --move VM=HOST, or nothing else for what the daemon would do now"

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{Need: world.NodesOrMachines}
	var format cli.Format
	var of asked
	cmd := &cobra.Command{
		Use:   "plan [--with FILE] [--tag OBJECT=CATEGORY:NAME]... [--move VM=HOST]...",
		Short: "Show what the daemon would write to each Node, now or after a change",
		Long: `plan shows what the daemon would write to each Node: labels, addresses and taints, and
which Nodes it would delete. It writes nothing itself, and needs no daemon: before
vzones takes the place of the vSphere CPI, plan shows what that will change. With
--with, --tag or --move it shows what another configuration, other tags or a move
would change instead. All changes of one call are planned together.

OBJECT is an inventory path, such as /dc1/host/cluster-1; / is the root folder. The
object has this tag of the category afterwards and no other; with no name behind the
colon it has none. VM is a machine's name, inventory path or Node, HOST a host's name
or inventory path. Where several vCenters have it, write VCENTER:OBJECT or
VCENTER:VM. A move is within one vCenter. In another cluster the machine comes into
the root resource pool, in another datacenter into its VM folder.

NOW is what the Node has. THEN is what its place gives, and DAEMON what becomes of
that, once a difference has lasted for topology.settle. Conflicts of tags that arise
or end are listed behind the Nodes, as far as they concern Nodes.

Not listed are the annotations and the condition of vzones, which each Node gets.

The exit status is 0 if nothing is listed, 1 if something is, and 2 if the arguments
are wrong or a vCenter could not be read.`,
		Example: `  vzones plan -c vsphere.yaml
  vzones plan -c vsphere.yaml --tag /dc1/host/c1=zone:b
  vzones plan -c vsphere.yaml --move node-1=h2
  vzones plan -c vsphere.yaml --with new.yaml -o json`,
		Args: cli.NoArguments(wantsChange),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tags, err := parseTags(of.tags)
			if err != nil {
				return err
			}
			moves, err := parseMoves(of.moves)
			if err != nil {
				return err
			}
			t.Started = true
			return run(cmd.Context(), t, flags, format, &change{with: of.with, tags: tags, moves: moves})
		},
	}
	flags.Add(cmd.Flags())
	cmd.Flags().StringVar(&of.with, "with", "", "another configuration file")
	cmd.Flags().StringArrayVar(&of.tags, "tag", nil, "OBJECT=CATEGORY:NAME, a tag that the object has instead of others of the category; without NAME it has none")
	cmd.Flags().StringArrayVar(&of.moves, "move", nil, "VM=HOST, a host that the machine runs on instead")
	format.Flag(cmd.Flags(), cli.Formats()...)
	return cmd
}

func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, c *change) error {
	end := t.Progress("Reading the vCenters")
	defer end()
	now, err := world.Open(ctx, flags)
	if err != nil {
		return err
	}
	defer now.Close()
	then := now
	if c.with != "" {
		if err := rejected(now.States); err != nil {
			return err
		}
		other := *flags
		other.Config, other.FromCluster, other.Namespace, other.Selector = c.with, false, "", ""
		if then, err = world.Open(ctx, &other); err != nil {
			return fmt.Errorf("--with: %w", err)
		}
		defer then.Close()
	}
	var out *Plan
	if !c.isOne() {
		out = doNow(now)
	} else if out, err = compute(ctx, now, then, c); err != nil {
		return err
	}
	end()
	if err := print(t, format, out); err != nil {
		return err
	}
	switch unread := firstUnread(now.States, then.States); {
	case unread != "":
		return errors.New(unread)
	case len(out.Changes)+len(out.Conflicts) > 0:
		return cli.ErrFindings
	}
	return nil
}

// rejected returns why a vCenter does not accept the account, nil if all do. Another reading would show
// it the password once more, and accounts are locked after a few of that.
func rejected(states []inventory.State) error {
	for _, s := range states {
		if errors.Is(s.Err, session.ErrRejected) {
			return fmt.Errorf("vCenter %q is not logged in to, so the other configuration is not tried: %s", s.VCenter, quote.Text(s.Err.Error()))
		}
	}
	return nil
}

// doNow returns what the daemon would write to each Node as everything is now.
func doNow(w *world.World) *Plan {
	out := &Plan{Nodes: len(w.Nodes), Changes: []NodeChange{}, now: true}
	for _, n := range w.Nodes {
		does := w.Look(n)
		nothing := &world.Look{Node: n, Foreign: does.Foreign, Place: does.Place} // a daemon that only looks
		nothing.Place.AddressesChange, nothing.Place.Metadata = false, nil
		if one := compare(nothing, does, w.Config, w.Config); len(one.Changes) > 0 {
			out.Changes = append(out.Changes, one)
		}
	}
	out.Unchanged = out.Nodes - len(out.Changes)
	return out
}

// compute compares what the daemon makes of each Node now with what it would make of it then.
func compute(ctx context.Context, now, then *world.World, c *change) (*Plan, error) {
	var surveys []survey.Survey
	if len(c.tags)+len(c.moves) > 0 {
		policy := &then.Config.Topology.Policy
		surveys = then.Survey(ctx, survey.Query{Categories: policy.Categories(), Beside: true})
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		}
	}
	f := &fleet{cfg: then.Config, states: then.States, surveys: surveys, nodes: then.Nodes, placer: then.Placer}
	states, notes, err := f.changed(c)
	if err != nil {
		return nil, err
	}
	placer := world.PlaceBy(states, then.Config, now.Nodes)
	out := &Plan{Nodes: len(now.Nodes), Notes: notes, Changes: []NodeChange{}}
	var before, after []*world.Look
	for i, n := range now.Nodes {
		before, after = append(before, now.Look(n)), append(after, world.LookBy(placer, n))
		if one := compare(before[i], after[i], now.Config, then.Config); len(one.Changes) > 0 {
			out.Changes = append(out.Changes, one)
		}
	}
	out.Conflicts = conflictChanges(conflictsOf(&now.Config.Topology.Policy, before), conflictsOf(&then.Config.Topology.Policy, after))
	out.Unchanged = out.Nodes - len(out.Changes)
	return out, nil
}

// firstUnread says which vCenter could not be read, so that nothing is known of its Nodes; empty if
// all were.
func firstUnread(all ...[]inventory.State) string {
	for _, states := range all {
		for _, s := range states {
			switch {
			case s.Err != nil:
				return fmt.Sprintf("vCenter %q could not be read, so the plan is not complete: %s", s.VCenter, quote.Text(s.Err.Error()))
			case s.Snapshot == nil:
				return fmt.Sprintf("vCenter %q has not answered in time, so the plan is not complete: raise --timeout", s.VCenter)
			}
		}
	}
	return ""
}
