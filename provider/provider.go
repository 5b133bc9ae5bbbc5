// Package provider answers the questions of Kubernetes' cloud provider framework about
// Nodes from the snapshots of the vCenters.
//
// It owns the cloud provider interface that the framework's controllers call. Calls are
// answered from memory: no answer waits for a vCenter, and none writes anything. What the
// answers are made of is in the packages below it. Package write completes what the framework
// writes to Nodes, and package nodes writes the rest.
package provider

import (
	"sync/atomic"

	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/config"
	"vzones/provider/absence"
	"vzones/provider/nodecache"
	"vzones/provider/placement"
	"vzones/provider/write"
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
	absence.Fleet
}

// Provider is the cloud provider "vsphere". It is used in the framework's
// order: Initialize, SetInformers, then everything else.
type Provider struct {
	placer  *placement.Placer
	checker *absence.Checker
	nodes   *nodecache.Cache
	guard   write.Guard
	// keepsLabels reports whether labels and the condition are kept current.
	keepsLabels atomic.Bool
}

var (
	_ cloudprovider.Interface    = (*Provider)(nil)
	_ cloudprovider.InformerUser = (*Provider)(nil)
)

// New returns a provider that answers from the states of a fleet.
func New(fleet Fleet, cfg *config.Config, opts Options) *Provider {
	placer := placement.New(fleet, cfg, opts)
	return &Provider{placer: placer, checker: absence.NewChecker(fleet, placer), nodes: placer.NodeCache()}
}

// Placer returns what says where Nodes are.
func (p *Provider) Placer() *placement.Placer { return p.placer }

// Checker returns what decides whether machines exist. Its Run has to run beside the
// framework's controllers.
func (p *Provider) Checker() *absence.Checker { return p.checker }

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
	p.nodes.Watch(factory)
	p.nodes.Start()
}

// Started is closed once the framework has handed over its informers, which it does when
// this process leads.
func (p *Provider) Started() <-chan struct{} { return p.nodes.Started() }

// NodeInformer returns the informer that the framework's controllers have to
// use, so that a Node whose machine has become known is announced to them again, and
// they do not see those of others. It is valid once Started is closed.
func (p *Provider) NodeInformer() coreinformers.NodeInformer { return p.nodes }

// Client returns the client that the framework's controllers have to use, see write.Guard.
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
