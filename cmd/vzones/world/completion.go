package world

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeTime is how long the completion of a word may take.
const completeTime = 2 * time.Second

// CompleteNodes returns what a shell completes with the names of Nodes, which are asked of the
// cluster.
func CompleteNodes(f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(ctx, completeTime)
		defer cancel()
		asked := *f
		asked.Need, asked.Timeout = NodesIfAny, completeTime
		w := &World{}
		if w.connect(&asked) != nil || w.Client == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		nodes, err := w.listNodes(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, n := range nodes {
			if strings.HasPrefix(n.Name, begun) && !slices.Contains(args, n.Name) {
				names = append(names, n.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
