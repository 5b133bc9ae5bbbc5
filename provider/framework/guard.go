package framework

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// A Guard remembers the answers to the framework about each Node and wraps the framework's client, so that a Node
// that has taken over the name of another one gets nothing of that other Node. The methods may be called
// concurrently.
type Guard struct {
	// Current returns the Node of a name from the cache that the framework's controllers read.
	Current func(name string) (*v1.Node, error)
	// Answers has the answers about each Node.
	Answers AnswerStore
}

// AnswerStore contains the answers about each Node, under one lock. It is nodes.Store.
type AnswerStore interface {
	sync.Locker
	// AnswersAbout returns the answers about a Node, to be read and changed under the lock. They are kept until the Node is
	// deleted.
	AnswersAbout(*v1.Node) *Answers
}

// Answers are the last answers about a Node, from which the framework's next writes follow. The zero value means that the
// framework has not asked yet.
type Answers struct {
	// metadata has the last answer to the framework's worker that initializes and the last answer to its
	// loop that updates addresses, the newer of the two first.
	metadata [2]metadata
	// Refused reports whether the last answer about initializing the Node was that it has to wait. The framework asks
	// again only after the Node changes or is announced, and whoever announces it again resets this.
	Refused bool
	// absent reports whether the Node's machine does not exist, off whether it is shut down.
	absent, off bool
}

// metadata is one answer of InstanceMetadata.
type metadata struct {
	// given reports whether the Node does not have to wait.
	given      bool
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
		now.given = true
		now.addresses = slices.Clone(m.NodeAddresses)
		now.providerID = n.Spec.ProviderID
		if now.providerID == "" {
			now.providerID = m.ProviderID
		}
		now.changesFormer = len(m.NodeAddresses) > 0 && additions.Former != n.Annotations[nodeinfo.KeyFormerAddresses]
	}
	g.note(n, func(a *Answers) {
		if a.metadata[0].joining != now.joining {
			a.metadata[1] = a.metadata[0]
		}
		a.metadata[0] = now
		if now.joining {
			a.Refused = !now.given
		}
	})
}

// Exists notes the answer of InstanceExists.
func (g *Guard) Exists(n *v1.Node, exists bool) {
	g.note(n, func(a *Answers) { a.absent = !exists })
}

// Shutdown notes the answer of InstanceShutdown.
func (g *Guard) Shutdown(n *v1.Node, down bool) {
	g.note(n, func(a *Answers) { a.off = down })
}

// note changes the answers about a Node.
func (g *Guard) note(n *v1.Node, change func(*Answers)) {
	g.Answers.Lock()
	defer g.Answers.Unlock()
	change(g.Answers.AnswersAbout(n))
}

// last returns the last answers about a Node.
func (g *Guard) last(n *v1.Node) Answers {
	g.Answers.Lock()
	defer g.Answers.Unlock()
	return *g.Answers.AnswersAbout(n)
}

// Client returns a client for the framework's controllers. Its writes to Nodes reach only the
// Node that the provider was last asked about, and everything else is as with the client:
//
//   - The update that initializes is refused for a Node that was not given its provider ID. It also
//     writes our labels and annotations, so that the Node is complete once it has lost its taint, and a
//     daemon which starts right after it knows the machine.
//   - A patch carries the UID of the Node that the cache has under the name. The patch of the addresses and that of the
//     shutdown taint have to follow from an answer about that Node. The one that follows the update also writes our condition.
//   - The other patches follow from no answer but from the Node in the cache: the copy of
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
	for _, m := range c.guard.last(n).metadata {
		if m.joining && m.given && m.providerID == n.Spec.ProviderID {
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
	n, err := c.guard.Current(name)
	if err != nil {
		return fmt.Errorf("deleting Node %s: %w", name, err)
	}
	isAbsent := false
	c.guard.note(n, func(a *Answers) { isAbsent, a.absent = a.absent, false }) // once
	if !isAbsent {
		return fmt.Errorf("deleting Node %s: nothing has said that its machine does not exist", name)
	}
	preconditions := metav1.Preconditions{}
	if opts.Preconditions != nil {
		preconditions = *opts.Preconditions
	}
	preconditions.UID = &n.UID
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
	n, err := g.Current(name)
	if err != nil {
		return nil, err
	}
	var m metadata
	follows := false
	last := g.last(n)
	switch {
	case slices.Equal(subresources, []string{"status"}):
		m = last.gave(is.Status.Addresses)
		follows = m.given
	case slices.ContainsFunc(is.Spec.Taints, func(t v1.Taint) bool { return t.Key == api.TaintNodeShutdown }):
		follows = last.off
	default:
		follows = followsFrom(n, &is)
	}
	if !follows {
		return nil, errors.New("it was replaced by another Node of its name, or has changed")
	}
	err = unstructured.SetNestedField(all, string(n.UID), "metadata", "uid")
	if err == nil && m.changesFormer {
		// A nil value removes the annotation.
		var former any
		if m.additions.Former != "" {
			former = m.additions.Former
		}
		err = unstructured.SetNestedField(all, former, "metadata", "annotations", nodeinfo.KeyFormerAddresses)
	}
	if condition := m.additions.Condition; err == nil && condition != nil {
		var added map[string]any
		if added, err = runtime.DefaultUnstructuredConverter.ToUnstructured(condition); err == nil {
			// The API server merges the conditions of a patch by their type.
			err = unstructured.SetNestedSlice(all, []any{added}, "status", "conditions")
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
func (a *Answers) gave(addresses []v1.NodeAddress) metadata {
	for _, m := range a.metadata {
		if !slices.ContainsFunc(addresses, func(is v1.NodeAddress) bool {
			return is.Address != "" && is.Type != v1.NodeHostName && !slices.Contains(m.addresses, is)
		}) && m.given {
			return m
		}
	}
	return metadata{}
}
