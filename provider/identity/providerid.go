// Package identity reads from a Node which machine it says that it runs on.
//
// It owns the form of provider IDs, the order in which a Node's statements count, what
// contradicts them, and the annotation that records a machine's location. It looks for no
// machine and remembers nothing: see package placement.
package identity

import (
	"fmt"
	"strings"

	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// scheme begins every provider ID. spec.providerID cannot be changed once
// it is set, and the CSI driver and Cluster API read it, so neither this
// nor the form behind it may ever change.
const scheme = "vsphere://"

// ProviderID returns the provider ID of the machine with BIOS UUID u.
func ProviderID(u inventory.UUID) string { return scheme + u.String() }

// ParseProviderID returns the BIOS UUID in a provider ID of ours.
func ParseProviderID(id string) (inventory.UUID, error) {
	rest, ok := strings.CutPrefix(id, scheme)
	if !ok {
		return inventory.UUID{}, fmt.Errorf("provider ID %s does not begin with %s", quote.Value(id), scheme)
	}
	if len(rest) > inventory.MaxUUIDLength {
		return inventory.UUID{}, fmt.Errorf("provider ID %s is too long to hold a UUID: delete the Node, and give its kubelet another one or none", quote.Value(id))
	}
	u, err := inventory.ParseUUID(rest)
	if err != nil {
		return inventory.UUID{}, fmt.Errorf("provider ID %s: %w", quote.Value(id), err)
	}
	return u, nil
}

// IsForeign reports whether a provider ID is another provider's.
func IsForeign(id string) bool { return id != "" && !strings.HasPrefix(id, scheme) }
