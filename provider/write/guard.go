// Package write stands between the framework's controllers and the API server. The controllers read a Node, ask
// the provider about it, and write by name. The guard makes sure that each write reaches only the Node that the
// provider was asked about.
package write

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
)

// answersKept is the shortest time for which an answer allows the write that follows it. The framework writes
// within seconds, retries included.
const answersKept = 10 * time.Minute

// A Guard remembers the answers to the framework about each Node and wraps the framework's client, so that a Node
// that has taken over the name of another one gets nothing of that other Node. The methods may be called
// concurrently.
type Guard struct {
	// Current returns the Node of a name from the cache that the framework's controllers read.
	Current func(name string) (*v1.Node, error)

	mu sync.Mutex
	// answers are by the Node's name, and swept is when old ones were removed last.
	answers map[string]*answers
	swept   time.Time
}

// answers are the last ones about Nodes of one name.
type answers struct {
	// metadata has the last answer to the framework's worker that initializes and the last answer to its
	// loop that updates addresses, the newer of the two first.
	metadata [2]metadata
	// absent is the Node whose machine does not exist, off the one whose machine is shut down.
	// They are empty if there is none.
	absent, off types.UID
	at          time.Time // of the last one
}

type metadata struct {
	uid        types.UID
	joining    bool // the Node had the framework's taint
	providerID string
	addresses  []v1.NodeAddress
	additions  Additions
	// changesFormer reports whether the Node has another annotation of former addresses.
	changesFormer bool
}

// Additions has the additions to the framework's writes that initialize a Node.
type Additions struct {
	// Labels are in Kubernetes' own domains, which the framework leaves out. Annotations
	// say where the machine is.
	Labels, Annotations map[string]string
	// Levels are labels that the framework is given and that may be removed later. Those that the
	// Node gets are listed in the annotation nodeinfo.KeyLabels.
	Levels map[string]string
	// Former is the annotation nodeinfo.KeyFormerAddresses, which goes with the write of other addresses.
	Former string
	// Condition goes with the write of the addresses, nil if there is nothing to say yet. If the
	// addresses do not change, the framework does not write them.
	Condition *v1.NodeCondition
}

// Metadata notes the answer of InstanceMetadata, nil if the Node has to wait, and the
// additions to the writes that follow from it.
func (g *Guard) Metadata(n *v1.Node, m *cloudprovider.InstanceMetadata, additions Additions) {
	now := metadata{joining: nodeinfo.IsUninitialized(n), additions: additions}
	if m != nil {
		now.uid, now.providerID, now.addresses = n.UID, n.Spec.ProviderID, slices.Clone(m.NodeAddresses)
		if now.providerID == "" {
			now.providerID = m.ProviderID
		}
		now.changesFormer = len(m.NodeAddresses) > 0 && additions.Former != n.Annotations[nodeinfo.KeyFormerAddresses]
	}
	g.note(n.Name, func(a *answers) {
		if a.metadata[0].joining != now.joining {
			a.metadata[1] = a.metadata[0]
		}
		a.metadata[0] = now
	})
}

// Exists notes the answer of InstanceExists.
func (g *Guard) Exists(n *v1.Node, exists bool) {
	g.note(n.Name, func(a *answers) { a.absent = uidIf(!exists, n) })
}

// Shutdown notes the answer of InstanceShutdown.
func (g *Guard) Shutdown(n *v1.Node, down bool) {
	g.note(n.Name, func(a *answers) { a.off = uidIf(down, n) })
}

func uidIf(is bool, n *v1.Node) types.UID {
	if is {
		return n.UID
	}
	return ""
}

// note changes the answers about Nodes of a name.
func (g *Guard) note(name string, change func(*answers)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.swept) > answersKept {
		maps.DeleteFunc(g.answers, func(_ string, a *answers) bool { return now.Sub(a.at) > answersKept })
		g.swept = now
	}
	if g.answers == nil {
		g.answers = map[string]*answers{}
	}
	if g.answers[name] == nil {
		g.answers[name] = &answers{}
	}
	g.answers[name].at = now
	change(g.answers[name])
}

// last returns the last answers about Nodes of a name.
func (g *Guard) last(name string) answers {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.answers[name]; a != nil {
		return *a
	}
	return answers{}
}

// Client returns a client for the framework's controllers. Its writes to Nodes reach only the
// Node that the provider was last asked about, and everything else is as with the client:
//
//   - The update that initializes is refused for a Node that was not given its provider ID. It also
//     writes our labels and annotations, so that the Node is complete once it has lost its taint, and a
//     daemon which starts right after it knows the machine.
//   - The patch of the addresses and that of the shutdown taint carry the Node's UID. The one that
//     follows the update also writes our condition.
//   - The other patches follow from no answer but from the Node in the cache, and carry its UID: the copy of
//     labels from their beta keys, and the removal of the shutdown taint.
//   - A deletion carries the UID, and is allowed once for each answer that the machine does not exist.
func (g *Guard) Client(client kubernetes.Interface) kubernetes.Interface {
	return guardedClient{client, g}
}

type guardedClient struct {
	kubernetes.Interface
	guard *Guard
}

// CoreV1 implements kubernetes.Interface.
func (c guardedClient) CoreV1() typedv1.CoreV1Interface {
	return guardedCore{c.Interface.CoreV1(), c.guard}
}

