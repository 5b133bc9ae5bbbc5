// Package nodeinfo reads facts from a Node object. All its functions are pure.
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

// IdentityOf returns the identifiers of a Node's VM: the provider ID, else the system UUID in both byte
// orders, else the name. An invalid provider ID is an error, because a fallback might find another VM. The
// annotated location is ignored while only a kubelet can have written it.
func IdentityOf(node *v1.Node) (inventory.Identity, error) {
	id := inventory.Identity{Name: node.Name, IsJoining: IsUninitialized(node)}
	if node.Spec.ProviderID != "" {
		u, err := ParseProviderID(node.Spec.ProviderID)
		if err != nil {
			return inventory.Identity{}, topology.Errorf(topology.ErrUnknown, "%w", err)
		}
		id.UUIDs = []inventory.UUID{u}
	} else {
		id.UUIDs = SystemUUIDs(node)
		if len(id.UUIDs) == 0 || id.IsJoining {
			return id, nil
		}
	}
	if err := checkLocation(node); err != nil {
		return inventory.Identity{}, topology.Errorf(topology.ErrUnknown, "%w", err)
	}
	id.Recorded = ParseLocation(node.Annotations[KeyVM])
	id.RecordedInstance = parseInstance(node.Annotations[KeyVCenter])
	id.RecordedVM = parseVM(node.Annotations[KeyInstanceUUID])
	return id, nil
}

// SystemUUIDs returns the kubelet's system UUID in both byte orders, or nil if it is unusable.
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

// checkLocation rejects an annotation longer than vzones writes: without the location, vzones might delete the Node.
func checkLocation(node *v1.Node) error {
	for _, key := range []string{KeyVM, KeyVCenter, KeyInstanceUUID} {
		if n := len(node.Annotations[key]); n > locationMax {
			return fmt.Errorf("annotation %s has %d bytes, so vzones did not write it: remove it from Node %s", key, n, node.Name)
		}
	}
	return nil
}

// ErrNoUUID means that a Node has no UUID and VMs are not searched for by name.
var ErrNoUUID = errors.New("the kubelet reports no usable system UUID, and the Node has no provider ID")

// ErrNoProviderID means that a Node was registered without a provider ID and without the taint.
var ErrNoProviderID = errors.New("no provider ID")

// CheckProviderID returns an error for a Node without taint and provider ID, which no provider initializes.
func CheckProviderID(node *v1.Node) error {
	if node.Spec.ProviderID != "" || IsUninitialized(node) {
		return nil
	}
	return fmt.Errorf("%w: the kubelet of Node %s runs without --cloud-provider=external: restart it with the flag, then taint the Node, and vzones initializes it: %s",
		ErrNoProviderID, node.Name, TaintCommand(node.Name, "=true:NoSchedule"))
}

// TaintCommand returns the command for a change of the cloud provider's taint, such as "-".
func TaintCommand(node, change string) string {
	return "kubectl taint node " + node + " " + cloudproviderapi.TaintExternalCloudProvider + change
}

// ErrContradiction means that a Node's provider ID and system UUID belong to two VMs.
var ErrContradiction = errors.New("the provider ID belongs to a different VM")

// Contradiction returns an error if a Node's provider ID and system UUID differ in both byte orders.
func Contradiction(node *v1.Node) error {
	id, err := ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return nil //nolint:nilerr // IdentityOf returns this error
	}
	system, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID)
	if err != nil || slices.Contains([]inventory.UUID{id, id.Swapped()}, system) {
		return nil //nolint:nilerr // a Node without a system UUID contradicts nothing
	}
	return topology.Errorf(topology.Kinds{topology.ErrUnknown, ErrContradiction}, "the provider ID is %s, and the kubelet reports the system UUID %s: was the VM rebuilt under the name of an old Node? "+
		"Drain and delete Node %s and restart its kubelet, which registers it again", quote.Plain(node.Spec.ProviderID), system, node.Name)
}

