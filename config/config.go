// Package config contains the validated configuration, and Fields, the table of all keys. config/load
// reads the formats, so that this package links no parser.
//
// The package never prints a secret, opens a connection or writes a file. It reads a file only
// through ReadFile.
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
	// File is the path of the configuration file.
	File string
	// Files are the paths of the CA files, as written and without duplicates. A Config depends
	// on nothing but File, Files and the environment.
	Files []string
	// VCenters is never empty, and in the order of the file.
	VCenters  []VCenter
	Topology  Topology
	Addresses AddressRules
	// NodeSelector selects the Nodes that vzones manages, all by default.
	NodeSelector labels.Selector
	// NodeLabels are added to each Node that lacks them. No key is reserved or a rule's label.
	NodeLabels map[string]string
	// SkipNodeDeletion treats a VM that certainly does not exist as unknown.
	SkipNodeDeletion bool
	// MatchByName, true by default, allows a search by name for the VM of a Node without a
	// usable system UUID and without a provider ID.
	MatchByName bool
	// Warnings lists, by line, valid settings whose effect is missing or surprising. The
	// caller logs them once.
	Warnings []Warning
}

// Topology configures the topology labels of Nodes.
type Topology struct {
	// Policy decides the labels.
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

// VCenter is one vCenter, with the settings that it inherits from the global section.
type VCenter struct {
	// Name is the entry's key in the file. It names the vCenter in messages and metrics.
	Name string
	// At is the position of the entry: FILE:LINE: FIELD, or an environment variable. TrustAt is
	// the position of the setting for the server's certificate: the thumbprint, else the CA,
	// else the entry. Comparisons of vCenters ignore both.
	At      string
	TrustAt string
	// Server is an IP address (IPv6 without brackets) or a host name, without a port.
	Server string
	// Port is 443 by default.
	Port int
	// Datacenters limits the search for VMs: names, inventory paths, patterns of either or
	// managed object references, see MatchDatacenters. Empty means all visible datacenters.
	Datacenters []string

	// User and Password are the credentials in the file: both or neither. Each comes from the
	// entry or the global section. If a Secret or a directory is named, both come from the
	// entry, so that no other vCenter's account is tried here. As in the CPI, a global section
	// with both a Secret and a directory passes its account to entries without a Secret.
	//
	// If User begins with -----BEGIN, it is a PEM certificate, with its issuers if any, and
	// Password is its PEM private key, for a login with a SAML token. Both are trimmed.
	User     string
	Password Password
	// Secret names the Kubernetes Secret with the credentials; zero means none. Its entry for
	// Server takes precedence over the credentials in the file.
	Secret SecretRef
	// SecretsDirectory is the absolute path of a directory with the keys of a Secret as files.
	// Empty means none; the directory need not exist. Its entry for Server ranks between Secret
	// and the file. A VCenter whose entry names a Secret has none.
	SecretsDirectory string

	// Insecure disables the verification of the server's certificate.
	Insecure bool
	// CA are PEM certificates in place of the system's: the content of CAFile, or of caData if
	// CAFile is empty. vCenters share them, so they are immutable.
	CAFile string
	CA     []byte
	// Thumbprint is the SHA-1 or SHA-256 fingerprint of the server's certificate in upper-case
	// hex pairs separated by colons, or empty.
	Thumbprint string

	// RoundTrips is the number of attempts of a call that fails in the network, 3 by default.
	RoundTrips int
	// IPFamilies are the families of Node addresses in order of preference: "ipv4", "ipv6" or
	// both; ["ipv4"] by default.
	IPFamilies []string
}

// Address returns the server and port in canonical form.
func (v *VCenter) Address() string { return SameServer(v.Server, v.Port) }

// SameServer returns an address and port in canonical form.
func SameServer(address string, port int) string {
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

// Check returns an error if a name is invalid.
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

// AddressRules select a Node's internal and external address among its VM's addresses. Empty rules
// match nothing. Without any rule the first address is both.
type AddressRules struct {
	InternalSubnets        []netip.Prefix
	ExternalSubnets        []netip.Prefix
	InternalNetwork        string
	ExternalNetwork        string
	ExcludeInternalSubnets []netip.Prefix
	ExcludeExternalSubnets []netip.Prefix
	// Networks and ExcludeNetworks are patterns of network names, see Considers.
	Networks        []string
	ExcludeNetworks []string
}

// Considers reports whether interfaces on a network are used: the network matches Networks, or
// Networks is empty, and it does not match ExcludeNetworks. In a pattern * stands for any text; the
// rest matches as for IsNetwork.
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

// IsNetwork reports whether a configured name is a network's name as VMware Tools report it (with
// %2f, %5c and %25) or as vSphere shows it. Letter case is ignored.
func IsNetwork(name, network string) bool {
	return strings.EqualFold(name, network) || strings.EqualFold(name, topology.Unescaped(network))
}

// fits reports whether a name matches a pattern in which * stands for any text.
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
