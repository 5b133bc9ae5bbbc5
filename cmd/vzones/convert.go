package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vzones/cmd/vzones/cli"
	"vzones/config"
	"vzones/config/convert"
	"vzones/vcenter/credentials"
)

// conversion has the values of the flags of convert.
type conversion struct {
	to, output string
	fromChart  bool
	// for YAML
	secret string
	ref    config.SecretRef
	// for the CSI driver
	credentials []string
	clusterID   string
}

func (t *tool) convertCommand() *cobra.Command {
	var c conversion
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a configuration to YAML or to the CSI driver's file, or a chart's values to vzones' chart's",
		Long: `Convert a configuration of any format, or the values of a chart.

To YAML, which goes to standard output, the credentials are not converted. The
vCenters that have theirs in the file get a Secret instead: --secret names a file
for its manifest. Without --secret the credentials are left out. With --secret -
the manifest goes to standard output and the configuration does not, unless
--output names a file for it.

With --to csi it is the CSI driver's csi-vsphere.conf, which has the credentials in
it: --output has to say where it goes, and - is standard output. Credentials that
are in Secrets come from the manifests that --credentials names. What the driver
refuses is a mistake, such as a user without a domain, a sixth vCenter, or several
of them without tag categories. What the file has for the driver alone is kept.

With --from-chart FILE is a values file of a Helm chart of the vSphere CPI: of its
own, of Rancher's or of Giant Swarm's. Values for the chart of vzones go to standard
output, without the credentials: --secret names a file for those, which is a second
values file for Helm. Both are for a release in the namespace of --namespace.

What cannot be carried over is reported on standard error, one in a line, as are
mistakes and warnings:

  FILE:LINE: not carried over: FIELD: why

Files are created with mode 0600, and none is overwritten. Neither environment
variables nor CA files are read.`,
		Example: `  vzones convert vsphere.conf > vsphere.yaml
  vzones convert vsphere.conf --secret secret.yaml --output converted.yaml
  vzones convert vsphere.conf --secret - --namespace vsphere --secret-name vcenters
  vzones convert converted.yaml --to csi --credentials secret.yaml --cluster-id cluster-1 --output csi.conf
  vzones convert --from-chart cpi-values.yaml --secret credentials.yaml --output values.yaml`,
		Args: cli.Arguments("a file, or - for standard input", 1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return c.check(cmd.Flags().Changed)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t.Started = true
			switch {
			case c.fromChart:
				return t.convertChart(args[0], &c)
			case c.to == toCSI:
				return t.convertToCSI(args[0], &c)
			}
			return t.convert(args[0], &c)
		},
	}
	c.addFlags(cmd.Flags())
	return cmd
}

// addFlags adds the flags of convert to a set.
func (c *conversion) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.fromChart, "from-chart", false, "the file has the values of a Helm chart of the vSphere CPI")
	flags.StringVar(&c.to, "to", toYAML, "the format to convert to: yaml or csi")
	flags.StringVar(&c.output, "output", "", "the file to create, or - for standard output")
	flags.StringVar(&c.secret, "secret", "", "the file to create with the Secret's manifest, or with --from-chart the credentials as values, or - for standard output")
	flags.StringVar(&c.ref.Name, "secret-name", "vsphere-cloud-secret", "the Secret's name")
	flags.StringVar(&c.ref.Namespace, "namespace", "kube-system", "the Secret's namespace, or with --from-chart the release's")
	flags.StringArrayVar(&c.credentials, "credentials", nil, "with --to csi: a file with manifests of the Secrets that the configuration names; may be repeated")
	flags.StringVar(&c.clusterID, "cluster-id", "", "with --to csi: the CSI driver's name for the cluster, in place of the one that the file has")
}

const (
	toYAML = "yaml"
	toCSI  = "csi"
)

