package provider

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"vzones/provider/absence"
	"vzones/provider/nodeinfo"
)

// LifecycleInformer returns NodeInformer for the framework's lifecycle controller. Its lister leaves out the Nodes
// that are not ready and about which InstanceExists would return an error. The controller does nothing with such a
// Node but log the error, once each --node-monitor-period for as long as the Node is kept.
func (p *Provider) LifecycleInformer() coreinformers.NodeInformer {
	return lifecycleInformer{p.nodes, p.checker}
}

type lifecycleInformer struct {
	coreinformers.NodeInformer
	checker *absence.Checker
}

// Lister implements coreinformers.NodeInformer.
func (i lifecycleInformer) Lister() corelisters.NodeLister {
	return answeredNodes{i.NodeInformer.Lister(), i.checker}
}

type answeredNodes struct {
	corelisters.NodeLister
	checker *absence.Checker
}

// List returns the Nodes that are ready and those whose deletion is decided.
func (l answeredNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	answered := make([]*v1.Node, 0, len(all))
	for _, n := range all {
		if nodeinfo.IsReady(n) || l.checker.HasAnswer(n) {
			answered = append(answered, n)
		}
	}
	return answered, nil
}
