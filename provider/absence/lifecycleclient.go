package absence

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// deletions are the Nodes that the framework may delete, and has not yet.
type deletions struct {
	mu   sync.Mutex
	uids map[string]types.UID // by name
}

// approve notes that this Node may be deleted, and no other one of its name.
func (d *deletions) approve(node *v1.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uids == nil {
		d.uids = map[string]types.UID{}
	}
	d.uids[node.Name] = node.UID
}

// take returns the UID of the Node of that name that may be deleted, once.
func (d *deletions) take(name string) (types.UID, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	uid, ok := d.uids[name]
	delete(d.uids, name)
	return uid, ok
}

// LifecycleClient returns a client for the framework's lifecycle controller, which
// deletes Nodes by name. With this client it deletes a Node only if InstanceExists has
// said of it that its machine does not exist, and never another Node that has the name
// by then: the API server compares the UID. Everything else is as with the client.
func (c *Checker) LifecycleClient(client kubernetes.Interface) kubernetes.Interface {
	return lifecycleClient{client, &c.deletions}
}

type lifecycleClient struct {
	kubernetes.Interface
	deletions *deletions
}

// CoreV1 implements kubernetes.Interface.
func (c lifecycleClient) CoreV1() typedv1.CoreV1Interface {
	return lifecycleCore{c.Interface.CoreV1(), c.deletions}
}

type lifecycleCore struct {
	typedv1.CoreV1Interface
	deletions *deletions
}

// Nodes implements typedv1.CoreV1Interface.
func (c lifecycleCore) Nodes() typedv1.NodeInterface {
	return lifecycleNodes{c.CoreV1Interface.Nodes(), c.deletions}
}

type lifecycleNodes struct {
	typedv1.NodeInterface
	deletions *deletions
}

// Delete deletes a Node with the UID that it had when InstanceExists was asked.
func (n lifecycleNodes) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	uid, ok := n.deletions.take(name)
	if !ok {
		return fmt.Errorf("deleting Node %s: nothing has said that its machine does not exist", name)
	}
	preconditions := metav1.Preconditions{}
	if opts.Preconditions != nil {
		preconditions = *opts.Preconditions
	}
	preconditions.UID = &uid
	opts.Preconditions = &preconditions
	return n.NodeInterface.Delete(ctx, name, opts)
}
