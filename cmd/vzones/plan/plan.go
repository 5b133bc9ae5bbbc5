// Package plan implements vzones plan: it shows the daemon's writes to each Node, or the effect of
// another configuration or of other tags on them. It applies the change to copies of the snapshots and
// resolves them with the daemon's packages.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

const wantsChange = "use --with FILE or --tag OBJECT=CATEGORY:NAME, or neither to see the pending writes"

type change struct {
	configFile string
	tags       []retag
}

// watching are the flags of --watch.
type watching struct {
	isEnabled      bool
	metricsAddress string
	daemonFlags    []string
}

func (w *watching) check(flags *world.Flags, format cli.Format, configFile string, retags []string) error {
	switch {
	case !w.isEnabled && (w.metricsAddress != "" || len(w.daemonFlags) > 0):
		return errors.New("--metrics-address and --daemon-flag require --watch")
	case !w.isEnabled:
		return nil
	case flags.Recording != "":
		return errors.New("--watch needs a running cluster: remove --recording")
	case configFile != "" || len(retags) > 0:
		return errors.New("--watch shows the changes of the current configuration: use --config FILE instead of --with, and no --tag")
	case format != cli.Table && format != cli.JSON:
		return errors.New("--watch prints lines of text or, with -o json, of JSON")
	}
	return nil
}

// Command returns the plan command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{NeedsNodes: true}
	var format cli.Format
	var configFile string
	var retags []string
	var watch watching
	cmd := &cobra.Command{
		Use:   "plan [--with FILE] [--tag OBJECT=CATEGORY:NAME]... | plan --watch",
		Short: "Show what the daemon would write to each Node, now or after a change",
		Long: `Show what the daemon would write to each Node (labels, addresses and taints), and which
Nodes it would delete. plan writes nothing and needs no daemon: run it before vzones
replaces the vSphere CPI. --with and --tag show the effect of another configuration,
other tags, or both.

OBJECT is the inventory path of an object above a Node's VM, such as
/dc1/host/cluster-1. / is the root folder. If several vCenters have the path, use
VCENTER:OBJECT. The tag replaces the object's tags of the category. Without NAME, the
object has no tag of the category.

--watch runs beside another cloud controller manager until it is interrupted. It prints
each change that the daemon would make, and compares it with each change by another
writer: agrees, differs with the reason, or undecided. The last line counts them.

NOW is the current value, EXPECTED is the value of the placement after the change, and
DAEMON is the daemon's action. Annotations and the condition of vzones are not listed.

The exit status is 1 if the plan lists changes, and 2 if a vCenter could not be read.
With --watch, it is 1 only if a change differed.`,
		Example: `  vzones plan -c vsphere.yaml
  vzones plan --tag /dc1/host/c1=zone:b
  vzones plan --with new.yaml -l topology.kubernetes.io/zone=a
  vzones plan --with new.yaml -o json
  vzones plan -c vsphere.yaml --watch`,
		Args: cli.NoArguments(wantsChange),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tags, err := parseTags(retags)
			if err != nil {
				return err
			}
			if err := watch.check(flags, format, configFile, retags); err != nil {
				return err
			}
			t.Started = true
			if watch.isEnabled {
				return runWatch(cmd.Context(), t, flags, format, &watch)
			}
			return run(cmd.Context(), t, flags, format, &change{configFile: configFile, tags: tags})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.Add(cmd.Flags())
	flags.AddSelector(cmd.Flags())
	cmd.Flags().StringVar(&configFile, "with", "", "plan for this configuration file")
	cmd.Flags().StringArrayVar(&retags, "tag", nil, "plan for this tag, which replaces the object's tags of the category")
	cmd.Flags().BoolVarP(&watch.isEnabled, "watch", "w", false, "compare with the changes that another cloud controller manager makes, until interrupted")
	cmd.Flags().StringVar(&watch.metricsAddress, "metrics-address", "", "with --watch: serve Prometheus metrics at this HOST:PORT; :PORT is on 127.0.0.1")
	cmd.Flags().StringArrayVar(&watch.daemonFlags, "daemon-flag", nil, "with --watch and --config: a flag that vzones' daemon would have, such as --deletion-hold=1m")
	format.Flag(cmd.Flags(), cli.Formats()...)
	return cmd
}

