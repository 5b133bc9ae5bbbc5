package provider

import (
	"fmt"
	"strings"

	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

const (
	// Name is the cloud provider's name. It stays the incumbent's: it is part
	// of flags, manifests and provider IDs of running clusters.
	Name = "vsphere"
	// ClientName is the name of the daemon's clients beside the framework's. It is the
	// incumbent's: with --use-service-account-credentials it is also that of a
	// ServiceAccount, to which platforms bind roles.
	ClientName = "vsphere-cloud-controller-manager"
	// idScheme begins every provider ID. spec.providerID cannot be changed once
	// it is set, and the CSI driver and Cluster API read it, so neither this
	// nor the form behind it may ever change.
	idScheme = Name + "://"
)

// providerID returns the provider ID of the machine with BIOS UUID u.
func providerID(u inventory.UUID) string { return idScheme + u.String() }

// parseProviderID returns the BIOS UUID in a provider ID of ours.
func parseProviderID(id string) (inventory.UUID, error) {
	rest, ok := strings.CutPrefix(id, idScheme)
	if !ok {
		return inventory.UUID{}, fmt.Errorf("provider ID %s does not begin with %s", quote.Value(id), idScheme)
	}
	if len(rest) > inventory.LongestUUID {
		return inventory.UUID{}, fmt.Errorf("provider ID %s is too long to hold a UUID: delete the Node, and give its kubelet another one or none", quote.Value(id))
	}
	u, err := inventory.ParseUUID(rest)
	if err != nil {
		return inventory.UUID{}, fmt.Errorf("provider ID %s: %w", quote.Value(id), err)
	}
	return u, nil
}
