package provider

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// Fleet is what the provider needs of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// Follow says of which machines the details are wanted.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that has a token when a state has changed.
	Subscribe() <-chan struct{}
	// Probe has a vCenter prove that it answers: its state gets a new Contact,
	// and subscribers are told, or it gets into trouble.
	Probe(vcenter string)
	// ReadTags has a vCenter's tags read soon, with the names of those that matter.
	// Then subscribers are told, whatever has come of it.
	ReadTags(vcenter string)
	// SearchOutside returns inventory.ErrOutside if a machine that no index has is
	// in none of the configured datacenters. Nil says nothing.
	SearchOutside(context.Context, inventory.Identity) error
	// ConfirmAbsent searches every vCenter and returns nil only if each
	// answered and none has the machine. An error that is not topology.ErrUnknown
	// says where the machine is.
	ConfirmAbsent(context.Context, inventory.Identity) error
	// Generation returns another number after each change of which vCenters those are.
	Generation() uint64
}

// Provider is the cloud provider "vsphere". It is used in the framework's
// order: Initialize, SetInformers, then everything else. Run has to run beside
// the framework's controllers.
type Provider struct {
	fleet  Fleet
	maxAge time.Duration
	// namesAge is how old the names of tags may be that a Node is initialized with.
	namesAge time.Duration
	held     held
	settings atomic.Pointer[settings]

	sightings     sightings
	confirmations *confirmations
	deletions     deletions
	waits         waits
	grants        grants
	twins         twins

	// ready is closed when client and nodes are set.
	ready  chan struct{}
	once   sync.Once
	client kubernetes.Interface
	nodes  *wakingInformer
	// factory is what nodes is of. A warm standby sets it before the framework does.
	factory informers.SharedInformerFactory
}

// settings are what the configuration says now.
type settings struct {
	cfg      *config.Config
	families map[string][]string
	selector labels.Selector
}

var (
	_ cloudprovider.Interface    = (*Provider)(nil)
	_ cloudprovider.InformerUser = (*Provider)(nil)
)

// Options tune a provider. The zero value is what a daemon wants.
type Options struct {
	// MaxSnapshotAge is how long ago a vCenter may have answered last for a Node to
	// be initialized by what it said; 5 minutes if zero.
	MaxSnapshotAge time.Duration
	// TagRefresh is the time between two readings of tags; 30 s if zero.
	TagRefresh time.Duration
}

// New returns a provider that answers from the states of a fleet.
func New(fleet Fleet, cfg *config.Config, opts Options) *Provider {
	p := &Provider{
		fleet: fleet, ready: make(chan struct{}), confirmations: newConfirmations(fleet),
		maxAge:   cmp.Or(opts.MaxSnapshotAge, 5*time.Minute),
		namesAge: cmp.Or(opts.TagRefresh, 30*time.Second),
	}
	p.nodes = &wakingInformer{foreign: p.isForeign}
	p.Apply(cfg)
	return p
}

// Apply makes this the configuration from now on. Whoever calls it has the fleet
// apply it afterwards, whose subscribers look at all Nodes again then.
func (p *Provider) Apply(cfg *config.Config) {
	s := &settings{cfg: cfg, families: make(map[string][]string, len(cfg.VCenters)), selector: cfg.NodeSelector}
	if s.selector == nil {
		s.selector = labels.Everything()
	}
	for _, v := range cfg.VCenters {
		s.families[v.Name] = v.IPFamilies
	}
	p.settings.Store(s)
}

// Initialize is called by the framework when this process leads.
func (p *Provider) Initialize(builder cloudprovider.ControllerClientBuilder, _ <-chan struct{}) {
	p.client = builder.ClientOrDie(ClientName)
}

// SetInformers is called by the framework after Initialize and before the
// informers start.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	p.watchNodes(factory)
	p.once.Do(func() { close(p.ready) })
}

// watchNodes makes a factory's informer the one of Nodes. That of the factory it has
// already stays.
func (p *Provider) watchNodes(factory informers.SharedInformerFactory) {
	if p.factory == factory {
		return
	}
	p.factory, p.nodes.NodeInformer = factory, factory.Core().V1().Nodes()
	// Asking for the informer now makes the factory start it.
	if err := p.nodes.NodeInformer.Informer().SetTransform(slim); err != nil {
		//nolint:forbidigo // SetInformers has no context
		klog.Background().Error(err, "Keeps more of each Node than is needed") // it was started before
	}
	p.addAddressIndex()
	p.addMachineIndex()
}

// Started is closed once the framework has handed over what Run needs, which
// it does when this process leads.
func (p *Provider) Started() <-chan struct{} { return p.ready }

// leads reports whether Started is closed.
func (p *Provider) leads() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// NodeInformer returns the informer that the framework's controllers have to
// use, so that Nodes whose machine has become known are looked at again, and
// those of others are not touched. It is valid once Started is closed.
func (p *Provider) NodeInformer() coreinformers.NodeInformer { return p.nodes }

// InstancesV2 is the one interface that the provider has.
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