type guardedCore struct {
	typedv1.CoreV1Interface
	guard *Guard
}

// Nodes implements typedv1.CoreV1Interface.
func (c guardedCore) Nodes() typedv1.NodeInterface {
	return guardedNodes{c.CoreV1Interface.Nodes(), c.guard}
}

type guardedNodes struct {
	typedv1.NodeInterface
	guard *Guard
}

// Update updates a Node if InstanceMetadata was last answered about it.
func (c guardedNodes) Update(ctx context.Context, n *v1.Node, opts metav1.UpdateOptions) (*v1.Node, error) {
	for _, m := range c.guard.last(n.Name).metadata {
		if m.joining && m.uid == n.UID && m.uid != "" && m.providerID == n.Spec.ProviderID {
			n = n.DeepCopy()
			for key, value := range m.additions.Labels {
				metav1.SetMetaDataLabel(&n.ObjectMeta, key, value)
			}
			for key, value := range m.additions.Annotations {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value)
			}
			if owned := plan.Own(n, m.additions.Levels); owned != "" {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, nodeinfo.KeyLabels, owned)
			}
			return c.NodeInterface.Update(ctx, n, opts)
		}
	}
	return nil, fmt.Errorf("initializing Node %s: it was replaced by another Node of its name, or has to wait by now; it is initialized later", n.Name)
}

// Patch patches the Node that the provider was asked about.
func (c guardedNodes) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, opts metav1.PatchOptions, subresources ...string) (*v1.Node, error) {
	patch, err := c.guard.complete(name, patch, subresources)
	if err != nil {
		return nil, fmt.Errorf("patching Node %s: %w", name, err)
	}
	return c.NodeInterface.Patch(ctx, name, kind, patch, opts, subresources...)
}

// Delete deletes a Node if the last answer of InstanceExists was that its machine does not exist.
func (c guardedNodes) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	var uid types.UID
	c.guard.note(name, func(a *answers) { uid, a.absent = a.absent, "" }) // once
	if uid == "" {
		return fmt.Errorf("deleting Node %s: nothing has said that its machine does not exist", name)
	}
	preconditions := metav1.Preconditions{}
	if opts.Preconditions != nil {
		preconditions = *opts.Preconditions
	}
	preconditions.UID = &uid
	opts.Preconditions = &preconditions
	return c.NodeInterface.Delete(ctx, name, opts)
}

// complete adds the Node's UID, which the API server compares, to a patch, and the additions to a patch of addresses.
func (g *Guard) complete(name string, patch []byte, subresources []string) ([]byte, error) {
	var is v1.Node
	var all map[string]any
	if err := cmp.Or(json.Unmarshal(patch, &is), json.Unmarshal(patch, &all)); err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	var uid types.UID
	var m metadata
	switch last := g.last(name); {
	case slices.Equal(subresources, []string{"status"}):
		m = last.gave(is.Status.Addresses)
		uid = m.uid
	case slices.ContainsFunc(is.Spec.Taints, func(t v1.Taint) bool { return t.Key == api.TaintNodeShutdown }):
		uid = last.off
	default:
		if n, err := g.Current(name); err == nil && followsFrom(n, &is) {
			uid = n.UID
		}
	}
	if uid == "" {
		return nil, errors.New("it was replaced by another Node of its name, or has changed")
	}
	err := unstructured.SetNestedField(all, string(uid), "metadata", "uid")
	if err == nil && m.changesFormer {
		var former any // nil takes it off
		if m.additions.Former != "" {
			former = m.additions.Former
		}
		err = unstructured.SetNestedField(all, former, "metadata", "annotations", nodeinfo.KeyFormerAddresses)
	}
	if condition := m.additions.Condition; err == nil && condition != nil {
		var added map[string]any
		if added, err = runtime.DefaultUnstructuredConverter.ToUnstructured(condition); err == nil {
			err = unstructured.SetNestedSlice(all, []any{added}, "status", "conditions") // which are merged by type
		}
	}
	if err != nil {
		return nil, fmt.Errorf("adding to the patch: %w", err)
	}
	return json.Marshal(all)
}

// betaKeys has the labels that the framework copies, and the keys that it copies them from.
var betaKeys = map[string]string{
	v1.LabelTopologyZone:       v1.LabelFailureDomainBetaZone,
	v1.LabelTopologyRegion:     v1.LabelFailureDomainBetaRegion,
	v1.LabelInstanceTypeStable: v1.LabelInstanceType,
}

// followsFrom reports whether the framework derives a patch from a Node without asking the provider. It reads the
// Node of that name again for the patch, and that may be another Node.
func followsFrom(n, patch *v1.Node) bool {
	for key, value := range patch.Labels {
		if beta, ok := betaKeys[key]; !ok || n.Labels[beta] != value {
			return false
		}
	}
	return len(patch.Labels) > 0 || nodeinfo.IsReady(n)
}

// gave returns the last answer that gave a Node these addresses, zero if none did. The
// framework adds the host name, which is in the Node already.
func (a *answers) gave(addresses []v1.NodeAddress) metadata {
	for _, m := range a.metadata {
		if !slices.ContainsFunc(addresses, func(is v1.NodeAddress) bool {
			return is.Address != "" && is.Type != v1.NodeHostName && !slices.Contains(m.addresses, is)
		}) && m.uid != "" {
			return m
		}
	}
	return metadata{}
}
