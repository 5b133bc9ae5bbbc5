package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/config"
	"vzones/config/parse"
	"vzones/config/parse/manifest"
)

func (t *tool) validateCommand() *cobra.Command {
	var env, skipFiles bool
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Print all mistakes of configurations",
		Long: `Read configurations as the daemon does, and print all of their mistakes to
standard output, one in a line:

  FILE:LINE: FIELD: what is wrong and what to write

What is valid and does not do what one might expect is printed as

  FILE:LINE: warning: FIELD: what it does

which is not a mistake: the exit status is 0 if there is nothing else. How a value is
read that has several forms is printed as

  FILE:LINE: note: FIELD: how it is read

A file may have Kubernetes manifests, also as kubectl prints them. In its ConfigMaps and
Secrets each value is read whose key ends in .yaml, .yml or .conf, and so are the
credentials in its Secrets: a vCenter's have to be there if its Secret is in the file.
Lines are those of the manifest, or of the value if that is not written line by line.

A file named - is standard input.`,
		Example: `  vzones validate vsphere.yaml
  vzones validate --skip-files vsphere.conf csi-vsphere.conf
  vzones validate manifest.yaml
  vzones validate - < vsphere.yaml`,
		Args: cli.Arguments("a file, or - for standard input", 0),
		RunE: func(_ *cobra.Command, files []string) error {
			t.Started = true
			o := parse.Options{SkipFiles: skipFiles}
			if env {
				o.Environ = os.Environ()
			}
			return t.validate(files, o)
		},
	}
	envFlag(cmd, &env)
	cmd.Flags().BoolVar(&skipFiles, "skip-files", false, "do not read the CA files that the configuration names: they may be in the daemon's Pod only")
	return cmd
}

func envFlag(cmd *cobra.Command, env *bool) {
	cmd.Flags().BoolVar(env, "env", false, "let the environment variables of this shell, such as VSPHERE_USER, override the file, as those of the daemon's Pod do there")
}

// validate reads all files, whatever is wrong with one.
func (t *tool) validate(files []string, o parse.Options) error {
	var result error
	for _, file := range files {
		err := t.validateFile(file, o)
		switch {
		case err == nil:
		case errors.Is(err, cli.ErrFindings):
			if result == nil {
				result = err
			}
		default:
			fmt.Fprintf(t.Stderr, "Error: %v\n", err)
			result = cli.ErrReported
		}
	}
	return result
}

func (t *tool) validateFile(file string, o parse.Options) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	var report bytes.Buffer
	if manifest.Is(data) {
		err = validateManifest(&report, file, data, o)
	} else {
		_, err = validateData(&report, file, data, o, func(e config.Error) config.Error { return e })
	}
	// Mistakes that nobody sees are a failure.
	return cmp.Or(t.Write(report.Bytes()), err)
}
