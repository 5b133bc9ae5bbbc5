// Package provider implements the cloud provider interface of Kubernetes.
//
// Every call is answered from the vCenters' snapshots in memory, without a request. Package framework
// extends the writes that Kubernetes' cloud controllers make to Nodes; package nodes makes all other writes.
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
	// Name is the provider name in flags, manifests and provider IDs. It must stay the same as in the vSphere CPI.
	Name = "vsphere"
	// ClientName is the user agent and field manager of the daemon's own clients, the same as in the vSphere CPI.
	ClientName = "vsphere-cloud-controller-manager"
)

// Options tune a Provider.
type Options = placement.Options

// Fleet provides the states of the vCenters and searches them.
type Fleet interface {
	placement.Fleet
	placement.SearchedFleet
}

// Provider is the cloud provider "vsphere". SetInformers precedes the methods of cloudprovider.InstancesV2.
type Provider struct {
	store              *nodes.Store
	placer             *placement.Placer
	checker            *placement.Checker
	cache              *framework.Cache
	guard              framework.Guard
	isConditionEnabled atomic.Bool
}

var _ cloudprovider.InformerUser = (*Provider)(nil)

// New returns a provider for the VMs of a fleet.
func New(fleet Fleet, cfg *config.Config, opts Options) *Provider {
	store := nodes.NewStore(fleet, cfg, opts)
	placer := store.Placer()
	cache := store.Cache()
	return &Provider{
		store: store, placer: placer, checker: placement.NewChecker(fleet, placer), cache: cache,
		guard: framework.Guard{Current: cache.Get, Answers: store},
	}
}

// Store returns the state of all Nodes.
func (p *Provider) Store() *nodes.Store { return p.store }

// Checker returns the checker, whose Run method must run alongside the framework's controllers.
func (p *Provider) Checker() *placement.Checker { return p.checker }

// Apply replaces the configuration. The caller applies it to the fleet afterwards, which notifies subscribers.
func (p *Provider) Apply(cfg *config.Config) { p.placer.Apply(cfg) }

// EnableReadyCondition makes InstanceMetadata add the condition TopologyReady. Call it if KeepLabels runs.
func (p *Provider) EnableReadyCondition() { p.isConditionEnabled.Store(true) }

// Initialize does nothing.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// SetInformers is called by the framework as soon as this process leads, before the informers start.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	p.cache.Watch(factory)
	p.cache.Start()
}

// Started returns a channel that SetInformers closes.
func (p *Provider) Started() <-chan struct{} { return p.cache.Started() }

// NodeInformer returns the framework's informer, valid once Started is closed.
func (p *Provider) NodeInformer() coreinformers.NodeInformer { return p.cache }

// LifecycleInformer returns the informer for the lifecycle controller.
func (p *Provider) LifecycleInformer() coreinformers.NodeInformer {
	return framework.LifecycleInformer(p.cache, p.checker.HasAnswer)
}

// Client returns the framework's client, see framework.Guard.
func (p *Provider) Client(client kubernetes.Interface) kubernetes.Interface {
	return p.guard.Client(client)
}

// InstancesV2 implements cloudprovider.Interface.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// ProviderName returns Name.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID makes the framework require no cluster ID.
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

// InstanceExists reports whether a Node's VM exists, see placement.Checker.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := p.checker.CheckExists(ctx, node)
	p.guard.RecordExists(node, exists || err != nil)
	return exists, err
}

// InstanceShutdown reports whether a Node's VM is powered off or suspended. If that is unknown it returns no
// error, which the framework would log every five seconds.
func (p *Provider) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if p.placer.IsForeign(node) {
		return false, nil
	}
	isShutDown, err := p.placer.IsShutDown(node)
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Cannot tell whether the VM is shut down", "node", klog.KObj(node), "err", quote.Line(err.Error()))
	}
	p.guard.RecordShutdown(node, isShutDown)
	return isShutDown, nil
}

// InstanceMetadata returns the data that the framework writes to a Node. For an uninitialized Node they are
// complete or nil. Nil leaves the Node uninitialized until package nodes announces it again; the framework would
// retry an error at intervals that grow to 15 minutes. For an initialized Node, no addresses mean no change.
func (p *Provider) InstanceMetadata(ctx context.Context, node *v1.Node) (m *cloudprovider.InstanceMetadata, err error) {
	var additions framework.Additions
	isForeign := p.placer.IsForeign(node)
	isJoining := nodeinfo.IsUninitialized(node)
	switch {
	case isForeign && !isJoining:
		return &cloudprovider.InstanceMetadata{}, nil
	case isForeign:
	case isJoining:
		d, waitErr := p.placer.JoinAndReserve(node)
		if waitErr != nil {
			klog.FromContext(ctx).V(4).Info("Node stays uninitialized", "node", klog.KObj(node), "err", quote.Line(waitErr.Error()))
			break
		}
		d.Log(ctx, node)
		m = d.Metadata
		additions = p.additions(node, d)
	default:
		var newAddresses []v1.NodeAddress
		if newAddresses, additions.FormerAddresses, err = p.placer.NewAddresses(node); err == nil {
			m = &cloudprovider.InstanceMetadata{NodeAddresses: newAddresses}
		}
	}
	p.guard.RecordMetadata(node, m, additions)
	return m, err
}

// additions include the condition only if the placement is certain and all labels will match it.
func (p *Provider) additions(node *v1.Node, d *placement.Decision) framework.Additions {
	b := framework.Additions{Annotations: d.Annotations, Labels: map[string]string{nodeinfo.KeyInitialized: "true"}, Levels: map[string]string{}}
	for label, value := range d.Placement.Further() {
		if topology.IsReservedLevel(label) {
			b.Labels[label] = value
		} else if _, exists := node.Labels[label]; !exists {
			b.Levels[label] = value
		}
	}
	if p.isConditionEnabled.Load() && !d.Shared && d.Placement.Uncertainty() == nil && !hasDifferentLabel(node, d) {
		ready := report.NewCondition(node, v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent)
		b.Condition = &ready
	}
	return b
}

// hasDifferentLabel reports whether a label will still differ from the placement after the framework's write,
// which overwrites only a region, zone or reserved label for which the placement has a value.
func hasDifferentLabel(node *v1.Node, d *placement.Decision) bool {
	for _, label := range d.Topology.Policy.Labels() {
		want := d.Placement.Value(label)
		overwritten := want != "" && (plan.IsRegionOrZone(label) || topology.IsReservedLevel(label))
		for _, key := range plan.LabelKeys(label) {
			if value, exists := node.Labels[key]; exists && value != want && !overwritten {
				return true
			}
		}
	}
	return false
}
