package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"vzones/provider/placement"
)

// readNodes lists the Nodes by name, if there is a cluster.
func (w *World) readNodes(ctx context.Context, f *Flags) error {
	if w.Nodes = f.Nodes; w.Client == nil || w.Nodes != nil {
		return nil
	}
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return w.Client.CoreV1().Nodes().List(ctx, opts)
	}
	err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		w.Nodes = append(w.Nodes, o.(*v1.Node))
		return nil
	})
	switch {
	case err == nil:
		slices.SortFunc(w.Nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
		return nil
	case f.NodesOptional && apierrors.IsForbidden(err):
		w.Nodes, w.NoNodes = nil, fmt.Errorf("listing the Nodes: %w", err)
		return nil
	}
	return fmt.Errorf("listing the Nodes: %w", err)
}

// Selected returns the Nodes that --selector selects: all Nodes count for what becomes of each.
func (w *World) Selected() []*v1.Node {
	return slices.DeleteFunc(slices.Clone(w.Nodes), func(n *v1.Node) bool { return !w.selector.Matches(labels.Set(n.Labels)) })
}

// fill makes these the Nodes in the cache of a placer.
func fill(p *placement.Placer, nodes []*v1.Node) {
	objects := make([]any, len(nodes))
	for i, n := range nodes {
		objects[i] = n
	}
	_ = p.NodeCache().Quiet().GetIndexer().Replace(objects, "") // the key of a Node is its name
}
