// Package audit is vzones audit: it compares the copies of a zone that are in a cluster with what
// vSphere says now.
//
// It reads Nodes, CSINodes, CSINodeTopologies, PersistentVolumes, StorageClasses, Pods,
// EndpointSlices and the Machines of Cluster API, whichever the cluster has, and writes nothing.
// What vSphere says comes from the daemon's placement. Of a Node of which nothing is known nothing
// is stale.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/world"
)

const long = `audit compares the copies of a zone in the cluster with what vSphere says now:
labels of Nodes (also the beta ones, and further levels), what the CSI driver and
kubelet keep (CSINode, CSINodeTopology, labels of the driver), node affinity of
PersistentVolumes, allowedTopologies of StorageClasses, Pods, EndpointSlices with
their hints, and failure domains of Cluster API. It says which copy is stale, when
it was written, what it breaks, and what corrects it.

It reads only. What the cluster does not have, or the account may not list, is
named at the end. A Node whose vCenter cannot be read is not known, and never
stale.

The exit status is 0 if all copies agree, 1 if there are findings, and 2 if the
arguments are wrong or the Nodes cannot be listed.`

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	flags := &world.Flags{Need: world.Cluster}
	var format cli.Format
	failOn := ""
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare the copies of each zone in the cluster with vSphere",
		Long:  long,
		Example: `  vzones audit -c vsphere.yaml
  vzones audit -c vsphere.yaml -o wide
  vzones audit -c vsphere.yaml -o name
  vzones audit -c vsphere.yaml -o json --fail-on error`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if failOn != "" && !slices.Contains([]finding.Severity{finding.Warning, finding.Error}, finding.Severity(failOn)) {
				return errors.New("--fail-on is warning or error")
			}
			t.Started = true
			return run(cmd.Context(), t, flags, format, finding.Severity(failOn))
		},
	}
	flags.Add(cmd.Flags())
	format.Flag(cmd.Flags(), cli.Formats()...)
	cmd.Flags().StringVar(&failOn, "fail-on", "", "exit with 1 only for findings of this severity or worse: warning, error; by default for any")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, failOn finding.Severity) error {
	r, err := compare(ctx, t, flags)
	if err != nil {
		return err
	}
	if err := r.print(t, format); err != nil {
		return err
	}
	if slices.ContainsFunc(r.findings.all, func(s Stale) bool { return failOn == "" || s.Kind.Severity.AtLeast(failOn) }) {
		return cli.ErrFindings
	}
	return nil
}

// compare reads vSphere and the cluster, and compares them.
func compare(ctx context.Context, t *cli.Tool, flags *world.Flags) (*report, error) {
	end := t.Progress("Reading the vCenters")
	defer func() { end() }()
	w, err := world.Open(ctx, flags)
	if err != nil {
		return nil, err
	}
	ps := newPlaces(w)
	w.Close() // what follows needs no vCenter
	end()
	end = t.Progress("Reading the cluster")
	l, err := newLists(w.RESTConfig)
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := auditCluster(ctx, l, ps, &r.findings); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("reading the cluster: %w", context.Cause(ctx))
		}
		return nil, err
	}
	r.findings.sort()
	r.lists = l
	return r, nil
}
