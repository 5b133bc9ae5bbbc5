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

// A Guard remembers the provider's last answers and wraps the framework's client. Its methods may be called
// concurrently.
type Guard struct {
	Current func(name string) (*v1.Node, error)
	Answers AnswerStore
}

// AnswerStore contains the answers about each Node under one lock. nodes.Store implements it.
type AnswerStore interface {
	sync.Locker
	// AnswersAbout requires that the caller holds the lock while it uses the answers.
	AnswersAbout(*v1.Node) *Answers
	// Requeue makes package nodes decide about a rejected Node again: the answer may be older than its last decision.
	Requeue(*v1.Node)
}

// Answers are the last answers about a Node.
type Answers struct {
	// metadata contains the answers to the initializing worker and to the address loop, the newer one first.
	metadata [2]metadataAnswer
	// Rejected means that the Node could not be initialized. The framework asks again only after a change or
	// Announce, whose caller resets Rejected.
	Rejected             bool
	isAbsent, isShutDown bool
}

type metadataAnswer struct {
	hasMetadata           bool
	isJoining             bool
	providerID            string
	addresses             []v1.NodeAddress
	additions             Additions
	hasNewFormerAddresses bool
}

// Additions are added to the framework's writes of a Node.
type Additions struct {
	// Labels are reserved labels, which the framework does not write.
	Labels, Annotations map[string]string
	// Levels are the labels that the framework writes and that nodeinfo.KeyLabels must list.
	Levels map[string]string
	// FormerAddresses is the annotation nodeinfo.KeyFormerAddresses.
	FormerAddresses string
	// Condition is written together with changed addresses, and not at all if no address changes.
	Condition *v1.NodeCondition
}

// RecordMetadata records an answer of InstanceMetadata, nil if the Node stays uninitialized.
func (g *Guard) RecordMetadata(n *v1.Node, m *cloudprovider.InstanceMetadata, additions Additions) {
	answer := metadataAnswer{isJoining: nodeinfo.IsUninitialized(n), additions: additions}
	if m != nil {
		answer.hasMetadata = true
		answer.addresses = slices.Clone(m.NodeAddresses)
		answer.providerID = n.Spec.ProviderID
		if answer.providerID == "" {
			answer.providerID = m.ProviderID
		}
		answer.hasNewFormerAddresses = len(m.NodeAddresses) > 0 && additions.FormerAddresses != n.Annotations[nodeinfo.KeyFormerAddresses]
	}
	g.update(n, func(a *Answers) {
		if a.metadata[0].isJoining != answer.isJoining {
			a.metadata[1] = a.metadata[0]
		}
		a.metadata[0] = answer
		if answer.isJoining {
			a.Rejected = !answer.hasMetadata
		}
	})
	if answer.isJoining && !answer.hasMetadata {
		g.Answers.Requeue(n)
	}
}

// RecordExists records an answer of InstanceExists.
func (g *Guard) RecordExists(n *v1.Node, exists bool) {
	g.update(n, func(a *Answers) { a.isAbsent = !exists })
}

// RecordShutdown records an answer of InstanceShutdown.
func (g *Guard) RecordShutdown(n *v1.Node, down bool) {
	g.update(n, func(a *Answers) { a.isShutDown = down })
}

func (g *Guard) update(n *v1.Node, change func(*Answers)) {
	g.Answers.Lock()
	defer g.Answers.Unlock()
	change(g.Answers.AnswersAbout(n))
}

func (g *Guard) lastAnswers(n *v1.Node) Answers {
	g.Answers.Lock()
	defer g.Answers.Unlock()
	return *g.Answers.AnswersAbout(n)
}

// Client returns a client for the framework's controllers that changes writes to Nodes:
//
//   - The initializing update is rejected unless its provider ID matches an answer. It also gets labels and
//     annotations, so that they exist once the taint is gone.
//   - Every patch gets the UID of the cached Node. A patch of addresses or of the shutdown taint must match
//     an answer, which may add the condition.
//   - Other patches must follow from the cached Node alone: copies of labels from beta keys, and the removal
//     of the shutdown taint.
//   - A deletion gets the UID, and is allowed once per answer that the VM does not exist.
func (g *Guard) Client(client kubernetes.Interface) kubernetes.Interface {
	return guardedClient{client, g}
}

type guardedClient struct {
	kubernetes.Interface
	guard *Guard
}

func (c guardedClient) CoreV1() typedv1.CoreV1Interface {
	return guardedCore{c.Interface.CoreV1(), c.guard}
}

type guardedCore struct {
	typedv1.CoreV1Interface
	guard *Guard
}

func (c guardedCore) Nodes() typedv1.NodeInterface {
	return guardedNodes{c.CoreV1Interface.Nodes(), c.guard}
}

type guardedNodes struct {
	typedv1.NodeInterface
	guard *Guard
}

