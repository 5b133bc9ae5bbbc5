package convert

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/config"
)

type conversion struct {
	secret         string
	ref            config.SecretRef
	effective, env bool
}

// Command returns the convert command.
func Command(t *cli.Tool) *cobra.Command {
	var c conversion
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a configuration to YAML, or show the effective values",
		Long: `Convert a configuration of any format to YAML on standard output. Comments are lost.
Credentials move to a Secret: --secret FILE writes its manifest to a new file with mode
0600, and --secret - writes only the manifest, to standard output. Without --secret, the
credentials are omitted.

With --effective, convert shows the effective value of each key, including defaults, with
its source in a comment. Passwords are shown as [redacted].

Errors, warnings and settings that YAML cannot express are printed on standard error, one
per line. CA files are not read.`,
		Example: `  vzones convert vsphere.conf > vsphere.yaml
  vzones convert vsphere.conf --secret secret.yaml > converted.yaml
  vzones convert vsphere.conf --secret - --namespace vsphere --secret-name vcenters
  vzones convert --effective vsphere.yaml
  VSPHERE_USER=admin VSPHERE_PASSWORD=example vzones convert --effective --env vsphere.conf`,
		Args: cli.Arguments("a file, or - for standard input", 1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return c.check(cmd.Flags().Changed)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t.Started = true
			if c.effective {
				return c.printEffective(t, args[0])
			}
			return c.printYAML(t, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.secret, "secret", "", "the new file for the Secret's manifest, or - for standard output")
	flags.StringVar(&c.ref.Name, "secret-name", "vsphere-cloud-secret", "the Secret's name")
	flags.StringVar(&c.ref.Namespace, "namespace", "kube-system", "the Secret's namespace")
	flags.BoolVar(&c.effective, "effective", false, "show the effective values with their sources")
	flags.BoolVar(&c.env, "env", false, "with --effective: "+cli.EnvUsage)
	return cmd
}

func (c *conversion) check(given func(flag string) bool) error {
	if c.effective {
		for _, flag := range []string{"secret", "secret-name", "namespace"} {
			if given(flag) {
				return fmt.Errorf("--%s has no effect with --effective: remove it", flag)
			}
		}
		return nil
	}
	if c.env {
		return errors.New("--env has no effect without --effective: remove it")
	}
	return nil
}

func (c *conversion) printEffective(t *cli.Tool, file string) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	var environ []string
	if c.env {
		environ = os.Environ()
	}
	w, err := Effective(file, data, environ...)
	if err != nil {
		return cli.PrintConfigErrors(t.Stderr, err)
	}
	cli.PrintWarnings(t.Stderr, "warning", append(w.Warnings, w.Lost...))
	return t.Write(w.Data)
}

func (c *conversion) printYAML(t *cli.Tool, file string) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	w, err := ToYAML(file, data, c.ref)
	if err != nil {
		return cli.PrintConfigErrors(t.Stderr, err)
	}
	cli.PrintWarnings(t.Stderr, "warning", w.Warnings)
	cli.PrintWarnings(t.Stderr, "not carried over", w.Lost)
	isCreated := false
	switch {
	case w.Private.IsEmpty() && c.secret != "":
		fmt.Fprintf(t.Stderr, "%s:1: no Secret was written: every vCenter already has a Secret or a directory with its credentials\n", file)
	case w.Private.IsEmpty():
	case c.secret == "":
		fmt.Fprintf(t.Stderr, "%s:%d: not carried over: the credentials: use --secret FILE to write the manifest of Secret %s/%s, "+
			"which the new configuration references\n", file, max(w.PrivateLine, 1), c.ref.Namespace, c.ref.Name)
	case c.secret == "-":
		return t.Write([]byte(w.Private.Reveal()))
	default:
		if err := create(c.secret, []byte(w.Private.Reveal())); err != nil {
			return err
		}
		isCreated = true
	}
	err = t.Write(w.Data)
	if err != nil && isCreated {
		return removeAfter(c.secret, err)
	}
	return err
}

func create(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	return fill(f, data)
}

// fill writes and closes a new file, and removes it after an error.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err = cmp.Or(err, f.Close()); err != nil {
		return removeAfter(f.Name(), fmt.Errorf("writing to a new file: %w", err))
	}
	return nil
}

// removeAfter removes a file with passwords after an error. If the file remained, the next attempt would fail, because create
// never overwrites a file.
func removeAfter(file string, err error) error {
	if failed := os.Remove(file); failed != nil {
		return fmt.Errorf("%w; the file with the passwords could not be removed: %w", err, failed)
	}
	return err
}
