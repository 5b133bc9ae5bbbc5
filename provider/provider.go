// Package provider answers the questions of Kubernetes' cloud provider framework about
// Nodes from the snapshots of the vCenters.
//
// It owns the cloud provider interface that the framework's controllers call. Calls are
// answered from memory: no answer waits for a vCenter, and none writes anything. What the
// answers are made of is in the packages below it. Package framework completes what the framework
// writes to Nodes, and package nodes writes the rest.
package provider

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/framework"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

const (
	// Name is the cloud provider's name. It stays the incumbent's: it is part
	// of flags, manifests and provider IDs of running clusters.
	Name = "vsphere"
	// ClientName is the name of the daemon's clients beside the framework's, as user agents
	// and field managers have it. It is the incumbent's.
	ClientName = "vsphere-cloud-controller-manager"
)

// Options tune a provider. The zero value is what a daemon wants.
type Options = placement.Options

// Fleet is what the provider needs of the vCenters.
type Fleet interface {
	placement.Fleet
	placement.SearchedFleet
}

// Provider is the cloud provider "vsphere". It is used in the framework's
// order: Initialize, SetInformers, then everything else.
type Provider struct {
	store   *nodes.Store
	placer  *placement.Placer
	checker *placement.Checker
	cache   *framework.Cache
	guard   framework.Guard
	// keepsLabels reports whether labels and the condition are kept current.
	keepsLabels atomic.Bool
}

var _ cloudprovider.InformerUser = (*Provider)(nil)

// New returns a provider that answers from the states of a fleet.
func New(fleet Fleet, cfg *config.Config, opts Options) *Provider {
	store := nodes.NewStore(fleet, cfg, opts)
	placer := store.Placer()
	cache := store.Cache()
	return &Provider{
		store: store, placer: placer, checker: placement.NewChecker(fleet, placer), cache: cache,
		guard: framework.Guard{Current: cache.Get, Answers: store},
	}
}

// Store returns what is known of each Node.
func (p *Provider) Store() *nodes.Store { return p.store }

// Checker returns what decides whether machines exist. Its Run has to run beside the
// framework's controllers.
func (p *Provider) Checker() *placement.Checker { return p.checker }

// Apply makes this the configuration from now on. Whoever calls it has the fleet
// apply it next, whose subscribers are notified then.
func (p *Provider) Apply(cfg *config.Config) { p.placer.Apply(cfg) }

// KeepLabels notes that the labels of running Nodes are kept current, and the condition that says
// so: then a Node gets the condition when it is initialized.
func (p *Provider) KeepLabels() { p.keepsLabels.Store(true) }

// Initialize does nothing: the provider writes nothing, so it needs no client.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// SetInformers is called by the framework before the informers start, when this process
// leads.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	p.cache.Watch(factory)
	p.cache.Start()
}

// Started is closed once the framework has handed over its informers, which it does when
// this process leads.
func (p *Provider) Started() <-chan struct{} { return p.cache.Started() }

// NodeInformer returns the informer that the framework's controllers have to
// use, so that a Node whose machine has become known is announced to them again, and
// they do not see those of others. It is valid once Started is closed.
func (p *Provider) NodeInformer() coreinformers.NodeInformer { return p.cache }

// LifecycleInformer returns NodeInformer for the framework's lifecycle controller.
func (p *Provider) LifecycleInformer() coreinformers.NodeInformer {
	return framework.LifecycleInformer(p.cache, p.checker.HasAnswer)
}

// Client returns the client that the framework's controllers have to use, see framework.Guard.
func (p *Provider) Client(client kubernetes.Interface) kubernetes.Interface {
	return p.guard.Client(client)
}

// InstancesV2 returns the one interface that the provider has.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// ProviderName returns Name.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID keeps the framework from asking for a cluster ID, which serves
// load balancers and volumes.
func (p *Provider) HasClusterID() bool { return true }

