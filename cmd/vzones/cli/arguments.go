package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"vzones/internal/quote"
)

// WriteConfig says how a command gets its configuration.
const WriteConfig = "write the configuration as --config FILE"

// NoArguments refuses arguments. Wants says what the command takes instead.
func NoArguments(wants string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no arguments, and %s is one: %s", cmd.CommandPath(), quote.Value(args[0]), wants)
	}
}

// Arguments wants a number of arguments from one on, of what they are called, such as "a file"; most is
// 0 for any number.
func Arguments(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s wants %s", cmd.CommandPath(), what)
		case most > 0 && len(args) > most:
			return fmt.Errorf("%s wants %s, and %s is more than that", cmd.CommandPath(), what, quote.Value(args[most]))
		}
		return nil
	}
}
