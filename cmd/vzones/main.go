// Command vzones is the operator's tool: it checks configurations, shows what is in
// force, and converts them. It contacts nothing.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"vzones/config"
	"vzones/config/readfile"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	right    = 0
	findings = 1
	failure  = 2
)

// errFindings means that a file has mistakes, which were printed.
var errFindings = errors.New("there are mistakes")

// errReported means that a failure was printed.
var errReported = errors.New("there was a failure")

// run runs a command and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := &tool{stdin: stdin, stdout: stdout, stderr: stderr}
	cmd := t.command()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	done, err := cmd.ExecuteC()
	switch {
	case err == nil:
		return right
	case errors.Is(err, errFindings):
		return findings
	case errors.Is(err, errReported):
		return failure
	}
	fmt.Fprintf(stderr, "Error: %v\n", err)
	if !t.started {
		if done.Name() == "help" {
			done = done.Root()
		}
		fmt.Fprintf(stderr, "Run %s --help for what it takes.\n", done.CommandPath())
	}
	return failure
}

// tool is what the commands have in common.
type tool struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// started reports whether the arguments of a command are valid.
	started bool
	// stdinRead reports whether standard input was read, which works once.
	stdinRead bool
}

// usage ends in the examples.
const usage = `Usage:
  {{.UseLine}}
{{- if .HasAvailableSubCommands}}

Commands:
{{- range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}

Examples:
{{.Example}}
`

func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "vzones COMMAND",
		Short: "The operator's tool of vzones",
		Long: `vzones checks, shows and converts configurations: those of vzones, of the
vSphere CPI in YAML and INI, of the provider that was in Kubernetes, and of the
vSphere CSI driver. It contacts nothing.

The exit status is 0 if all is right, 1 if a file has mistakes, and 2 if the
arguments are wrong or something failed, such as reading a file.`,
		Example: `  vzones validate vsphere.yaml
  vzones config vsphere.yaml
  vzones convert vsphere.conf > vsphere.yaml`,
		Version:           version.Get().GitVersion,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetUsageTemplate(usage)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(t.validateCommand(), t.configCommand(), t.convertCommand())
	return root
}

// helpCommand shows the help of a command, as --help does.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Show the help of a command",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			return found.Help()
		},
	}
}

// read returns the content of a file, or of standard input for -.
func (t *tool) read(file string) ([]byte, error) {
	if file == "-" {
		if t.stdinRead {
			return nil, errors.New("standard input is named twice: it can be read once")
		}
		t.stdinRead = true
		data, err := io.ReadAll(io.LimitReader(t.stdin, readfile.MaxSize+1))
		if err == nil && len(data) > readfile.MaxSize {
			err = fmt.Errorf("it has more than %d bytes", readfile.MaxSize)
		}
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return data, nil
	}
	data, err := readfile.Read(file)
	if err != nil {
		if info, unseen := os.Stat(file); unseen == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			err = fmt.Errorf("%w: write - in its place, and pipe it to standard input", err)
		}
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return data, nil
}

// write writes to standard output.
func (t *tool) write(data []byte) error {
	if _, err := t.stdout.Write(data); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// mistakes prints the mistakes of an error, if it consists of mistakes.
func mistakes(to io.Writer, err error) error {
	if all, ok := errors.AsType[config.Errors](err); ok {
		fmt.Fprintln(to, all)
		return errFindings
	}
	return err
}

// printWarnings prints what is not a mistake, each after its place and kind.
func printWarnings(to io.Writer, kind string, all []config.Warning) {
	for _, w := range all {
		place := ""
		if w.Line > 0 {
			place = fmt.Sprintf("%s:%d: ", w.File, w.Line)
		}
		field := w.Field
		if field != "" {
			field += ": "
		}
		fmt.Fprintf(to, "%s%s: %s%s\n", place, kind, field, w.Message)
	}
}
