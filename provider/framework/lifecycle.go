package framework

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"vzones/provider/nodeinfo"
)

// LifecycleInformer returns an informer whose lister omits Nodes that are not ready and have no answer.
func LifecycleInformer(nodes coreinformers.NodeInformer, hasAnswer func(*v1.Node) bool) coreinformers.NodeInformer {
	return lifecycleInformer{nodes, hasAnswer}
}

type lifecycleInformer struct {
	coreinformers.NodeInformer
	hasAnswer func(*v1.Node) bool
}

func (i lifecycleInformer) Lister() corelisters.NodeLister {
	return answeredNodes{i.NodeInformer.Lister(), i.hasAnswer}
}

type answeredNodes struct {
	corelisters.NodeLister
	hasAnswer func(*v1.Node) bool
}

func (l answeredNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	nodes, err := l.NodeLister.List(selector)
	if err != nil {
		return nil, err
	}
	answered := make([]*v1.Node, 0, len(nodes))
	for _, n := range nodes {
		if nodeinfo.IsReady(n) || l.hasAnswer(n) {
			answered = append(answered, n)
		}
	}
	return answered, nil
}
