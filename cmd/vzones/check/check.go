// Package check is vzones check: whether the daemon can work with a configuration and the vCenters
// as they are now, and what is wrong with tags, Nodes, machines and hosts.
//
// Reading and finding are apart: findings follow from facts, without a request.
package check

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/world"
)

const long = `Connect to the vCenters of a configuration as the daemon does, and print what is
wrong: one line for each finding, by vCenter, the worst first.

  the way     name, connection, proxy, TLS, certificate, login, clock, version
  the account privileges, tags and tag categories; with --from-cluster also the
              rights of the daemon's ServiceAccount in the cluster
  the tags    hosts without a zone, zones in two places, conflicts, what the CSI driver
              sees otherwise
  the Nodes   without a machine or a zone, machines of two Nodes, disk.enableUUID,
              VMware Tools, shared hosts, DRS rules

Without a cluster the Nodes are left out. What matters to the vSphere CSI driver alone
is left out if the cluster does not have it. Nothing is written anywhere, and rejected
credentials are tried once.

Each finding has an ID, such as VZ101, which docs/reference/findings.md explains. Equal
findings about several objects are one line; -o wide has each of them, with what to do
and the command that does it.

The exit status is 1 if there is a finding of the severity of --fail-on or worse. One of
severity info never fails.`

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{Need: world.NodesIfAny}, failOn: severity(finding.Warning)}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find what is wrong with vCenters, tags, Nodes and hosts",
		Long:  long,
		Example: `  vzones check -c vsphere.yaml
  vzones check -c vsphere.yaml -o wide
  vzones check -c vsphere.yaml --fail-on error -o json`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Started = true
			return run(cmd.Context(), t, o)
		},
	}
	o.world.Add(cmd.Flags())
	o.format.Flag(cmd.Flags(), cli.Formats()...)
	cmd.Flags().Var(&o.failOn, "fail-on", "the least severity for which the exit status is 1: error or warning")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, o *options) error {
	end := t.Progress("Reading the vCenters")
	r, err := examine(ctx, &o.world)
	end()
	if err != nil {
		return err
	}
	if err := r.print(t, o); err != nil {
		return err
	}
	if slices.ContainsFunc(r.found, func(f finding.Finding) bool { return f.Kind.Severity.AtLeast(finding.Severity(o.failOn)) }) {
		return cli.ErrFindings
	}
	return nil
}

// examine reads everything and logs out again.
func examine(ctx context.Context, flags *world.Flags) (*result, error) {
	w, reports, err := open(ctx, *flags)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f, err := read(ctx, w, reports)
	if err != nil {
		return nil, err
	}
	return &result{source: w.Source, facts: f, cluster: w.Client != nil, found: f.findings()}, nil
}
