package nodecache

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// ownNodes is a lister without the Nodes of others. The framework keeps the beta
// and the stable labels of all Nodes that it sees alike and takes its shutdown
// taint off them, whatever the provider answers.
type ownNodes struct {
	corelisters.NodeLister
	foreign func(*v1.Node) bool
}

// List returns the Nodes that are ours.
func (l ownNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	own := make([]*v1.Node, 0, len(all))
	for _, n := range all {
		if !l.foreign(n) {
			own = append(own, n)
		}
	}
	return own, nil
}

// Get returns a Node that is ours. Another is not found.
func (l ownNodes) Get(name string) (*v1.Node, error) {
	n, err := l.NodeLister.Get(name)
	if err == nil && l.foreign(n) {
		return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
	}
	return n, err
}
