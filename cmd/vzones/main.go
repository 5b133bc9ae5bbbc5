// Command vzones is the operator's tool: it validates and converts configurations, and shows the daemon's
// decisions about a fleet. It is a kubectl plugin if the executable is named kubectl-vzones.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"vzones/cmd/vzones/check"
	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/convert"
	"vzones/cmd/vzones/explain"
	"vzones/cmd/vzones/fleetmap"
	"vzones/cmd/vzones/nodes"
	"vzones/cmd/vzones/plan"
	"vzones/cmd/vzones/record"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

const (
	success  = 0
	findings = 1
	failure  = 2
)

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := &tool{&cli.Tool{Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	cmd := t.command()
	asPlugin(cmd, os.Args[0])
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	defer catchSIGPIPE()()
	// The daemon's packages log with klog. The tool prints errors itself.
	klog.SetLogger(klog.Logger{})
	done, err := cmd.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return success
	case errors.Is(err, cli.ErrFindings):
		return findings
	case errors.Is(err, cli.ErrReported), errors.Is(err, syscall.EPIPE):
		// EPIPE: the reader has closed its end of the pipe, as head does.
		return failure
	case ctx.Err() != nil && strings.HasSuffix(err.Error(), context.Canceled.Error()):
		// The error contains nothing but the cancellation.
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "Error: %v\n", err)
	if !t.Started {
		fmt.Fprintf(stderr, "Run %s --help for usage.\n", done.CommandPath())
	}
	return failure
}

// catchSIGPIPE turns SIGPIPE into a write error, so that the process can log out of the vCenters.
func catchSIGPIPE() (stop func()) {
	broken := make(chan os.Signal, 1) // Never received from: the write returns the error.
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

type tool struct{ *cli.Tool }

const usage = `Usage:
  {{.UseLine}}
{{- if .HasAvailableSubCommands}}

Commands:
{{- range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
`

func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "vzones COMMAND",
		Short: "The vzones tool for operators",
		Long: `vzones shows what the daemon does with a fleet, and why. It reads the vCenters and the
cluster as the daemon does, and writes to neither. check --offline and convert make no
network connections.

Without -c, vzones uses the configuration, the credentials and the flags of the daemon in
the namespace of -n, which may be vzones or the vSphere CPI. The first line on standard
error then names its Pod and the addresses that receive the credentials. vzones uses
kubectl's current context. Connections to vCenters use HTTPS_PROXY and NO_PROXY. If
NO_COLOR is set, the output has no colors.

The exit status is 0 if no problem is found, 1 if a problem is found, and 2 if an argument
is invalid or the command failed.`,
		Example: `  vzones check -c vsphere.yaml
  vzones nodes -o wide
  vzones explain node-1`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetUsageTemplate(usage)
	root.AddCommand(
		convert.Command(t.Tool),
		explain.Command(t.Tool),
		check.Command(t.Tool),
		nodes.Command(t.Tool),
		plan.Command(t.Tool),
		fleetmap.Command(t.Tool),
		record.Command(t.Tool),
		t.versionCommand(),
	)
	for _, cmd := range root.Commands() {
		cli.CompleteFlags(cmd)
	}
	return root
}

func (t *tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  vzones version",
		Args:    cli.NoArguments("remove it"),
		RunE: func(*cobra.Command, []string) error {
			t.Started = true
			return t.Write([]byte("vzones version " + version.Get().GitVersion + "\n"))
		},
	}
}

// asPlugin adapts the help texts to kubectl if the executable is named as a plugin.
func asPlugin(root *cobra.Command, program string) {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != "kubectl-vzones" {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vzones"}
	for _, cmd := range append(root.Commands(), root) {
		cmd.Example = strings.ReplaceAll(cmd.Example, "  vzones ", "  kubectl vzones ")
	}
}