func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, c *change) error {
	end := t.Progress("Reading the vCenters")
	defer end()
	current, err := world.Open(ctx, flags)
	if err != nil {
		return err
	}
	defer current.Close()
	planned := current
	if c.configFile != "" {
		if err := rejected(current.States); err != nil {
			return err
		}
		newFlags := *flags
		newFlags.Config = c.configFile
		newFlags.Nodes = current.Nodes
		if current.Daemon != nil {
			// The daemon's flags do not change.
			newFlags.NodeLabels = current.Daemon.NodeLabels
		}
		if planned, err = world.Open(ctx, &newFlags); err != nil {
			return fmt.Errorf("--with: %w", err)
		}
		defer planned.Close()
	}
	nodes := current.Selected()
	var out *Plan
	if c.configFile == "" && len(c.tags) == 0 {
		out = planCurrent(current, nodes)
	} else if out, err = planChange(current, planned, nodes, c.tags); err != nil {
		return err
	}
	end()
	if err := print(t, format, out); err != nil {
		return err
	}
	unread := firstUnread(slices.Concat(current.States, planned.States))
	switch {
	case unread != "":
		return errors.New(unread)
	case len(out.Changes)+len(out.Conflicts) > 0:
		return cli.ErrFindings
	}
	return nil
}

// rejected returns an error if a vCenter rejects the account. Opening a second World would send the
// password again, and a few failures lock the account.
func rejected(states []inventory.State) error {
	for _, s := range states {
		if errors.Is(s.Err, session.ErrRejected) {
			return fmt.Errorf("vCenter %q rejected the login, so the other configuration was not tried: %s", s.VCenter, quote.Text(s.Err.Error()))
		}
	}
	return nil
}

func planCurrent(w *world.World, nodes []*v1.Node) *Plan {
	out := &Plan{Nodes: len(nodes), Changes: []NodeChange{}, isCurrent: true}
	for _, n := range nodes {
		out.add(pendingChanges(w.Look(n), w.Config))
	}
	return out
}

// pendingChanges compares the daemon with a daemon that writes nothing.
func pendingChanges(l *world.Look, cfg *config.Config) NodeChange {
	nothing := &world.Look{Node: l.Node, Foreign: l.Foreign, Place: l.Place}
	nothing.Place.AddressesChange = false
	nothing.Place.Metadata = nil
	return compare(nothing, l, cfg, cfg)
}

func planChange(current, planned *world.World, nodes []*v1.Node, tags []retag) (*Plan, error) {
	states, notes, err := retagged(planned.States, &planned.Config.Topology.Policy, tags)
	if err != nil {
		return nil, err
	}
	looks := world.LooksBy(states, planned.Config, current.Nodes)
	out := &Plan{Nodes: len(nodes), Notes: notes, Changes: []NodeChange{}}
	var before, after []*world.Look
	for _, n := range current.Nodes { // Conflicts depend on all Nodes.
		currentLook := current.Look(n)
		plannedLook := looks(n)
		before = append(before, currentLook)
		after = append(after, plannedLook)
		if slices.Contains(nodes, n) {
			out.add(compare(currentLook, plannedLook, current.Config, planned.Config))
		}
	}
	out.Conflicts = conflictChanges(conflictsOf(&current.Config.Topology.Policy, before), conflictsOf(&planned.Config.Topology.Policy, after))
	return out, nil
}

func (p *Plan) add(n NodeChange) {
	if len(n.Changes) > 0 {
		p.Changes = append(p.Changes, n)
	}
	p.Unchanged = p.Nodes - len(p.Changes)
}

func firstUnread(states []inventory.State) string {
	for _, s := range states {
		if s.Err != nil {
			return fmt.Sprintf("vCenter %q could not be read, so the plan is incomplete: %s", s.VCenter, quote.Text(s.Err.Error()))
		}
	}
	return ""
}

// conflictsOf returns the conflicts of all Nodes' places, without duplicates. It leaves out conflicts
// that depend on the tags of objects without Nodes, which a plan does not read.
func conflictsOf(policy *topology.Policy, looks []*world.Look) []topology.Conflict {
	var placements []topology.Placement
	for _, l := range looks {
		if !l.Foreign {
			placements = append(placements, l.Place.Placement)
		}
	}
	fleet := policy.FleetConflicts(placements)
	fleet.Volumes = nil
	conflicts := policy.NotCSI()
	for _, p := range placements {
		conflicts = append(conflicts, fleet.Of(p)...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(conflicts, func(c topology.Conflict) bool {
		isDuplicate := seen[keyOf(&c)]
		seen[keyOf(&c)] = true
		return isDuplicate
	})
}

func keyOf(c *topology.Conflict) string { return string(c.Kind) + " " + c.Text() }

func conflictChanges(before, after []topology.Conflict) (changes []ConflictChange) {
	add := func(change string, of, without []topology.Conflict) {
		for i := range of {
			c := &of[i]
			if !slices.ContainsFunc(without, func(o topology.Conflict) bool { return keyOf(&o) == keyOf(c) }) {
				changes = append(changes, ConflictChange{Change: change, Kind: c.Kind, Labels: c.Labels, Text: quote.Text(c.Text())})
			}
		}
	}
	add(arises, after, before)
	add(ends, before, after)
	return changes
}
