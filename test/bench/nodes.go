package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// arrivals waits for Nodes to be initialized. It must be cheap because it runs during the
// measurement.
type arrivals struct {
	stop func()
	// done is closed when all Nodes are initialized or one has wrong values. The fields up to mu are final then.
	done        chan struct{}
	first, last time.Time // times of the first and the last initialized Node
	wrongValue  error

	mu          sync.Mutex
	waiting     map[string]fleet.VM
	initialized map[string]bool // names of Nodes
	isFloor     bool            // values are constants and not checked
}

// watchNodes starts a watch and returns after the initial list. The caller must call stop.
func watchNodes(ctx context.Context, client kubernetes.Interface, vms []fleet.VM, isFloor bool) (*arrivals, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &arrivals{done: make(chan struct{}), waiting: map[string]fleet.VM{}, initialized: map[string]bool{}, isFloor: isFloor}
	for _, m := range vms {
		a.waiting[m.Name] = m
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", "", fields.Everything()),
		ObjectType:    &v1.Node{},
		Transform:     strip,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    a.see,
			UpdateFunc: func(_, now any) { a.see(now) },
		},
	})
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	a.stop = func() { cancel(); running.Wait() }
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		a.stop()
		return nil, fmt.Errorf("watching the Nodes: %w", context.Cause(ctx))
	}
	return a, nil
}

func strip(obj any) (any, error) {
	n, ok := obj.(*v1.Node)
	if !ok {
		return obj, nil
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, ResourceVersion: n.ResourceVersion, Labels: map[string]string{v1.LabelTopologyZone: n.Labels[v1.LabelTopologyZone]}},
		Spec:       v1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints},
	}, nil
}

// see records an initialized Node. A wrong value ends the wait, because it invalidates the figures.
func (a *arrivals) see(obj any) {
	n, ok := obj.(*v1.Node)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || !stack.Initialized(n) || a.initialized[n.Name] || a.wrongValue != nil {
		return
	}
	a.initialized[n.Name] = true
	a.last = time.Now()
	if a.first.IsZero() {
		a.first = a.last
	}
	m, isExpected := a.waiting[n.Name]
	gotZone := n.Labels[v1.LabelTopologyZone]
	wantZone := zone(m.VCenter, m.Cluster)
	switch {
	case !isExpected:
		a.wrongValue = fmt.Errorf("the Node %s is initialized although its vCenter does not respond", n.Name)
	case !a.isFloor && (n.Spec.ProviderID != m.ProviderID() || gotZone != wantZone):
		a.wrongValue = fmt.Errorf("the Node %s got the provider ID %q and the zone %q instead of %q and %q", n.Name, n.Spec.ProviderID, gotZone, m.ProviderID(), wantZone)
	}
	if delete(a.waiting, n.Name); a.wrongValue != nil || isExpected && len(a.waiting) == 0 {
		close(a.done)
	}
}

func (a *arrivals) missing() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.waiting {
		return fmt.Sprintf("%d Nodes are not initialized, including %s", len(a.waiting), name)
	}
	return "all Nodes are initialized"
}
