// Package placement decides about one Node: its VM, place, addresses, labels and deletion. It writes to no Node.
package placement

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Fleet is the Placer's view of the vCenters.
type Fleet interface {
	// States returns the states in configured order.
	States() []inventory.State
	// ReadTags requests a read of a vCenter's tags.
	ReadTags(vcenter string)
	// AskHome asks a vCenter whether an object still exists that its snapshot lacks.
	AskHome(vcenter, id string)
}

// Options tune a Placer.
type Options struct {
	// MaxSnapshotAge limits the age of a vCenter's last answer for an initialization; 5 minutes by default.
	MaxSnapshotAge time.Duration
	// TagRefresh is the interval between tag reads; 30 s by default.
	TagRefresh time.Duration
	// AddressWait limits the time for which a Node keeps an address that its VM replaced; 3 minutes by
	// default.
	AddressWait time.Duration
}

// Nodes is an informer's cache of Nodes.
type Nodes interface {
	// IsStarted reports whether the Nodes are known. Until then no Node may be looked up.
	IsStarted() bool
	// Has reports whether this Node, and not a later Node of its name, exists. Before IsStarted it returns true.
	Has(*v1.Node) bool
	// Get returns the Node of a name. Like the methods below, it includes foreign Nodes.
	Get(name string) (*v1.Node, error)
	ByAddress(address string) ([]*v1.Node, error)
	// ByVM takes a form of a VM's UUID or a nodeinfo.NameKey.
	ByVM(key string) ([]*v1.Node, error)
}

// A Placer decides about Nodes.
type Placer struct {
	fleet  Fleet
	nodes  Nodes
	maxAge time.Duration
	// namesAge limits the age of tag names for an initialization.
	namesAge    time.Duration
	addressWait time.Duration
	settings    atomic.Pointer[settings]

	// memories' lock is held during a whole decision and also guards the fields below.
	memories     Memories
	reservations reservations
	basis        basis
	reports      reports
}

type settings struct {
	cfg      *config.Config
	families map[string][]string
	selector labels.Selector
}

// New returns a Placer.
func New(fleet Fleet, nodes Nodes, memories Memories, cfg *config.Config, opts Options) *Placer {
	p := &Placer{
		fleet:        fleet,
		nodes:        nodes,
		memories:     memories,
		reservations: reservations{memories, map[types.UID]bool{}},
		maxAge:       cmp.Or(opts.MaxSnapshotAge, 5*time.Minute),
		namesAge:     cmp.Or(opts.TagRefresh, 30*time.Second),
		addressWait:  cmp.Or(opts.AddressWait, 3*time.Minute),
		reports:      reports{},
	}
	p.Apply(cfg)
	return p
}

// Apply replaces the configuration.
func (p *Placer) Apply(cfg *config.Config) {
	s := &settings{cfg: cfg, families: make(map[string][]string, len(cfg.VCenters)), selector: cfg.NodeSelector}
	if s.selector == nil {
		s.selector = labels.Everything()
	}
	for _, v := range cfg.VCenters {
		s.families[v.Name] = v.IPFamilies
	}
	p.settings.Store(s)
}

// Config returns the current configuration.
func (p *Placer) Config() *config.Config { return p.settings.Load().cfg }

// Topology returns the rules for labels. A new configuration has a new pointer.
func (p *Placer) Topology() *config.Topology { return &p.Config().Topology }

// IsForeign reports whether a Node has another provider's ID or is not selected by the configuration.
func (p *Placer) IsForeign(node *v1.Node) bool {
	return nodeinfo.IsOtherProviders(node.Spec.ProviderID) || !p.settings.Load().selector.Matches(labels.Set(node.Labels))
}

// OtherProvider returns the scheme of another provider's ID if a vCenter has the Node's VM, and otherwise "".
func (p *Placer) OtherProvider(states []inventory.State, node *v1.Node) string {
	id := node.Spec.ProviderID
	if !nodeinfo.IsOtherProviders(id) || !p.settings.Load().selector.Matches(labels.Set(node.Labels)) {
		return ""
	}
	if !inventory.IsIndexed(states, inventory.Identity{UUIDs: nodeinfo.SystemUUIDs(node)}) {
		return ""
	}
	return nodeinfo.Scheme(id)
}

// ReportedIdentity returns the identity that a Node reports. Any guest can report a name, so names are only
// used for uninitialized Nodes and if the configuration allows it.
func (p *Placer) ReportedIdentity(node *v1.Node) (inventory.Identity, error) {
	id, err := nodeinfo.IdentityOf(node)
	switch {
	case err != nil || len(id.UUIDs) > 0:
	case !nodeinfo.IsUninitialized(node):
		err = topology.Errorf(topology.Kinds{topology.ErrUnknown, nodeinfo.ErrNoUUID}, "a Node without the taint is not matched by name")
	case !p.Config().MatchByName:
		err = topology.Errorf(topology.ErrUnknown, "%w; nodes.matchByName is false in the configuration: make the kubelet of Node %s report the UUID in the VM's SMBIOS, or set the Node's provider ID to vsphere://UUID", nodeinfo.ErrNoUUID, node.Name)
	}
	return id, err
}

// Identify returns a Node's identity with the facts remembered about it.
func (p *Placer) Identify(node *v1.Node) (inventory.Identity, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.identify(p.fleet.States(), node)
}

// WasFound reports whether an initialized Node's VM was found, now or earlier.
func (p *Placer) WasFound(node *v1.Node) bool {
	id, _ := p.Identify(node)
	return id.WasFound()
}

// AskHome asks a vCenter whether the VM still exists if err is an inventory.NotShown.
func (p *Placer) AskHome(err error) {
	var notShown *inventory.NotShown
	if errors.As(err, &notShown) {
		p.fleet.AskHome(notShown.VCenter, notShown.ID)
	}
}