// Update initializes a Node, with the answer's additions. Only the framework's node controller calls it.
func (c guardedNodes) Update(ctx context.Context, n *v1.Node, opts metav1.UpdateOptions) (*v1.Node, error) {
	for _, m := range c.guard.lastAnswers(n).metadata {
		if m.isJoining && m.hasMetadata && m.providerID == n.Spec.ProviderID {
			n = n.DeepCopy()
			n.ManagedFields = nil // otherwise they would replace the API server's
			for key, value := range m.additions.Labels {
				metav1.SetMetaDataLabel(&n.ObjectMeta, key, value)
			}
			for key, value := range m.additions.Annotations {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value)
			}
			if owned := plan.OwnedAnnotation(n, m.additions.Levels); owned != "" {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, nodeinfo.KeyLabels, owned)
			}
			return c.NodeInterface.Update(ctx, n, opts)
		}
	}
	return nil, fmt.Errorf("initializing Node %s: it was replaced by another Node of its name, or cannot be initialized yet; it is initialized later", n.Name)
}

func (c guardedNodes) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, opts metav1.PatchOptions, subresources ...string) (*v1.Node, error) {
	patch, err := c.guard.complete(name, patch, subresources)
	if err != nil {
		return nil, fmt.Errorf("patching Node %s: %w", name, err)
	}
	return c.NodeInterface.Patch(ctx, name, kind, patch, opts, subresources...)
}

func (c guardedNodes) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	n, err := c.guard.Current(name)
	if err != nil {
		return fmt.Errorf("deleting Node %s: %w", name, err)
	}
	isAbsent := false
	c.guard.update(n, func(a *Answers) { isAbsent, a.isAbsent = a.isAbsent, false })
	if !isAbsent {
		return fmt.Errorf("deleting Node %s: the absence of its VM is not confirmed", name)
	}
	preconditions := metav1.Preconditions{}
	if opts.Preconditions != nil {
		preconditions = *opts.Preconditions
	}
	preconditions.UID = &n.UID
	opts.Preconditions = &preconditions
	return c.NodeInterface.Delete(ctx, name, opts)
}

// complete adds the UID, which the API server compares, and the answer's additions.
func (g *Guard) complete(name string, patch []byte, subresources []string) ([]byte, error) {
	var patched v1.Node
	var fields map[string]any
	if err := cmp.Or(json.Unmarshal(patch, &patched), json.Unmarshal(patch, &fields)); err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	n, err := g.Current(name)
	if err != nil {
		return nil, err
	}
	var m metadataAnswer
	isJustified := false
	answers := g.lastAnswers(n)
	switch {
	case slices.Equal(subresources, []string{"status"}):
		m = answers.answerWith(patched.Status.Addresses)
		isJustified = m.hasMetadata
	case slices.ContainsFunc(patched.Spec.Taints, func(t v1.Taint) bool { return t.Key == api.TaintNodeShutdown }):
		isJustified = answers.isShutDown
	default:
		isJustified = isDerivedFrom(n, &patched)
	}
	if !isJustified {
		return nil, errors.New("it was replaced by another Node of its name, or has changed")
	}
	err = unstructured.SetNestedField(fields, string(n.UID), "metadata", "uid")
	if err == nil && m.hasNewFormerAddresses {
		var former any
		if m.additions.FormerAddresses != "" {
			former = m.additions.FormerAddresses
		}
		err = unstructured.SetNestedField(fields, former, "metadata", "annotations", nodeinfo.KeyFormerAddresses)
	}
	if condition := m.additions.Condition; err == nil && condition != nil {
		var added map[string]any
		if added, err = runtime.DefaultUnstructuredConverter.ToUnstructured(condition); err == nil {
			// The API server merges conditions by type.
			err = unstructured.SetNestedSlice(fields, []any{added}, "status", "conditions")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("adding to the patch: %w", err)
	}
	return json.Marshal(fields)
}

var betaKeys = map[string]string{
	v1.LabelTopologyZone:       v1.LabelFailureDomainBetaZone,
	v1.LabelTopologyRegion:     v1.LabelFailureDomainBetaRegion,
	v1.LabelInstanceTypeStable: v1.LabelInstanceType,
}

// isDerivedFrom reports whether a patch follows from the cached Node n alone. The framework may have meant an
// earlier Node of the same name.
func isDerivedFrom(n, patch *v1.Node) bool {
	for key, value := range patch.Labels {
		if beta, ok := betaKeys[key]; !ok || n.Labels[beta] != value {
			return false
		}
	}
	return len(patch.Labels) > 0 || nodeinfo.IsReady(n)
}

// answerWith returns the newer answer that has the addresses. The framework adds the host name.
func (a *Answers) answerWith(addresses []v1.NodeAddress) metadataAnswer {
	for _, m := range a.metadata {
		if !slices.ContainsFunc(addresses, func(address v1.NodeAddress) bool {
			return address.Address != "" && address.Type != v1.NodeHostName && !slices.Contains(m.addresses, address)
		}) && m.hasMetadata {
			return m
		}
	}
	return metadataAnswer{}
}