// WithContradiction returns a Node's contradiction, or else the error of the search for its VM.
func WithContradiction(node *v1.Node, searchErr error) error {
	err := Contradiction(node)
	switch {
	case err == nil:
		return searchErr
	case searchErr == nil:
		return fmt.Errorf("%w; a vCenter still has the VM of the provider ID", err)
	case errors.Is(searchErr, topology.ErrAbsent):
		return fmt.Errorf("%w; the VM of the provider ID no longer exists in any vCenter", err)
	}
	return err
}

// WithRemedy adds a remedy to the error of a search that found no VM. deletes is false if vzones deletes no Node.
func WithRemedy(node *v1.Node, wasFound, deletes bool, searchErr error) error {
	mayBeBareMetal := node.Spec.ProviderID == "" && !wasFound
	switch {
	case !errors.Is(searchErr, topology.ErrAbsent), mayBeBareMetal && !IsUninitialized(node):
		return searchErr
	case mayBeBareMetal:
		return fmt.Errorf("%w; if the Node is not a vSphere VM, exclude it with nodes.selector, and unless another provider initializes it, remove the taint: %s", searchErr, TaintCommand(node.Name, "-"))
	case IsReady(node):
		return fmt.Errorf("%w; the Node is ready, so its VM runs: give the account access to the VM, or add its vCenter to the configuration", searchErr)
	case wasFound && node.Spec.ProviderID != "" && deletes:
		return fmt.Errorf("%w; vzones deletes the Node once every vCenter confirms that the VM is gone", searchErr)
	}
	return fmt.Errorf("%w; if the VM is gone, delete the Node", searchErr)
}

// scheme must never change: spec.providerID is immutable, and the CSI driver and Cluster API parse it.
const scheme = "vsphere://"

// ProviderID returns the provider ID of a VM.
func ProviderID(u inventory.UUID) string { return scheme + u.String() }

// ParseProviderID returns the BIOS UUID in a provider ID of vzones.
func ParseProviderID(id string) (inventory.UUID, error) {
	rest, ok := strings.CutPrefix(id, scheme)
	if !ok {
		return inventory.UUID{}, fmt.Errorf("provider ID %s does not begin with %s", quote.Value(id), scheme)
	}
	if len(rest) > inventory.MaxUUIDLength {
		return inventory.UUID{}, fmt.Errorf("provider ID %s is too long to contain a UUID: delete the Node, and start its kubelet with a valid provider ID or none", quote.Value(id))
	}
	u, err := inventory.ParseUUID(rest)
	if err != nil {
		return inventory.UUID{}, fmt.Errorf("provider ID %s: %w", quote.Value(id), err)
	}
	return u, nil
}

// Scheme returns the part of a provider ID that identifies the provider, such as aws://.
func Scheme(id string) string {
	provider, _, ok := strings.Cut(id, "://")
	if ok {
		provider += "://"
	}
	return quote.Plain(provider)
}

// IsOtherProviders reports whether a provider ID belongs to another provider.
func IsOtherProviders(id string) bool { return id != "" && !strings.HasPrefix(id, scheme) }

// FormatLocation returns the value of the annotation KeyVM.
func FormatLocation(vm topology.Ref) string { return vm.VCenter + "/" + vm.ID }

const (
	locationMax = 512
	instanceMax = 64
	objectIDMax = 40
)

// ParseLocation returns zero for an invalid value. A vCenter's name may contain slashes.
func ParseLocation(s string) topology.Ref {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 || len(s) > locationMax || !isObjectID(s[i+1:]) {
		return topology.Ref{}
	}
	return topology.Ref{VCenter: s[:i], Type: "VirtualMachine", ID: s[i+1:]}
}

// isObjectID is lenient, since vSphere does not specify the format of IDs such as vm-42.
func isObjectID(s string) bool {
	isInvalid := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	}
	return s != "" && len(s) <= objectIDMax && !strings.ContainsFunc(s, isInvalid)
}

func parseInstance(s string) string {
	if len(s) > instanceMax {
		return ""
	}
	return s
}

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

// NameKey returns the index key of a Node without a UUID.
func NameKey(name string) string {
	if name == "" {
		return ""
	}
	return "name " + strings.ToLower(name)
}
