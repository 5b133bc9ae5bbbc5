package addresses

import (
	"errors"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// ErrNone says that the machine has no address that the Node may have, or not the one
// that its kubelet was given.
var ErrNone = errors.New("no address")

// ErrClaimed says that another Node of the cluster claims the address that the Node
// would get. It comes with ErrNone.
var ErrClaimed = errors.New("address of another Node")

// Input is all that the choice depends on.
type Input struct {
	// Machine names the machine in errors.
	Machine  string
	HostName string
	// NICs and Static are those of inventory.Machine.
	NICs   []inventory.NIC
	Static []netip.Addr
	// Refused and Pending are those of inventory.Machine too: NICs and Static are not
	// known then.
	Refused error
	Pending bool
	Rules   *config.AddressRules
	// Families are "ipv4", "ipv6" or both, each once, the preferred one first.
	Families []string
	// Provided is what the kubelet was given as --node-ip, as it stands in its
	// annotation: an address, two of different families between a comma, or
	// nothing.
	Provided string
	// Has are the addresses that the Node was initialized with, in their order; none
	// while it waits.
	Has []v1.NodeAddress
	// Claims are the claims of other Nodes to addresses of the machine, and to those
	// in Provided.
	Claims map[netip.Addr]Claim
}

// Selection is what was chosen, and why.
type Selection struct {
	// Addresses are those of the Node: the host name, if the guest has one, and
	// an internal and an external IP for each family in order, of which one may
	// be missing. There are none if Select has returned an error.
	Addresses []v1.NodeAddress
	// Results are on all addresses, those that do not count included, in the
	// order in which they come into question.
	Results []Result
	// Unreported are the families of which VMware Tools report no address, as
	// they do while the machine starts or where they are missing.
	Unreported []string
}

// For returns the input for a machine and its Node, which may be nil.
func For(m *inventory.Machine, node *v1.Node, rules *config.AddressRules, families []string) Input {
	in := Input{
		Machine:  m.Ref.Located(m.InventoryPath),
		HostName: m.HostName,
		NICs:     m.NICs,
		Static:   m.Static,
		Refused:  m.Refused,
		Pending:  m.Pending,
		Rules:    rules,
		Families: families,
	}
	if node != nil {
		in.Provided = node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
		in.Has = had(node)
	}
	return in
}
