package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/nodeinfo"
	"vzones/test/fleet"
)

// An observer watches all Nodes and Events. Waiters see every single change, not only the result of several.
type observer struct {
	mu      sync.Mutex
	view    view
	waiting map[*waiter]bool
	texts   map[string]bool // texts of all Events so far
	// vms returns the VMs of all vCenters, whether shown or not. wronglyTainted are the Nodes that got vzones' out-of-service
	// taint while one of these was theirs.
	vms            func() []fleet.VM
	wronglyTainted []string
}

type view struct {
	nodes  map[string]*v1.Node
	events map[types.UID]*v1.Event
}

type waiter struct {
	seen func(view) bool
	done chan struct{}
}

func newObserver(vms func() []fleet.VM) *observer {
	return &observer{
		vms:     vms,
		view:    view{nodes: map[string]*v1.Node{}, events: map[types.UID]*v1.Event{}},
		waiting: map[*waiter]bool{},
		texts:   map[string]bool{},
	}
}

// observe watches until the context is done. It calls synced after the initial lists.
func (o *observer) observe(ctx context.Context, client kubernetes.Interface, synced func()) {
	var group sync.WaitGroup
	defer group.Wait()
	var syncs []cache.DoneChecker
	for resource, kind := range map[string]runtime.Object{"nodes": &v1.Node{}, "events": &v1.Event{}} {
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), resource, v1.NamespaceAll, fields.Everything()),
			ObjectType:    kind,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc:    func(now any) { o.note(now, true) },
				UpdateFunc: func(_, now any) { o.note(now, true) },
				DeleteFunc: func(last any) { o.note(last, false) },
			},
		})
		syncs = append(syncs, informer.HasSyncedChecker())
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	if cache.WaitFor(ctx, "", syncs...) {
		synced()
	}
}

// note records a change and shows it to all waiters.
func (o *observer) note(object any, exists bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := object.(type) {
	case *v1.Node:
		if old := o.view.nodes[object.Name]; exists && old != nil && isOutOfService(object) && !isOutOfService(old) {
			for _, vm := range o.vms() {
				if isVMOf(object, vm) {
					o.wronglyTainted = append(o.wronglyTainted, fmt.Sprintf("Node %s got the out-of-service taint, but VM %s of vCenter %s exists", object.Name, vm.Path, vm.VCenter))
				}
			}
		}
		if o.view.nodes[object.Name] = object; !exists {
			delete(o.view.nodes, object.Name)
		}
	case *v1.Event:
		o.texts[fmt.Sprint(object.Reason, " ", object.Message, " ", object.Action, " ", object.Annotations)] = true
		if o.view.events[object.UID] = object; !exists {
			delete(o.view.events, object.UID)
		}
	}
	for w := range o.waiting {
		if w.seen(o.view) {
			close(w.done)
			delete(o.waiting, w)
		}
	}
}

func isOutOfService(n *v1.Node) bool {
	_, isOurs := nodeinfo.OutOfServiceTaint(n)
	return isOurs
}

func isVMOf(n *v1.Node, vm fleet.VM) bool {
	uuid := strings.TrimPrefix(n.Spec.ProviderID, "vsphere://")
	hasUUID := vm.UUID != "" && (strings.EqualFold(uuid, vm.UUID) || strings.EqualFold(uuid, vm.SwappedUUID()))
	return !vm.Template && (hasUUID || n.Annotations[nodeinfo.KeyVM] == vm.VCenter+"/"+vm.MoID)
}

func (o *observer) taintErrors() (errs []error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, text := range o.wronglyTainted {
		errs = append(errs, errors.New(text))
	}
	return errs
}

// errEnded is returned by until when the daemon has ended.
var errEnded = errors.New("the daemon exited unexpectedly")

// await calls seen with the current view and after each change until it returns true. It returns the cause if the
// context is done first, and errEnded if ended is closed.
func (o *observer) await(ctx context.Context, ended <-chan struct{}, seen func(view) bool) error {
	w := &waiter{seen: seen, done: make(chan struct{})}
	o.mu.Lock()
	if seen(o.view) {
		o.mu.Unlock()
		return nil
	}
	o.waiting[w] = true
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.waiting, w)
	}()
	select {
	case <-w.done:
		return nil
	case <-ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *observer) events() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(slices.Collect(maps.Keys(o.texts)), "\n")
}

func (o *observer) withView(f func(view)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o.view)
}
