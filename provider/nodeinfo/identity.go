// Package nodeinfo reads facts from a Node: which machine it says that it runs on, whether it waits
// for the cloud provider and is ready, and what vzones wrote to it.
//
// It owns the form of provider IDs, the order in which a Node's statements count, what
// contradicts them, the annotation that records a machine's location, and the keys of ours. It looks
// for no machine, changes no Node and remembers nothing: see package placement.
package nodeinfo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// IdentityOf returns what a Node says about its machine: its provider ID, else
// its system UUID in both byte orders, else its name. Only the first that the
// Node has is used. A provider ID of ours without a usable UUID is
// topology.ErrUnknown: another machine must not be taken for the one it meant.
// The annotations with the location are read unless vzones cannot have written
// them yet: the Node has the taint and no provider ID.
func IdentityOf(node *v1.Node) (inventory.Identity, error) {
	id := inventory.Identity{Name: node.Name, Joins: IsUninitialized(node)}
	if node.Spec.ProviderID != "" {
		u, err := ParseProviderID(node.Spec.ProviderID)
		if err != nil {
			return inventory.Identity{}, topology.Errorf(topology.ErrUnknown, "%w", err)
		}
		id.UUIDs = []inventory.UUID{u}
	} else {
		id.UUIDs = SystemUUIDs(node)
		if len(id.UUIDs) == 0 || id.Joins {
			return id, nil // without a usable UUID the name counts
		}
	}
	if err := checkLocation(node); err != nil {
		return inventory.Identity{}, topology.Errorf(topology.ErrUnknown, "%w", err)
	}
	id.Recorded = ParseLocation(node.Annotations[KeyMachine])
	id.RecordedInstance = parseInstance(node.Annotations[KeyVCenter])
	id.RecordedVM = parseVM(node.Annotations[KeyInstanceUUID])
	return id, nil
}

// SystemUUIDs returns the system UUID that a Node's kubelet reports, in both byte orders. It returns none for an
// unusable one.
func SystemUUIDs(node *v1.Node) []inventory.UUID {
	u, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil {
		return nil
	}
	if s := u.Swapped(); s != u {
		return []inventory.UUID{u, s}
	}
	return []inventory.UUID{u}
}

// checkLocation returns an error if the annotations with the location are longer than vzones writes them. They
// are not treated as missing, because then the Node might be deleted.
func checkLocation(node *v1.Node) error {
	for _, key := range []string{KeyMachine, KeyVCenter, KeyInstanceUUID} {
		if n := len(node.Annotations[key]); n > locationMax {
			return fmt.Errorf("annotation %s has %d bytes, which vzones has not written: take it off Node %s", key, n, node.Name)
		}
	}
	return nil
}

// ErrNoUUID says that a Node has no UUID, and that no machine is looked for by name. It is
// in a topology.ErrUnknown.
var ErrNoUUID = errors.New("the kubelet reports no usable system UUID, and the Node has no provider ID")

// ErrNoProviderID means that a Node was registered without a provider ID and without the taint.
var ErrNoProviderID = errors.New("no provider ID")

// CheckProviderID returns an error for a Node that has neither the taint nor a provider ID. No cloud provider
// initializes that Node, and its kubelet writes its addresses.
func CheckProviderID(node *v1.Node) error {
	if node.Spec.ProviderID != "" || IsUninitialized(node) {
		return nil
	}
	return fmt.Errorf("%w: the kubelet of Node %s runs without --cloud-provider=external: restart it with the flag, then taint the Node, and vzones initializes it: %s",
		ErrNoProviderID, node.Name, TaintCommand(node.Name, "=true:NoSchedule"))
}

// TaintCommand returns the command that changes the cloud provider's taint of a Node. The change is what follows
// the key.
func TaintCommand(node, change string) string {
	return "kubectl taint node " + node + " " + cloudproviderapi.TaintExternalCloudProvider + change
}

// ErrContradiction says that a Node's provider ID and its system UUID are those of two
// machines. It is in a topology.ErrUnknown.
var ErrContradiction = errors.New("the provider ID is not that of the machine that the Node runs on")

