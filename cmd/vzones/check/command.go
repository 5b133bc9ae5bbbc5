// Package check implements vzones check, which validates configurations and reports problems of the daemon, vCenters,
// tags, Nodes, VMs, hosts and the copies of zones in the cluster.
//
// All reading happens first. The findings are computed from the facts without further requests.
// kinds.yaml lists all kinds of findings.
package check

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config/load"
)

const long = `Report problems and how to fix them. Errors come first, root causes before their effects:

  daemon    Pods, Lease, permissions, version, and problems that it alone reports
  vCenters  name, connection, proxy, certificate, credentials, privileges
  tags      categories, hosts without a zone, zones in two places, conflicts
  Nodes     VM, zone, labels, addresses, disk.enableUUID, VMware Tools
  volumes   copies of a zone in CSINodes, PersistentVolumes and StorageClasses

With -c, the daemon is not checked. Without a cluster, Nodes and volumes are not checked.
Rejected credentials are tried only once. -o wide shows all objects and commands. vzones explain ID explains a finding.

With --offline, check reads files and makes no network connections. It prints each error
as FILE:LINE: FIELD: the problem and its fix. In a Kubernetes manifest, it reads the
values of the keys config and cloud-config and of keys that end in .yaml, .yml or .conf,
and the credentials in Secrets. The file - is standard input.

The exit status is 1 if a file contains an error, or if a finding has at least the severity
of --fail-on. Findings of severity info never cause exit status 1.`

type options struct {
	world   world.Flags
	format  cli.Format
	failOn  failOn
	offline bool
	files   load.Options
}

type failOn Severity

func (s *failOn) String() string { return string(*s) }
func (s *failOn) Type() string   { return "SEVERITY" }

func (s *failOn) Completions() []string { return []string{string(Error), string(Warning)} }

func (s *failOn) Set(text string) error {
	if !slices.Contains(s.Completions(), text) {
		return fmt.Errorf("must be %s or %s", Error, Warning)
	}
	*s = failOn(text)
	return nil
}

// Command returns the check command.
func Command(t *cli.Tool) *cobra.Command {
	o := &options{world: world.Flags{NodesOptional: true}, failOn: failOn(Warning)}
	env := false
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report problems with the daemon, vCenters, tags, Nodes and volumes, or with files",
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
			if err := o.validateFlags(cmd.Flags()); err != nil {
				return err
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
	flags.Var(&o.failOn, "fail-on", "the lowest severity that causes exit status 1: error or warning")
	flags.BoolVar(&o.offline, "offline", false, "check the files given as arguments, without network connections")
	flags.BoolVar(&env, "env", false, "with --offline: "+cli.EnvUsage)
	flags.BoolVar(&o.files.SkipFiles, "skip-files", false, "with --offline: do not read CA files")
	return cmd
}

func (o *options) validateFlags(flags *pflag.FlagSet) (err error) {
	forFiles := []string{"env", "skip-files"}
	flags.Visit(func(f *pflag.Flag) {
		isForFiles := slices.Contains(forFiles, f.Name)
		switch {
		case f.Name == "offline":
		case o.offline && !isForFiles:
			err = fmt.Errorf("--%s has no effect with --offline, which only reads the files given as arguments: remove it", f.Name)
		case !o.offline && isForFiles:
			err = fmt.Errorf("--%s has no effect without --offline: remove it", f.Name)
		}
	})
	return err
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
	if slices.ContainsFunc(r.Findings, func(c Cause) bool { return c.Severity.AtLeast(Severity(o.failOn)) }) {
		return cli.ErrFindings
	}
	return nil
}

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
