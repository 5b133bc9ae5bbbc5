// Package config contains the validated configuration, and Fields, the table of all keys. It never
// prints a secret. config/load reads the formats, so that this package links no parser.
package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/topology"
)

// Config is a validated configuration with every default filled in.
type Config struct {
	File string
	// Files are the paths of the CA files. A Config depends on nothing but File, Files and the
	// environment.
	Files []string
	// VCenters is never empty, and in the order of the file.
	VCenters  []VCenter
	Topology  Topology
	Addresses AddressRules
	// NodeSelector selects the Nodes that vzones manages, all by default.
	NodeSelector labels.Selector
	// NodeLabels are added to each Node that lacks them.
	NodeLabels map[string]string
	// SkipNodeDeletion keeps the Node of a VM that certainly does not exist.
	SkipNodeDeletion bool
	// OutOfService is the reaction to a VM that certainly does not exist, before its Node is deleted.
	OutOfService OutOfService
	// MatchByName, true by default, allows a search by name for the VM of a Node without a
	// usable system UUID and without a provider ID (decision 0036).
	MatchByName bool
	// Warnings lists, by line, valid settings whose effect is missing or surprising.
	Warnings []Warning
}

// Topology configures the topology labels of Nodes.
type Topology struct {
	Policy topology.Policy
	// Backfill, true by default, adds missing labels to initialized Nodes.
	Backfill bool
	Drift    Drift
	// Settle is the time that a label must be wrong before the reaction: 60 s by default, at
	// most 24 h.
	Settle time.Duration
}

// Drift is the reaction to a wrong label of an initialized Node.
type Drift string

// The reactions. The default is DriftReport.
const (
	// DriftReport changes nothing.
	DriftReport Drift = "report"
	// DriftTaint keeps new Pods away until the label is right.
	DriftTaint Drift = "taint"
	// DriftUpdate changes the label.
	DriftUpdate Drift = "update"
)

// OutOfService selects the Nodes that get the taint node.kubernetes.io/out-of-service.
type OutOfService string

// The values. The default is OutOfServiceNever.
const (
	OutOfServiceNever OutOfService = "never"
	// OutOfServiceGone taints a Node whose VM certainly does not exist.
	OutOfServiceGone OutOfService = "gone"
)

// VCenter is one vCenter, with the settings that it inherits from the global section.
type VCenter struct {
	Name string
	// At is the position of the entry, FILE:LINE: FIELD or an environment variable, and TrustAt
	// the position of the setting for the server's certificate. Comparisons ignore both.
	At      string
	TrustAt string
	// Server is an IP address (IPv6 without brackets) or a host name, without a port.
	Server string
	Port   int
	// Datacenters limits the search for VMs, see MatchDatacenters. Empty means all visible
	// datacenters.
	Datacenters []string

	// User and Password are the credentials in the file: both or neither. So that no other
	// vCenter's account is tried, an entry with a Secret does not inherit them from the global
	// section, nor does any entry if that names a Secret or a directory. As in the CPI, a global
	// section with both passes its account to entries without a Secret.
	//
	// For a login with a SAML token, User is a PEM certificate with its issuers, and Password its
	// PEM private key.
	User     string
	Password Password
	// Secret names the Kubernetes Secret with the credentials, if any. Its entry for Server takes
	// precedence over the credentials in the file (decision 0007).
	Secret SecretRef
	// SecretsDirectory is the absolute path of a directory with the keys of a Secret as files, if
	// any. It need not exist. Its entry for Server ranks between Secret and the file. A VCenter
	// whose entry names a Secret has none.
	SecretsDirectory string

	Insecure bool
	// CA are PEM certificates in place of the system's: the content of CAFile, or of caData if
	// CAFile is empty. vCenters share them, so they are immutable.
	CAFile string
	CA     []byte
	// Thumbprint is a SHA-1 or SHA-256 fingerprint in upper-case hex pairs separated by colons.
	Thumbprint string

	// RoundTrips is the number of attempts of a call that fails in the network.
	RoundTrips int
	// IPFamilies contains "ipv4", "ipv6" or both, in order of preference.
	IPFamilies []string
}

// Address returns the server and port in canonical form.
func (v *VCenter) Address() string { return CanonicalAddress(v.Server, v.Port) }

// CanonicalAddress returns an address and port in canonical form.
func CanonicalAddress(address string, port int) string {
	if addr, err := netip.ParseAddr(address); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), uint16(port)).String()
	}
	return strings.ToLower(strings.TrimSuffix(address, ".")) + ":" + strconv.Itoa(port)
}

// SecretRef names a Kubernetes Secret.
type SecretRef struct {
	Namespace string
	Name      string
}

// Check validates both names.
func (r SecretRef) Check() error {
	if _, wrong := KindSecretName.ParseName(r.Name); wrong != nil {
		return fmt.Errorf("%q %s", r.Name, wrong.Message)
	}
	if _, wrong := KindNamespace.ParseName(r.Namespace); wrong != nil {
		return fmt.Errorf("%q %s", r.Namespace, wrong.Message)
	}
	return nil
}

// ParseName validates the name of a Secret or a namespace. The error does not contain the name,
// which may be a misplaced secret.
func (k Kind) ParseName(name string) (string, *ValueError) {
	switch {
	case k == KindSecretName && len(validation.IsDNS1123Subdomain(name)) > 0:
		return "", &ValueError{Message: "is not a valid name of a Secret: write lower-case letters, digits, - and ."}
	case k == KindNamespace && len(validation.IsDNS1123Label(name)) > 0:
		return "", &ValueError{Message: "is not a valid name of a namespace: write lower-case letters, digits and -"}
	}
	return name, nil
}

// AddressRules select a Node's internal and external address among its VM's addresses. A subnet or
// network that is unset matches nothing. Without any rule the first address is both.
type AddressRules struct {
	InternalSubnets        []netip.Prefix
	ExternalSubnets        []netip.Prefix
	InternalNetwork        string
	ExternalNetwork        string
	ExcludeInternalSubnets []netip.Prefix
	ExcludeExternalSubnets []netip.Prefix
	Networks               []string
	ExcludeNetworks        []string
}

// Considers reports whether interfaces on a network are used: the network matches Networks, or
// Networks is empty, and it does not match ExcludeNetworks. In a pattern * stands for any text.
func (r *AddressRules) Considers(network string) bool {
	if len(r.Networks) == 0 && len(r.ExcludeNetworks) == 0 {
		return true
	}
	name := strings.ToLower(network)
	shown := strings.ToLower(topology.Unescaped(network))
	matches := func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return fits(pattern, name) || fits(pattern, shown)
	}
	return (len(r.Networks) == 0 || slices.ContainsFunc(r.Networks, matches)) && !slices.ContainsFunc(r.ExcludeNetworks, matches)
}

// NameNetworks reports whether any rule names a network.
func (r *AddressRules) NameNetworks() bool {
	return r.InternalNetwork+r.ExternalNetwork != "" || len(r.Networks)+len(r.ExcludeNetworks) > 0
}

// IsNetwork reports whether a configured name is a network's name, in any letter case, as VMware
// Tools report it (with %2f, %5c and %25) or as vSphere shows it.
func IsNetwork(name, network string) bool {
	return strings.EqualFold(name, network) || strings.EqualFold(name, topology.Unescaped(network))
}

func fits(pattern, name string) bool {
	begin, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, begin)
	for ok && wild {
		// The first occurrence is enough for all but the last part.
		var part string
		if part, rest, wild = strings.Cut(rest, "*"); !wild {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
	}
	return false
}
