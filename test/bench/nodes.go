package main

import (
	"context"
	"fmt"
	"slices"
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

// deleteNodes deletes all Nodes.
func deleteNodes(ctx context.Context, client kubernetes.Interface) error {
	nodes := client.CoreV1().Nodes()
	if err := nodes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting the Nodes: %w", err)
	}
	left, err := nodes.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("looking for Nodes that are left: %w", err)
	}
	if len(left.Items) > 0 {
		return fmt.Errorf("the Node %s is still there after all were deleted", left.Items[0].Name)
	}
	return nil
}

// arrivals notes when Nodes become initialized. It costs the machine little, as
// it must: it runs beside what is measured.
type arrivals struct {
	stop func()

	mu      sync.Mutex
	nodes   map[string]arrival
	waiting map[string]bool // whom await is waiting for
	full    chan struct{}   // closed when waiting has become empty
}

// An arrival is an initialized Node and when it was first seen.
type arrival struct {
	at               time.Time
	providerID, zone string
}

// watchNodes begins to watch and returns when the Nodes of now are known. The
// caller must call close.
func watchNodes(ctx context.Context, client kubernetes.Interface) (*arrivals, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &arrivals{nodes: map[string]arrival{}}
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

// strip leaves of a Node what see looks at.
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

func (a *arrivals) see(obj any) {
	n, ok := obj.(*v1.Node)
	if !ok || !stack.Initialized(n) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.nodes[n.Name]; known {
		return
	}
	a.nodes[n.Name] = arrival{at: time.Now(), providerID: n.Spec.ProviderID, zone: n.Labels[v1.LabelTopologyZone]}
	if a.waiting[n.Name] {
		delete(a.waiting, n.Name)
		if len(a.waiting) == 0 {
			close(a.full)
		}
	}
}

// expect returns a channel that is closed when the Nodes of all machines are
// initialized. Only one such channel is in use at a time.
func (a *arrivals) expect(machines []fleet.Machine) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting, a.full = map[string]bool{}, make(chan struct{})
	for _, m := range machines {
		if _, here := a.nodes[m.Name]; !here {
			a.waiting[m.Name] = true
		}
	}
	if len(a.waiting) == 0 {
		close(a.full)
	}
	return a.full
}

// missing returns how many of the expected Nodes are still to come, and one of
// them.
func (a *arrivals) missing() (n int, one string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.waiting {
		if one == "" || name < one {
			one = name
		}
	}
	return len(a.waiting), one
}

// last returns when the last Node of the machines, which have all arrived, did.
func (a *arrivals) last(machines []fleet.Machine) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.MaxFunc(machinesAt(a, machines), time.Time.Compare)
}

func machinesAt(a *arrivals, machines []fleet.Machine) []time.Time {
	times := make([]time.Time, len(machines))
	for i, m := range machines {
		times[i] = a.nodes[m.Name].at
	}
	return times
}

// wrong returns an error if a Node has not what its machine gives it: figures
// of wrong answers are worth nothing.
func (a *arrivals) wrong(machines []fleet.Machine) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range machines {
		n := a.nodes[m.Name]
		if want := zone(m.VCenter, m.Cluster); n.providerID != m.ProviderID() || n.zone != want {
			return fmt.Errorf("the Node %s got the provider ID %q and the zone %q instead of %q and %q", m.Name, n.providerID, n.zone, m.ProviderID(), want)
		}
	}
	return nil
}

// any returns one of the machines whose Node is initialized, or "".
func (a *arrivals) any(machines []fleet.Machine) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range machines {
		if _, here := a.nodes[m.Name]; here {
			return m.Name
		}
	}
	return ""
}

// leveled returns an error if a Node has not the labels of further levels that its
// machine gives it, or if they are not noted as written by the daemon.
func (b *bench) leveled(ctx context.Context, machines []fleet.Machine) error {
	list, err := b.stack.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	nodes := map[string]*v1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	for _, m := range machines {
		n := nodes[m.Name]
		if n == nil {
			return fmt.Errorf("the Node %s is gone", m.Name)
		}
		want := map[string]string{"example.com/cluster": m.Cluster, "example.com/host": m.Host}
		noted := "example.com/cluster,example.com/host"
		if n.Labels["example.com/rack"] != "" {
			want["example.com/rack"], noted = m.Host, noted+",example.com/rack"
		}
		for key, value := range want {
			if n.Labels[key] != value {
				return fmt.Errorf("the Node %s has the label %s=%q instead of %q", m.Name, key, n.Labels[key], value)
			}
		}
		if is := n.Annotations["vzones/labels"]; is != noted {
			return fmt.Errorf("the Node %s has %q noted instead of %q", m.Name, is, noted)
		}
	}
	return nil
}
