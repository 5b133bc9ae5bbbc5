// Package config owns the values of the configuration: what is in force, validated and with
// every default filled in. Fields is the one table of keys. It links no parser: config/load reads the formats.
//
// The package never prints a secret, never connects to anything and never writes a file. It reads
// one only through ReadFile.
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

// Config is one configuration, validated, with every default filled in.
type Config struct {
	// File is the path that the configuration was read from.
	File string
	// Files are the paths of the CA files that were read, as they are written,
	// each once. With File they are all that the Config depends on, besides the
	// environment.
	Files []string
	// VCenters are in the order of the file; there is at least one.
	VCenters []VCenter
	// Topology says which labels Nodes get from where their machine is.
	Topology Topology
	// Addresses says which addresses of a machine its Node gets.
	Addresses AddressRules
	// NodeSelector selects the Nodes that vzones manages, by their labels:
	// all of them unless configured.
	NodeSelector labels.Selector
	// NodeLabels are labels that each Node gets if it lacks them, by their
	// keys. None of them is reserved or also a rule's. Nil means none.
	NodeLabels map[string]string
	// SkipNodeDeletion reports whether no Node is ever deleted: a machine that is
	// certainly gone counts as one that could not be asked for.
	SkipNodeDeletion bool
	// MatchByName reports whether a Node without a usable system UUID and without a provider
	// ID is looked for by its name; true unless configured.
	MatchByName bool
	// Warnings are what is valid in the file and has no effect or not the one
	// to expect, by line. Whoever applies the Config logs them, once.
	Warnings []Warning
}

// Topology is how Nodes get their topology labels, and what becomes of them.
type Topology struct {
	// Policy decides the labels. Without rules and levels Nodes get none.
	Policy topology.Policy
	// Backfill reports whether a Node which is initialized gets labels that it lacks;
	// true unless configured.
	Backfill bool
	// Drift is what is done about a label that is no longer right.
	Drift Drift
	// Settle is how long a label has to be wrong before that is done, 60 s unless
	// configured, at most 24 h.
	Settle time.Duration
}

// Drift is what is done about a label that is no longer right.
type Drift string

// The policies. The default is DriftReport.
const (
	// DriftReport reports it and changes nothing.
	DriftReport Drift = "report"
	// DriftTaint keeps new Pods away until the label is right again.
	DriftTaint Drift = "taint"
	// DriftUpdate changes the label.
	DriftUpdate Drift = "update"
)

// VCenter is one vCenter and how to reach it. What the file leaves unset for
// it comes from the file's global section.
type VCenter struct {
	// Name is the entry's key in the file. It names the vCenter in messages,
	// metrics and references.
	Name string
	// At is where the entry is: FILE:LINE: FIELD, or the name of an environment
	// variable. TrustAt is where it is written what certificate the server may
	// have: the thumbprint that is in force, else the CA, else the entry itself,
	// where either could be. Both are positions and not settings: they do not count
	// when two vCenters are compared.
	At      string
	TrustAt string
	// Server is the vCenter's address: an IP address (IPv6 without brackets)
	// or a host name, without a port.
	Server string
	// Port is 443 unless configured.
	Port int
	// Datacenters limits where machines are looked for: names, inventory paths,
	// patterns of either or managed object references, see MatchDatacenters. Empty
	// means all datacenters that the account can see.
	Datacenters []string

	// User and Password are the credentials in the file: both or neither. Each
	// comes from the entry or from the global section, but where a Secret or a
	// directory is named from the entry alone, so that no other vCenter's account
	// is tried here. As in the CPI, a global section that names both a Secret and
	// a directory leaves its account to the entries without a Secret of their own.
	//
	// If User begins with -----BEGIN, it is a PEM certificate, perhaps with those
	// that issued it behind it, and Password the PEM private key of the first: the
	// login is with a SAML token. No blanks are around the two then.
	User     string
	Password Password
	// Secret names the Kubernetes Secret with the credentials. Its zero value
	// means that there is none. Where both are configured the Secret's entry
	// for Server wins and the file's is used if the Secret has no such entry.
	Secret SecretRef
	// SecretsDirectory is the absolute path of a directory with credentials, in
	// files with the names of a Secret's keys. Empty means that there is none. It
	// need not exist. Its entry for Server comes after that of Secret and before
	// the file's own. An entry with a Secret of its own has none.
	SecretsDirectory string

	// Insecure switches off the verification of the server's certificate.
	Insecure bool
	// CA are PEM certificates to verify the server with instead of the system's:
	// what the file at the path CAFile held when it was read, or, where CAFile is
	// empty, what the configuration itself holds (caData). They are never changed, since
	// vCenters with the same ones share them.
	CAFile string
	CA     []byte
	// Thumbprint is the SHA-1 or SHA-256 fingerprint of the server's
	// certificate: upper-case hex pairs separated by colons. Empty means that
	// the certificate chain decides.
	Thumbprint string

	// RoundTrips is how often a call is tried that the network broke, 3 unless
	// configured (soapRoundtripCount).
	RoundTrips int
	// IPFamilies are the families of Node addresses in order of preference:
	// "ipv4", "ipv6" or both; ["ipv4"] unless configured.
	IPFamilies []string
}

