package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vzones/cmd/vzones/cli"
	"vzones/topology/quote"
)

// completer is the program that kubectl runs to complete the words behind the name of the plugin.
const completer = "kubectl_complete-vzones"

// completed returns the arguments that complete words, if the program has the name that kubectl
// calls for that.
func completed(program string, args []string) []string {
	if nameOf(program) != completer {
		return args
	}
	return append([]string{cobra.ShellCompRequestCmd}, args...)
}

func nameOf(program string) string { return strings.TrimSuffix(filepath.Base(program), ".exe") }

// asPlugin names the commands as kubectl calls them, if the program has the name of a plugin.
func asPlugin(root *cobra.Command, program string) {
	if name := nameOf(program); name != "kubectl-vzones" && name != completer {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl vzones"}
	rename(root)
}

// rename has the examples of a command and of those below call the plugin.
func rename(cmd *cobra.Command) {
	cmd.Example = strings.ReplaceAll(cmd.Example, "  vzones ", "  kubectl vzones ")
	for _, sub := range cmd.Commands() {
		rename(sub)
	}
}

// shells are those that have completion.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// isShell refuses what is no shell that has completion.
func isShell(_ *cobra.Command, args []string) error {
	if !slices.Contains(shells, args[0]) {
		return fmt.Errorf("there is no completion for the shell %s: write one of %s", quote.Value(args[0]), strings.Join(shells, ", "))
	}
	return nil
}

// completionCommand prints the script with which a shell completes commands, flags and the names of
// Nodes.
func completionCommand(t *cli.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the script that completes words in a shell",
		Long: `Print the script with which a shell completes commands, flags, and the names of
Nodes, which are asked of the cluster. Load it at the start of the shell: zsh
from a folder of fpath, fish from ~/.config/fish/completions.

kubectl completes the words behind kubectl vzones if the program is also in PATH as
kubectl_complete-vzones, such as by a link.`,
		Example: `  vzones completion bash > vzones.bash
  vzones completion zsh > _vzones
  vzones completion fish > vzones.fish`,
		Args:                  cobra.MatchAll(cli.Arguments("the name of a shell", 1), isShell),
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Started = true
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(t.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(t.Stdout)
			case "fish":
				return root.GenFishCompletion(t.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(t.Stdout)
			}
			return fmt.Errorf("%q is not a valid shell: write one of %q", args[0], shells)
		},
	}
}
