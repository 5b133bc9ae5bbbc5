// Package placement says where Nodes are and what they get from that.
//
// It owns the search for a Node's machine, what this process remembers for it (where the
// machine was last seen, which machine and addresses a Node was given a moment ago), the
// Nodes that share a machine, and the placement that a machine's tags give. Each Node has
// one placement for each state of its machine, whoever asks. It writes to no Node and
// contacts no vCenter; it only asks for tags to be read again.
package placement

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"vzones/config"
	"vzones/provider/nodecache"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Fleet is what placements need of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// ReadTags has a vCenter's tags read soon, with the names of those that matter.
	// Subscribers are notified then, whatever the result is.
	ReadTags(vcenter string)
	// AskHome has a vCenter asked whether a machine exists that it does not show, by its
	// managed object ID. Subscribers are notified of the reply.
	AskHome(vcenter, id string)
}

// Options tune a placer. The zero value is what a daemon wants.
type Options struct {
	// MaxSnapshotAge is how long ago a vCenter may have answered last for a Node to
	// be initialized by what it said; 5 minutes if zero.
	MaxSnapshotAge time.Duration
	// TagRefresh is the time between two readings of tags; 30 s if zero.
	TagRefresh time.Duration
	// AddressWait is for how long an initialized Node keeps an address that its machine does not
	// report any more although it reports others, as while an interface starts; 3 minutes if zero.
	AddressWait time.Duration
}

// A Placer says where Nodes are, by the states of a fleet.
type Placer struct {
	fleet  Fleet
	nodes  *nodecache.Cache
	maxAge time.Duration
	// namesAge is how old the names of tags may be that a Node is initialized with.
	namesAge time.Duration
	// addressWait is Options.AddressWait.
	addressWait time.Duration
	settings    atomic.Pointer[settings]

	// mu is held while a Node is decided about, from before anything is looked up until what it
	// gets is reserved, and guards what follows. Nothing waits meanwhile.
	mu     sync.Mutex
	memory memory
	// basis is what all placements rest on beside the machines.
	basis basis
}

// settings are what the configuration says now.
type settings struct {
	cfg      *config.Config
	families map[string][]string
	selector labels.Selector
}

// New returns a placer for the Nodes in its cache, which is NodeCache.
func New(fleet Fleet, cfg *config.Config, opts Options) *Placer {
	p := &Placer{
		fleet:       fleet,
		maxAge:      cmp.Or(opts.MaxSnapshotAge, 5*time.Minute),
		namesAge:    cmp.Or(opts.TagRefresh, 30*time.Second),
		addressWait: cmp.Or(opts.AddressWait, 3*time.Minute),
		memory:      memory{known: map[types.UID]*known{}, reserving: map[types.UID]*known{}},
	}
	p.nodes = nodecache.New(p.IsForeign)
	p.Apply(cfg)
	return p
}

// NodeCache returns the cache of Nodes, which hides those that are foreign.
func (p *Placer) NodeCache() *nodecache.Cache { return p.nodes }

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

// Topology returns how Nodes get their labels now. The pointer differs once that has changed.
func (p *Placer) Topology() *config.Topology { return &p.Config().Topology }

// IsForeign reports whether a Node is somebody else's: it has another provider's ID,
// or the configuration's selector leaves it out.
func (p *Placer) IsForeign(node *v1.Node) bool {
	return nodeinfo.IsForeign(node.Spec.ProviderID) || !p.settings.Load().selector.Matches(labels.Set(node.Labels))
}

// Statement returns what a Node says about its machine. A Node that has no UUID is looked for by its name
// only if it waits and the configuration allows it: any machine's guest can report that name.
func (p *Placer) Statement(node *v1.Node) (inventory.Identity, error) {
	id, err := nodeinfo.IdentityOf(node)
	switch {
	case err != nil || len(id.UUIDs) > 0:
	case !nodeinfo.IsUninitialized(node):
		err = topology.Errorf(topology.Kinds{topology.ErrUnknown, nodeinfo.ErrNoUUID}, "a Node without the taint is not looked for by its name")
	case !p.Config().MatchByName:
		err = topology.Errorf(topology.ErrUnknown, "%w; nodes.matchByName is false in the configuration: have the kubelet of Node %s report the UUID that the machine's SMBIOS shows, or give the Node the provider ID vsphere://UUID", nodeinfo.ErrNoUUID, node.Name)
	}
	return id, err
}

// Identify returns what a Node says about its machine, with what this process knows.
func (p *Placer) Identify(node *v1.Node) (inventory.Identity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.identify(node)
}

// AskHome has a vCenter asked about a machine that is not shown any more, if an error of
// inventory.Find says so.
func (p *Placer) AskHome(err error) {
	var not *inventory.NotShown
	if errors.As(err, &not) {
		p.fleet.AskHome(not.VCenter, not.ID)
	}
}
