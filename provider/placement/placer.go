// Package placement decides about one Node: its machine, its place, its addresses, its labels and its deletion.
//
// It owns the search for a Node's machine, the form of what is remembered about a Node (see Memory), the Nodes that share
// a machine or claim an address, the placement that a machine's tags give, and the conditions of a deletion with the direct
// searches that confirm that a machine does not exist. A Node has the same placement as long as
// everything that it follows from is the same: see place. The package writes to no Node and deletes none. A Placer contacts
// no vCenter; it only asks the fleet to read tags again, or to ask whether a machine exists.
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

// Fleet is what placements need of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// ReadTags makes a vCenter read its tags soon, with the names of the tags that matter.
	// Subscribers are notified of the end, also if it failed.
	ReadTags(vcenter string)
	// AskHome asks a vCenter, by a managed object ID, whether a machine exists that the vCenter does
	// not show. Subscribers are notified of the reply.
	AskHome(vcenter, id string)
}

// Options tune a placer. The zero value is what a daemon wants.
type Options struct {
	// MaxSnapshotAge is the greatest time since the last answer of a vCenter with which a Node
	// is initialized; 5 minutes if zero.
	MaxSnapshotAge time.Duration
	// TagRefresh is the time between two readings of tags; 30 s if zero.
	TagRefresh time.Duration
	// AddressWait is how long an initialized Node keeps an address that its machine no longer
	// reports although it reports others, for example while an interface starts; 3 minutes if zero.
	AddressWait time.Duration
}

// Nodes are the Nodes of the cluster, as an informer has them.
type Nodes interface {
	// IsStarted reports whether the Nodes are known. Until then no Node may be looked up.
	IsStarted() bool
	// Has reports whether a Node is still there, and no other one of its name. It returns true while the Nodes are not known.
	Has(*v1.Node) bool
	// Get returns the Node of a name, be it somebody else's or not.
	Get(name string) (*v1.Node, error)
	// ByAddress returns the Nodes that claim an address, those of others too.
	ByAddress(address string) ([]*v1.Node, error)
	// ByMachine returns the Nodes that may run on a machine by one form of its UUID, or by a nodeinfo.NameKey.
	ByMachine(key string) ([]*v1.Node, error)
}

// A Placer decides about Nodes by the states of a fleet.
type Placer struct {
	fleet  Fleet
	nodes  Nodes
	maxAge time.Duration
	// namesAge is the greatest age of the names of tags with which a Node is initialized.
	namesAge time.Duration
	// addressWait is Options.AddressWait.
	addressWait time.Duration
	settings    atomic.Pointer[settings]

	// memories is the lock of the fields below, too. It is held during a whole decision, from the first look-up until the
	// reservation, and never across I/O.
	memories Memories
	// reservations are what Nodes were given a moment ago.
	reservations reservations
	// basis has the facts behind all placements beside the machines.
	basis   basis
	reports reports
}

// settings have the configuration, and what is derived from it.
type settings struct {
	cfg      *config.Config
	families map[string][]string
	selector labels.Selector
}

// New returns a placer that decides about Nodes by what is remembered of them.
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

// Apply makes this the configuration from now on.
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

// Config returns the configuration.
func (p *Placer) Config() *config.Config { return p.settings.Load().cfg }

// Topology returns the rules for labels. After a change of the configuration it is another pointer.
func (p *Placer) Topology() *config.Topology { return &p.Config().Topology }

// IsForeign reports whether a Node is somebody else's: it has another provider's ID,
// or the configuration's selector leaves it out.
func (p *Placer) IsForeign(node *v1.Node) bool {
	return nodeinfo.IsForeign(node.Spec.ProviderID) || !p.settings.Load().selector.Matches(labels.Set(node.Labels))
}

// OtherProvider returns the scheme of a Node's provider ID if the ID is another provider's and a vCenter has a VM
// with the Node's system UUID. For any other Node, and for one that the selector leaves out, it returns "".
func (p *Placer) OtherProvider(states []inventory.State, node *v1.Node) string {
	id := node.Spec.ProviderID
	if !nodeinfo.IsForeign(id) || !p.settings.Load().selector.Matches(labels.Set(node.Labels)) {
		return ""
	}
	if !inventory.IsIndexed(states, inventory.Identity{UUIDs: nodeinfo.SystemUUIDs(node)}) {
		return ""
	}
	return nodeinfo.Scheme(id)
}

// Statement returns what a Node says about its machine. The machine of a Node without a UUID is looked for
// by the Node's name, only if the Node waits and the configuration allows it, because any guest can report
// that name.
func (p *Placer) Statement(node *v1.Node) (inventory.Identity, error) {
	id, err := nodeinfo.IdentityOf(node)
	switch {
	case err != nil || len(id.UUIDs) > 0:
	case !nodeinfo.IsUninitialized(node):
		err = topology.Errorf(topology.Kinds{topology.ErrUnknown, nodeinfo.ErrNoUUID}, "a Node without the taint is not looked for by its name")
	case !p.Config().MatchByName:
		err = topology.Errorf(topology.ErrUnknown, "%w; nodes.matchByName is false in the configuration: have the kubelet of Node %s report the UUID that the VM's SMBIOS shows, or give the Node the provider ID vsphere://UUID", nodeinfo.ErrNoUUID, node.Name)
	}
	return id, err
}

// Identify returns what a Node reports about its VM, and what this process remembers about it.
func (p *Placer) Identify(node *v1.Node) (inventory.Identity, error) {
	p.memories.Lock()
	defer p.memories.Unlock()
	return p.identify(p.fleet.States(), node)
}

// WasFound reports whether the machine of an initialized Node was found, now or before.
func (p *Placer) WasFound(node *v1.Node) bool {
	id, _ := p.Identify(node)
	return id.WasFound()
}

// AskHome asks a vCenter about a machine if an error of inventory.Find says that the vCenter does not show
// the machine any more.
func (p *Placer) AskHome(err error) {
	var not *inventory.NotShown
	if errors.As(err, &not) {
		p.fleet.AskHome(not.VCenter, not.ID)
	}
}
