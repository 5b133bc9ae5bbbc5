package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// A nodeRecorder watches all changes of Nodes, including those that are reverted at once, and records the unexpected
// ones.
type nodeRecorder struct {
	nodes typedv1.NodeInterface
	done  chan struct{} // closed when the watch has ended

	mu sync.Mutex
	// kept are the expected Nodes.
	kept    map[string]*v1.Node
	except  []exception
	changes []string
}

// An exception removes the fields of a Node that may change.
type exception func(*v1.Node)

// recordNodes watches until the context is done.
func recordNodes(ctx context.Context, nodes typedv1.NodeInterface) (*nodeRecorder, error) {
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	events, err := nodes.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	w := &nodeRecorder{nodes: nodes, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer events.Stop()
		for e := range events.ResultChan() {
			w.see(e)
		}
		if ctx.Err() == nil {
			w.fail("the watch ended before the test")
		}
	}()
	return w, nil
}

// expectUnchanged records the current Nodes. Every later change apart from the exceptions is a violation. A further
// call replaces the record.
func (w *nodeRecorder) expectUnchanged(ctx context.Context, except ...exception) error {
	list, err := w.nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = make(map[string]*v1.Node, len(list.Items))
	w.except = except
	for i := range list.Items {
		w.kept[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}

// violations returns the changes since expectUnchanged.
func (w *nodeRecorder) violations(ctx context.Context) ([]string, error) {
	list, err := w.nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].Name] = true
		w.see(watch.Event{Type: watch.Modified, Object: &list.Items[i]})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.kept {
		if !there[name] {
			w.changes = append(w.changes, name+" is gone")
		}
	}
	changes := w.changes
	w.changes = nil
	return changes, nil
}

func (w *nodeRecorder) fail(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, what)
}

func (w *nodeRecorder) see(e watch.Event) {
	is, ok := e.Object.(*v1.Node)
	if !ok {
		w.fail(fmt.Sprintf("the watch returned %v", e.Object))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.kept[is.Name]
	if was == nil || version(is) <= version(was) {
		// The Node is new, or the event is older than the record.
		return
	}
	if e.Type == watch.Deleted {
		w.changes = append(w.changes, is.Name+" is deleted")
		return
	}
	if diff := cmp.Diff(w.comparable(was), w.comparable(is)); diff != "" {
		w.changes = append(w.changes, fmt.Sprintf("%s (-was +is):\n%s", is.Name, diff))
	}
}

// comparable returns a Node as JSON without the fields that change with every write.
func (w *nodeRecorder) comparable(n *v1.Node) string {
	n = n.DeepCopy()
	n.ResourceVersion = ""
	n.ManagedFields = nil
	for _, except := range w.except {
		except(n)
	}
	if len(n.Annotations) == 0 {
		n.Annotations = nil
	}
	text, err := json.MarshalIndent(n, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func version(n *v1.Node) uint64 {
	v, err := strconv.ParseUint(n.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// removeOurs removes everything that vzones may write after a takeover: its annotations, label and condition.
func removeOurs(n *v1.Node) {
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady })
	delete(n.Labels, nodeinfo.KeyInitialized)
	for key := range n.Annotations {
		if strings.HasPrefix(key, topology.OwnDomain+"/") {
			delete(n.Annotations, key)
		}
	}
}
