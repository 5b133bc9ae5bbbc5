package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/provider/placement"
)

// pageSize is how many Nodes are listed at a time.
const pageSize = 1000

// readNodes lists the Nodes, if there is a cluster.
func (w *World) readNodes(ctx context.Context, f *Flags) error {
	if w.Client == nil {
		return nil
	}
	nodes, err := w.listNodes(ctx)
	if f.NodesOptional && apierrors.IsForbidden(err) {
		w.NoNodes = err
		return nil
	}
	w.Nodes = nodes
	return err
}

// listNodes lists the Nodes of the cluster, by name.
func (w *World) listNodes(ctx context.Context) ([]*v1.Node, error) {
	opts := metav1.ListOptions{Limit: pageSize}
	var nodes []*v1.Node
	for {
		page, err := w.Client.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("listing the Nodes: %w", err)
		}
		for i := range page.Items {
			nodes = append(nodes, &page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	slices.SortFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// fill makes these the Nodes in the cache of a placer.
func fill(p *placement.Placer, nodes []*v1.Node) {
	objects := make([]any, len(nodes))
	for i, n := range nodes {
		objects[i] = n
	}
	_ = p.NodeCache().Quiet().GetIndexer().Replace(objects, "") // the key of a Node is its name
}

func (f *Flags) selector() (labels.Selector, error) {
	s, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return s, nil
}

// Selected returns the Nodes that --selector selects: all Nodes count for what becomes of each.
func (w *World) Selected(f *Flags) []*v1.Node {
	selector, err := f.selector()
	if err != nil { // Open has refused it
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Nodes), func(n *v1.Node) bool { return !selector.Matches(labels.Set(n.Labels)) })
}

// completeTime is how long the completion of a word may take.
const completeTime = 2 * time.Second

// CompleteNodes returns what a shell completes with the names of Nodes, read from the cluster.
func CompleteNodes(f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(ctx, completeTime)
		defer cancel()
		asked := *f
		asked.Timeout = completeTime
		w := &World{}
		if w.connect(&asked) != nil || w.Client == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		nodes, _ := w.listNodes(ctx) // without them there is nothing to complete
		for _, n := range nodes {
			if strings.HasPrefix(n.Name, begun) && !slices.Contains(args, n.Name) {
				names = append(names, n.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
