package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Completer is implemented by values of flags that have a fixed set of values.
type Completer interface{ Completions() []string }

// CompleteFlags lets a shell complete the flags of a command whose values are Completers.
func CompleteFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if value, isCompleter := f.Value.(Completer); isCompleter {
			complete := cobra.FixedCompletions(value.Completions(), cobra.ShellCompDirectiveNoFileComp)
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // The flag exists, and its completion is registered once.
		}
	})
}

// CompleteNames returns a completion of at most maxArgs different arguments, or of any number if maxArgs is 0. If
// names fails, it completes nothing.
func CompleteNames(maxArgs int, names func(cmd *cobra.Command, prefix string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if maxArgs > 0 && len(args) >= maxArgs {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := names(cmd, prefix)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		isGiven := func(name string) bool { return slices.Contains(args, name) }
		return slices.DeleteFunc(found, isGiven), cobra.ShellCompDirectiveNoFileComp
	}
}