// Address returns the server and the port, in one form for each way to write them.
func (v *VCenter) Address() string { return SameServer(v.Server, v.Port) }

// SameServer returns what two ways to write one address have in common.
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

// Check returns the mistake in the names, if there is one.
func (r SecretRef) Check() error {
	if _, wrong := KindSecretName.ParseName(r.Name); wrong != nil {
		return fmt.Errorf("%q %s", r.Name, wrong.Message)
	}
	if _, wrong := KindNamespace.ParseName(r.Namespace); wrong != nil {
		return fmt.Errorf("%q %s", r.Namespace, wrong.Message)
	}
	return nil
}

// ParseName takes a name of that kind, a Secret's or a namespace's. A mistake does not
// show it: perhaps the secret itself was written in its place.
func (k Kind) ParseName(name string) (string, *ValueError) {
	switch {
	case k == KindSecretName && len(validation.IsDNS1123Subdomain(name)) > 0:
		return "", &ValueError{Message: "is not a valid name of a Secret: write lower-case letters, digits, - and ."}
	case k == KindNamespace && len(validation.IsDNS1123Label(name)) > 0:
		return "", &ValueError{Message: "is not a valid name of a namespace: write lower-case letters, digits and -"}
	}
	return name, nil
}

// AddressRules say which addresses of a machine become its Node's internal and
// external one. Empty rules match nothing: without any the first address
// serves as both.
type AddressRules struct {
	InternalSubnets        []netip.Prefix
	ExternalSubnets        []netip.Prefix
	InternalNetwork        string
	ExternalNetwork        string
	ExcludeInternalSubnets []netip.Prefix
	ExcludeExternalSubnets []netip.Prefix
	// Networks and ExcludeNetworks are patterns of network names, see
	// Considers.
	Networks        []string
	ExcludeNetworks []string
}

// Considers reports whether network interfaces on a network count: those on a
// network that is in Networks, if there are any, and not in ExcludeNetworks. A
// * in a pattern stands for any text. For the rest see IsNetwork.
func (r *AddressRules) Considers(network string) bool {
	if len(r.Networks) == 0 && len(r.ExcludeNetworks) == 0 {
		return true
	}
	name := strings.ToLower(network)
	shown := strings.ToLower(topology.Unescaped(network))
	is := func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return fits(pattern, name) || fits(pattern, shown)
	}
	return (len(r.Networks) == 0 || slices.ContainsFunc(r.Networks, is)) && !slices.ContainsFunc(r.ExcludeNetworks, is)
}

// NameNetworks reports whether the networks of interfaces decide about addresses.
func (r *AddressRules) NameNetworks() bool {
	return r.InternalNetwork+r.ExternalNetwork != "" || len(r.Networks)+len(r.ExcludeNetworks) > 0
}

// IsNetwork reports whether a configured name is that of a network, as VMware Tools report it (with
// %2f, %5c and %25) or as vSphere shows it. Letter case does not count.
func IsNetwork(name, network string) bool {
	return strings.EqualFold(name, network) || strings.EqualFold(name, topology.Unescaped(network))
}

// fits reports whether a pattern, in which * stands for any text, covers a name.
func fits(pattern, name string) bool {
	begin, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, begin)
	for ok && wild {
		// The first place is as good as any for all but the last part.
		var part string
		if part, rest, wild = strings.Cut(rest, "*"); !wild {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
	}
	return false
}
