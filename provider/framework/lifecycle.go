package framework

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"vzones/provider/nodeinfo"
)

// LifecycleInformer returns an informer for the framework's lifecycle controller. Its lister leaves out the Nodes
// that are not ready and about which InstanceExists would return an error. The controller does nothing with such a
// Node but log the error, once each --node-monitor-period for as long as the Node is kept.
func LifecycleInformer(nodes coreinformers.NodeInformer, hasAnswer func(*v1.Node) bool) coreinformers.NodeInformer {
	return lifecycleInformer{nodes, hasAnswer}
}

type lifecycleInformer struct {
	coreinformers.NodeInformer
	hasAnswer func(*v1.Node) bool
}

// Lister implements coreinformers.NodeInformer.
func (i lifecycleInformer) Lister() corelisters.NodeLister {
	return answeredNodes{i.NodeInformer.Lister(), i.hasAnswer}
}

type answeredNodes struct {
	corelisters.NodeLister
	hasAnswer func(*v1.Node) bool
}

// List returns the Nodes that are ready and those whose deletion is decided.
func (l answeredNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	answered := make([]*v1.Node, 0, len(all))
	for _, n := range all {
		if nodeinfo.IsReady(n) || l.hasAnswer(n) {
			answered = append(answered, n)
		}
	}
	return answered, nil
}