// LoadBalancer is not supported.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Instances is replaced by InstancesV2.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is replaced by InstancesV2.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not supported.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes is not supported.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return nil, false }

// InstanceExists reports whether a Node's machine exists. False makes the framework delete
// the Node, see placement.Checker.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := p.checker.CheckExists(ctx, node)
	p.guard.Exists(node, exists || err != nil)
	return exists, err
}

// InstanceShutdown reports whether a Node's machine is known to be powered off or suspended, by a
// vCenter that can be read. A Node of another provider is not shut down. The framework taints the
// Node of a machine that is, and does nothing otherwise: it would only log an error, of each Node
// that is not ready, every five seconds while a vCenter is down.
func (p *Provider) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if p.placer.IsForeign(node) {
		return false, nil
	}
	down, err := p.placer.IsShutDown(node)
	if err != nil {
		klog.FromContext(ctx).V(4).Info("It is not known whether the machine is shut down", "node", klog.KObj(node), "err", quote.Line(err.Error()))
	}
	p.guard.Shutdown(node, down)
	return down, nil // false after an error
}

// InstanceMetadata returns what the framework writes to a Node.
//
// For a Node that carries the framework's taint it is complete or nothing: nil
// without an error leaves the Node alone, and it is announced to the
// framework's controller again once there is more to say. An error instead would be
// tried again at intervals that grow to a quarter of an hour.
//
// For a Node without the taint only the addresses count, and there are none if
// they are to stay as they are, as while its machine is unknown. For a Node of another provider the result is
// empty, which changes nothing.
func (p *Provider) InstanceMetadata(ctx context.Context, node *v1.Node) (m *cloudprovider.InstanceMetadata, err error) {
	var additions framework.Additions
	isForeign := p.placer.IsForeign(node)
	joins := nodeinfo.IsUninitialized(node)
	switch {
	case isForeign && !joins:
		return &cloudprovider.InstanceMetadata{}, nil
	case isForeign:
	case joins:
		d, waits := p.placer.JoinAndReserve(node)
		if waits != nil {
			klog.FromContext(ctx).V(4).Info("Node waits", "node", klog.KObj(node), "err", quote.Line(waits.Error()))
			break
		}
		d.Log(ctx, node)
		m = d.Metadata
		additions = p.additions(node, d)
	default:
		var given []v1.NodeAddress
		if given, additions.Former, err = p.placer.NewAddresses(node); err == nil {
			m = &cloudprovider.InstanceMetadata{NodeAddresses: given}
		}
	}
	p.guard.Metadata(node, m, additions)
	return m, err
}

// additions returns what a Node gets that the framework does not write: where its machine is, labels
// in Kubernetes' own domains, and the condition, unless something is not certain or not right.
func (p *Provider) additions(node *v1.Node, d *placement.Decision) framework.Additions {
	b := framework.Additions{Annotations: d.Annotations, Labels: map[string]string{nodeinfo.KeyInitialized: "true"}, Levels: map[string]string{}}
	for label, value := range d.Placement.Further() {
		if topology.IsReservedLevel(label) {
			b.Labels[label] = value
		} else if _, there := node.Labels[label]; !there {
			b.Levels[label] = value
		}
	}
	if p.keepsLabels.Load() && !d.Shared && d.Placement.Uncertainty() == nil && !keepsAnother(node, d) {
		ready := report.NewCondition(node, v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent)
		b.Condition = &ready
	}
	return b
}

// keepsAnother reports whether a Node has a label that is not its place's and that initializing it
// leaves: one without a value, or one of a level, which the framework does not overwrite.
func keepsAnother(node *v1.Node, d *placement.Decision) bool {
	for _, label := range d.Topology.Policy.Labels() {
		want := d.Placement.Value(label)
		overwritten := want != "" && (!plan.IsLevel(label) || topology.IsReservedLevel(label))
		for _, key := range plan.StableAndBeta(label) {
			if value, there := node.Labels[key]; there && value != want && !overwritten {
				return true
			}
		}
	}
	return false
}