// check refuses flags that would have no effect.
func (c *conversion) check(given func(flag string) bool) error {
	var others []string
	what := "--to " + c.to
	switch c.to {
	case toYAML:
		others = []string{"credentials", "cluster-id"}
		if c.fromChart {
			what, others = "--from-chart", append(others, "to", "secret-name")
		}
		if c.secret == "-" && c.output == "-" {
			return errors.New("both --secret and --output are standard output: name a file for one of them")
		}
		if c.secret != "" && c.output != "" && filepath.Clean(c.secret) == filepath.Clean(c.output) {
			return errors.New("both --secret and --output name one file: the Secret needs one of its own")
		}
	case toCSI:
		if c.fromChart {
			return errors.New("--to csi has no effect with --from-chart: convert the values first")
		}
		others = []string{"secret", "secret-name", "namespace"}
		if c.output == "" {
			return errors.New("the CSI driver's file has passwords in it: name the file to create with --output, or --output - for standard output")
		}
	default:
		return fmt.Errorf("--to %q is not a format: write yaml or csi", c.to)
	}
	for _, flag := range others {
		if given(flag) {
			return fmt.Errorf("--%s has no effect with %s: leave it out", flag, what)
		}
	}
	return nil
}

func (t *tool) convert(file string, c *conversion) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	w, err := convert.ToYAML(file, data, c.ref)
	if err != nil {
		return mistakes(t.Stderr, err)
	}
	return t.written(file, w, c, fmt.Sprintf("the manifest of Secret %s/%s, which the new configuration names", c.ref.Namespace, c.ref.Name))
}

func (t *tool) convertChart(file string, c *conversion) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	w, err := convert.ToChart(file, data, c.ref.Namespace)
	if err != nil {
		return mistakes(t.Stderr, err)
	}
	return t.written(file, w, c, "values with them: an upgrade without those deletes the Secret that the release has made")
}

// written creates the files of a conversion; private says what the credentials go into.
func (t *tool) written(file string, w *convert.Written, c *conversion, private string) error {
	t.report(w)
	secret := ""
	switch {
	case w.Private.IsEmpty() && c.secret != "":
		fmt.Fprintf(t.Stderr, "%s:1: no Secret is written: the file has no credentials to keep in one\n", file)
	case w.Private.IsEmpty():
	case c.secret == "":
		fmt.Fprintf(t.Stderr, "%s:%d: not carried over: the credentials: name a file with --secret for %s\n", file, max(w.PrivateLine, 1), private)
	default:
		if err := t.create(c.secret, []byte(w.Private.Reveal())); err != nil {
			return err
		}
		secret = c.secret
	}
	if c.secret == "-" && c.output == "" {
		return nil
	}
	err := t.create(c.output, w.Data)
	if err != nil && secret != "" && secret != "-" {
		// Passwords are not left behind, nor in the way of another try.
		err = errors.Join(err, os.Remove(secret))
	}
	return err
}

func (t *tool) convertToCSI(file string, c *conversion) error {
	data, err := t.Read(file)
	if err != nil {
		return err
	}
	o := convert.CSIOptions{ClusterID: c.clusterID, Find: findAccount}
	for _, manifest := range c.credentials {
		data, err := t.Read(manifest)
		if err != nil {
			return err
		}
		if err := o.Secrets.Add(manifest, data); err != nil {
			return err
		}
	}
	w, err := convert.ToCSI(file, data, o)
	if err != nil {
		return mistakes(t.Stderr, err)
	}
	t.report(w)
	return t.create(c.output, []byte(w.Private.Reveal()))
}

// findAccount takes from a Secret what the daemon would.
func findAccount(data map[string][]byte, server string) (user string, password config.Password, err error) {
	c, err := credentials.Find(data, server)
	switch {
	case errors.Is(err, credentials.ErrNone):
		return "", config.Password{}, nil
	case err != nil:
		return "", config.Password{}, err
	case c.SessionManagerURL != "":
		return "", config.Password{}, errors.New("it is a session manager's session, which is not converted: " +
			"give the CSI driver an account, since its release 3.7 reads no session manager, " +
			"or write vc-session-manager-url and vc-session-manager-token into the new file for one that does, such as 3.6")
	case c.Certificate != "":
		return c.Certificate, c.Key, nil
	}
	return c.User, c.Password, nil
}

// report prints the warnings of a conversion and what it leaves out.
func (t *tool) report(w *convert.Written) {
	printWarnings(t.Stderr, "warning", w.Warnings)
	printWarnings(t.Stderr, "not carried over", w.Lost)
}

// create writes to a new file that nobody else can read, or to standard output for
// - and no name.
func (t *tool) create(file string, data []byte) error {
	if file == "" || file == "-" {
		return t.Write(data)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	return fill(f, data)
}

// fill writes all of a new file and closes it, or removes it.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing to a new file: %w", err), os.Remove(f.Name()))
	}
	return nil
}