// Contradiction returns an error if a Node's provider ID and the system UUID that its
// kubelet reports are of two machines, in both byte orders: a machine was rebuilt under
// the name of an old Node, whose provider ID cannot be changed. A kubelet that reports
// no UUID contradicts nothing.
func Contradiction(node *v1.Node) error {
	id, err := ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return nil //nolint:nilerr // then nothing is said, or IdentityOf says it
	}
	system, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil || slices.Contains([]inventory.UUID{id, id.Swapped()}, system) {
		return nil //nolint:nilerr // likewise
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrContradiction}, "the provider ID is %s, and the kubelet reports the system UUID %s: was the machine rebuilt under the name of an old Node? "+
		"Delete Node %s and restart its kubelet, which registers it again", quote.Plain(node.Spec.ProviderID), system, node.Name)
}

// WithContradiction returns a Node's contradiction, with what is known of the machine of the
// provider ID, or else the error with which that was looked for.
func WithContradiction(node *v1.Node, looked error) error {
	err := Contradiction(node)
	switch {
	case err == nil:
		return looked
	case looked == nil:
		return fmt.Errorf("%w; a vCenter still has the machine of the provider ID", err)
	case errors.Is(looked, topology.ErrAbsent):
		return fmt.Errorf("%w; no vCenter has the machine of the provider ID any more", err)
	}
	return err
}

// WithRemedy returns the error with which a Node's machine was looked for. If no vCenter has the machine, the error
// also says what to do with the Node. A Node without a provider ID whose machine was never found may be bare metal,
// or of another cloud.
func WithRemedy(node *v1.Node, wasFound bool, looked error) error {
	mayBeMetal := node.Spec.ProviderID == "" && !wasFound
	switch {
	case !errors.Is(looked, topology.ErrAbsent), mayBeMetal && !IsUninitialized(node):
		return looked
	case mayBeMetal:
		return fmt.Errorf("%w; if the Node is no VM of vSphere, leave it out with nodes.selector, and take the taint off: %s", looked, TaintCommand(node.Name, "-"))
	}
	return fmt.Errorf("%w; if the VM is gone, delete the Node", looked)
}

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

// Scheme returns the part of a provider ID that names the provider, such as aws://.
func Scheme(id string) string {
	provider, _, ok := strings.Cut(id, "://")
	if ok {
		provider += "://"
	}
	return quote.Plain(provider)
}

// IsForeign reports whether a provider ID is another provider's.
func IsForeign(id string) bool { return id != "" && !strings.HasPrefix(id, scheme) }

// FormatLocation returns the value of the annotation KeyMachine.
func FormatLocation(machine topology.Ref) string { return machine.VCenter + "/" + machine.ID }

const (
	// locationMax is more than the length of a vCenter's name in the configuration and a managed object ID.
	locationMax = 512
	// instanceMax is more than the length of a UUID.
	instanceMax = 64
	// objectIDMax is longer than a managed object ID, such as vm-1234567.
	objectIDMax = 40
)

// ParseLocation is the reverse of FormatLocation. It returns zero for a value that it cannot read, such as one
// that a kubelet invented. A vCenter's name may have slashes; a managed object ID has none.
func ParseLocation(s string) topology.Ref {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 || len(s) > locationMax || !isObjectID(s[i+1:]) {
		return topology.Ref{}
	}
	return topology.Ref{VCenter: s[:i], Type: "VirtualMachine", ID: s[i+1:]}
}

// isObjectID reports whether a text can be a machine's managed object ID. vSphere does not
// say what these look like. vCenters call machines vm- and a number, and all their objects
// by letters, digits and dashes.
func isObjectID(s string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	}
	return s != "" && len(s) <= objectIDMax && !strings.ContainsFunc(s, odd)
}

// parseInstance returns a vCenter's own UUID as an annotation has it, "" if it cannot be one.
func parseInstance(s string) string {
	if len(s) > instanceMax {
		return ""
	}
	return s
}

// parseVM returns a VM's instance UUID as an annotation has it, zero if it cannot be one.
func parseVM(s string) inventory.UUID {
	if len(s) > instanceMax {
		return inventory.UUID{}
	}
	u, err := inventory.ParseUUID(s)
	if err != nil {
		return inventory.UUID{}
	}
	return u
}

// NameKey is the key of a Node without a UUID among the Nodes of a machine, empty for no name.
func NameKey(name string) string {
	if name == "" {
		return ""
	}
	return "name " + strings.ToLower(name)
}
