package main

import (
	"os"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/config/convert"
)

func (t *tool) configCommand() *cobra.Command {
	var env bool
	cmd := &cobra.Command{
		Use:   "config FILE",
		Short: "Show what is in force, and why",
		Long: `Show the effective configuration: what is in force for each vCenter, with every
default filled in. Behind each value a comment names its source: the line of the
entry or of the global section, an environment variable, or the default.

Passwords are shown as [redacted]. The output is a configuration in YAML, in any
case, and means the same. CA files are not read. Mistakes, warnings and notes of
how values are read go to standard error.`,
		Example: `  vzones config vsphere.yaml
  vzones config csi-vsphere.conf
  VSPHERE_USER=admin VSPHERE_PASSWORD=example vzones config --env vsphere.conf`,
		Args: cli.Arguments("a file, or - for standard input", 1),
		RunE: func(_ *cobra.Command, args []string) error {
			t.Started = true
			var environ []string
			if env {
				environ = os.Environ()
			}
			return t.config(args[0], environ)
		},
	}
	envFlag(cmd, &env)
	return cmd
}

func (t *tool) config(file string, environ []string) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	w, err := convert.Effective(file, data, environ...)
	if err != nil {
		return mistakes(t.Stderr, err)
	}
	printWarnings(t.Stderr, "warning", append(w.Warnings, w.Lost...))
	printWarnings(t.Stderr, "note", w.Notes)
	return t.Write(w.Data)
}
