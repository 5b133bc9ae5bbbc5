package nodes

import (
	"context"

	"vzones/vcenter/inventory"
)

// Fleet is what the controller needs of the vCenters.
type Fleet interface {
	// States returns what is known of each vCenter now, in configured order.
	States() []inventory.State
	// Follow says of which machines the details are wanted.
	Follow([]inventory.Identity)
	// Subscribe returns a channel that is notified when a state has changed.
	Subscribe() <-chan struct{}
	// Probe makes a vCenter prove that it answers: its state gets a new LastContact, or an
	// error, and subscribers are notified.
	Probe(vcenter string)
	// ReadTags makes a vCenter read its tags soon, with the names of those that matter.
	// Subscribers are notified then, whatever the result is.
	ReadTags(vcenter string)
	// SearchOutside returns inventory.ErrOutside if a machine that no index has is
	// in none of the configured datacenters. Nil says nothing.
	SearchOutside(context.Context, inventory.Identity) error
}
