// Package check is vzones check: whether the daemon can work with a configuration, the vCenters and the
// cluster as they are now, and what is wrong with tags, Nodes, machines, hosts and the copies of zones.
//
// Reading and finding are apart: findings follow from facts, without a request. Package finding has the
// table of all kinds.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/world"
	"vzones/config/load"
)

const long = `Print what is wrong, the worst and its cause first, with what to do:

  the way     name, connection, proxy, certificate, login, clock, version
  the account tags, tag categories, and rights of the daemon in the cluster
  the tags    hosts without a zone, zones in two places, conflicts
  the Nodes   machine, zone, labels, disk.enableUUID, VMware Tools, the control plane
  the copies  of a zone that the CSI driver, PersistentVolumes and StorageClasses keep

Without a cluster the Nodes are left out. Rejected credentials are tried once. -o wide
has all objects and commands, and vzones explain ID says what a finding means.

--offline reads files and contacts nothing. It prints each mistake as FILE:LINE: FIELD:
what is wrong and what to write. In Kubernetes manifests it reads each value whose key
ends in .yaml, .yml or .conf, and the credentials in Secrets. - is standard input.

The exit status is 1 if there is a mistake in a file or a finding of the severity of
--fail-on or worse. A finding of severity info never fails.`

// options are what the flags of the command say.
type options struct {
	world   world.Flags
	format  cli.Format
	failOn  severity
	offline bool
	files   load.Options
}

// severity is the value of --fail-on.
type severity finding.Severity

func (s *severity) String() string { return string(*s) }
func (s *severity) Type() string   { return "SEVERITY" }

func (s *severity) Set(text string) error {
	if !slices.Contains([]finding.Severity{finding.Error, finding.Warning}, finding.Severity(text)) {
		return fmt.Errorf("write %s or %s", finding.Error, finding.Warning)
	}
	*s = severity(text)
	return nil
}

// Command returns the command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{Need: world.NodesIfAny, NodesOptional: true}, failOn: severity(finding.Warning)}
	env := false
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find what is wrong with vCenters, tags, Nodes and volumes, or with files",
		Long:  long,
		Example: `  vzones check -c vsphere.yaml
  vzones check -c vsphere.yaml -o wide
  vzones check -c vsphere.yaml --fail-on error -o json
  vzones check --offline vsphere.yaml
  vzones check --offline --skip-files vsphere.conf csi-vsphere.conf
  vzones check --offline manifest.yaml
  vzones check --offline - < vsphere.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.offline {
				return cli.Arguments("a file, or - for standard input", 0)(cmd, args)
			}
			return cli.NoArguments(cli.WriteConfig+", or --offline to check files")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !o.offline && (env || o.files.SkipFiles):
				return errors.New("--env and --skip-files are about files: write --offline with them")
			case o.offline && o.world.Config != "":
				return errors.New("--offline contacts nothing: write the files as arguments, without --config")
			}
			t.Started = true
			if !o.offline {
				return run(cmd.Context(), t, o)
			}
			if env {
				o.files.Environ = os.Environ()
			}
			return validate(t, args, o.files)
		},
	}
	flags := cmd.Flags()
	o.world.Add(flags)
	o.format.Flag(flags, cli.Formats()...)
	flags.Var(&o.failOn, "fail-on", "the least severity for exit status 1: error or warning")
	flags.BoolVar(&o.offline, "offline", false, "check the files that are named, and contact nothing")
	flags.BoolVar(&env, "env", false, "with --offline: "+cli.EnvUsage)
	flags.BoolVar(&o.files.SkipFiles, "skip-files", false, "with --offline: do not read the CA files that the configuration names")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, o *options) error {
	end := t.Progress("Reading the vCenters")
	r, err := examine(ctx, &o.world)
	end()
	if err != nil {
		return err
	}
	if err := r.print(t, o.format); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Findings, func(c finding.Cause) bool { return c.Severity.AtLeast(finding.Severity(o.failOn)) }) {
		return cli.ErrFindings
	}
	return nil
}

// examine reads everything and logs out again.
func examine(ctx context.Context, flags *world.Flags) (*Report, error) {
	w, reports, err := open(ctx, *flags)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f, err := read(ctx, w, reports)
	if err != nil {
		return nil, err
	}
	return f.report(w), nil
}
