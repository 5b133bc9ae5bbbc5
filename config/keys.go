package config

import (
	"fmt"
	"math"

	"vzones/topology"
)

// A Section is a mapping of the configuration.
type Section int

// The sections. SectionBoth contains the keys that the global section and an entry share.
const (
	SectionRoot Section = iota
	SectionBoth
	SectionGlobal
	SectionEntry
	SectionLabels
	SectionRule
	SectionTopology
	SectionLevel
	SectionNodes
)

// A Kind is the type of a key's value.
type Kind int

// The kinds. KindMapping to KindRule contain further keys, KindDatacenters to KindNames are lists of single values, and the
// rest are single values.
const (
	KindMapping Kind = iota
	KindEntries
	KindLevels
	KindLabels
	KindRule
	KindDatacenters
	KindFamilies
	KindNetworks
	KindPaths
	KindNames
	KindBool
	KindInt
	KindPassword
	KindText
	KindUser
	KindServer
	KindFiles
	KindPEM
	KindThumbprint
	KindSecretName
	KindNamespace
	KindDirectory
	KindName
	KindHostGroup
	KindCIDRs
	KindWord
	KindDuration
	KindSelector
)

// IsList reports whether the value is a list of single values.
func (k Kind) IsList() bool { return k >= KindDatacenters && k <= KindNames }

// An Effect is a set of reactions to a changed setting of a vCenter.
type Effect int

// The effects.
const (
	// EffectAddress: the server may be a different vCenter.
	EffectAddress Effect = 1 << iota
	EffectCredentials
	EffectTrust
	EffectVMs
	EffectCalls
	EffectFamilies
)

// A Field defines one key: its name, kind, default, documentation and effect.
type Field struct {
	In         Section
	Key        string // in YAML
	Kind       Kind
	INISection string
	Subsection Section
	Env        string
	Default    any
	// Words are the valid values of a KindWord, or of the elements of a KindPaths. Min and Max are the limits of a KindInt,
	// and Noun names its value in messages.
	Words    []string
	Noun     string
	Min, Max int
	// Inherited keys of global apply to entries that leave them unset. Accounts, Secrets and CA certificates have further
	// rules, see package load.
	Inherited bool
	// YAMLOnly keys exist only in the YAML format. NotInCPI keys exist in both formats, but not in the vSphere CPI.
	YAMLOnly, NotInCPI bool
	// Unsupported and NoEffect are the reasons why a value is rejected or ignored.
	Unsupported, NoEffect string
	Effect                Effect
	// Doc is in Markdown. Unset describes the default if Default does not.
	Doc, Unset string
	// Ref returns a pointer to the field of c or v that the key sets. It is nil if there is no such
	// field.
	Ref func(c *Config, v *VCenter) any
}

// Limits describes the valid numbers.
func (f *Field) Limits() string {
	if f.Max == math.MaxInt32 {
		return fmt.Sprintf("a number, at least %d", f.Min)
	}
	return fmt.Sprintf("a number from %d to %d", f.Min, f.Max)
}

// FieldsOf returns the keys of a section in order.
func FieldsOf(s Section) []*Field { return fieldsOf[s] }

// FieldOf returns a key of a section, or nil.
func FieldOf(s Section, key string) *Field {
	for _, f := range fieldsOf[s] {
		if f.Key == key {
			return f
		}
	}
	return nil
}

var fieldsOf = func() map[Section][]*Field {
	parts := map[Section]Section{SectionGlobal: SectionBoth, SectionEntry: SectionBoth, SectionLevel: SectionRule}
	bySection := make(map[Section][]*Field)
	for s := SectionRoot; s <= SectionNodes; s++ {
		for i := range Fields {
			section := Fields[i].In
			part := parts[s]
			if section == s || part != SectionRoot && section == part {
				bySection[s] = append(bySection[s], &Fields[i])
			}
		}
	}
	return bySection
}()

// DefaultPort is the default port of a vCenter.
const DefaultPort = 443

// PathWords are the names of topology.DefaultPaths, in the same order.
var PathWords = []string{"compute", "resourcePool", "folder"}

func words[T any](values ...T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}

const (
	noNSXT = "vzones does not support NSX-T load balancers or routes: remove this section, " +
		"and use a separate controller for them"
	noAPI = "has no effect, as in the vSphere CPI"
)

// SetByCPI is the NoEffect of a key that the vSphere CPI sets itself.
const SetByCPI = "has no effect: the vSphere CPI sets it"

// SkipDeletionVariable is the environment variable that sets nodes.skipDeletion to true if it exists, even with an empty
// value or false.
const SkipDeletionVariable = "SKIP_NODE_DELETION"

// Fields are all keys of the YAML format. The INI format has the same keys except YAMLOnly, and a few of its own in package
// load.
var Fields = []Field{
	{Key: "global", INISection: "Global", Kind: KindMapping, Subsection: SectionGlobal,
		Doc: "defaults for all vCenters"},
	{Key: "vcenter", INISection: "VirtualCenter", Kind: KindEntries, Subsection: SectionEntry,
		Doc: "one entry per vCenter; the key names it in messages, logs and Events"},
	{Key: "labels", INISection: "Labels", Kind: KindMapping, Subsection: SectionLabels,
		Doc: "the sources of region and zone"},
	{Key: "topology", INISection: "Topology", YAMLOnly: true, Kind: KindMapping, Subsection: SectionTopology,
		Doc: "tag precedence, further labels, and how vzones reacts when a label becomes incorrect; not in the CPI"},
	{Key: "nodes", INISection: "Nodes", Kind: KindMapping, Subsection: SectionNodes,
		Doc: "the Nodes that vzones manages, and their addresses"},
	{Key: "loadBalancer", INISection: "LoadBalancer", Unsupported: noNSXT},
	{Key: "loadBalancerClass", INISection: "LoadBalancerClass", Unsupported: noNSXT},
	{Key: "route", INISection: "Route", Unsupported: noNSXT},
	{Key: "nsxt", INISection: "NSXT", Unsupported: noNSXT},

	{In: SectionBoth, Key: "user", Kind: KindUser, Inherited: true, Env: "VSPHERE_USER", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.User },
		Doc: "The user name. See [credentials](#credentials)."},
	{In: SectionBoth, Key: "password", Kind: KindPassword, Inherited: true, Env: "VSPHERE_PASSWORD", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.Password },
		Doc: "The password, taken literally: digits need no quotes. A space followed by `#` ends an unquoted password and gives a [warning](#warnings)."},
	{In: SectionBoth, Key: "server", Kind: KindServer, Env: "VSPHERE_VCENTER", Effect: EffectAddress,
		Ref: func(_ *Config, v *VCenter) any { return &v.Server },
		Doc: "The IP address or host name, without a port or a scheme. An entry may omit it if the entry's name is an IP address or a full host name of at most 253 bytes. A host name with a `_` gives a [warning](#warnings). If no entry has `global.server` as its name or as its `server`, then `global.server` defines an additional vCenter whose name is that address."},
	{In: SectionBoth, Key: "port", Kind: KindInt, Inherited: true, Env: "VSPHERE_VCENTER_PORT", Default: DefaultPort, Noun: "port", Min: 1, Max: 65535, Effect: EffectAddress,
		Ref: func(_ *Config, v *VCenter) any { return &v.Port },
		Doc: "The HTTPS port, 1 to 65535."},
	{In: SectionBoth, Key: "insecureFlag", Kind: KindBool, Inherited: true, Env: "VSPHERE_INSECURE", Default: false, Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.Insecure },
		Doc: "`true` disables verification of the vCenter's certificate and gives a [warning](#warnings). The certificate of a [session manager](../how-to/credentials.md#with-a-shared-session-manager) is always verified. `false` in an entry overrides `true` in `global`; in the CPI [it does not](compared-with-the-cpi.md#configuration), so this also gives a warning."},
	{In: SectionBoth, Key: "datacenters", Kind: KindDatacenters, Inherited: true, Env: "VSPHERE_DATACENTER", Unset: "all", Effect: EffectVMs,
		Ref: func(_ *Config, v *VCenter) any { return &v.Datacenters },
		Doc: "The [datacenters](#datacenters) that contain Nodes' VMs: names, inventory paths, patterns of either, or managed object references. vzones ignores VMs in other datacenters. An element may contain several values, separated by commas."},
	{In: SectionBoth, Key: "soapRoundtripCount", Kind: KindInt, Inherited: true, Env: "VSPHERE_ROUNDTRIP_COUNT", Default: 3, Noun: "count", Min: 1, Max: math.MaxInt32, Effect: EffectCalls,
		Ref: func(_ *Config, v *VCenter) any { return &v.RoundTrips },
		Doc: "Maximum attempts for a SOAP call if the network fails, at least 1. A login is not retried."},
	{In: SectionBoth, Key: "caFile", Kind: KindFiles, Inherited: true, Env: "VSPHERE_CAFILE",
		Ref: func(_ *Config, v *VCenter) any { return &v.CAFile },
		Doc: "The paths of one or more PEM files, separated by `:`. The server's certificate is verified against the CAs in these files instead of the system's trust store. A relative path starts at the working directory. A path cannot contain a `:`. vzones watches each file and rereads it when it changes."},
	{In: SectionBoth, Key: "caData", Kind: KindPEM, Inherited: true, YAMLOnly: true, Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.CA },
		Doc: "The CA certificates in PEM format, instead of `caFile`. An entry's `caFile` or `caData` replaces both keys of `global`. If `global` has CA certificates, `caData: system` in an entry selects the system's trust store."},
	{In: SectionBoth, Key: "thumbprint", Kind: KindThumbprint, Inherited: true, Env: "VSPHERE_THUMBPRINT", Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.Thumbprint },
		Doc: "The SHA-1 or SHA-256 fingerprint of the server's certificate, with or without colons. vzones accepts a vCenter certificate with this fingerprint, and verifies any other certificate as if this key were unset. `none` in an entry removes the thumbprint of `global`."},
	{In: SectionBoth, Key: "secretName", Kind: KindSecretName, Env: "VSPHERE_SECRET_NAME", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.Secret.Name },
		Doc: "The name of a Secret that contains the credentials. It requires `secretNamespace` in the same mapping."},
	{In: SectionBoth, Key: "secretNamespace", Kind: KindNamespace, Env: "VSPHERE_SECRET_NAMESPACE", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.Secret.Namespace },
		Doc: "The namespace of that Secret. It requires `secretName` in the same mapping."},
	{In: SectionBoth, Key: "ipFamily", Kind: KindFamilies, Inherited: true, Env: "VSPHERE_IP_FAMILY", Default: []string{"ipv4"}, Effect: EffectFamilies,
		Ref: func(_ *Config, v *VCenter) any { return &v.IPFamilies },
		Doc: "`ipv4`, `ipv6` or both. A Node gets addresses of each family, in this order, and stays uninitialized if a family has none."},
	{In: SectionBoth, Key: "index", Kind: KindText, NoEffect: "has no effect: all VMs of the datacenters are watched", YAMLOnly: true,
		Doc: "No effect: all VMs of the datacenters are watched."},

	{In: SectionGlobal, Key: "secretsDirectory", Kind: KindDirectory, Env: "VSPHERE_SECRETS_DIRECTORY", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.SecretsDirectory },
		Doc: "The absolute path of a directory that contains credentials. The directory may be missing. See [credentials](#credentials)."},
	{In: SectionGlobal, Key: "apiDisable", Kind: KindText, NoEffect: noAPI, Env: "VSPHERE_API_DISABLE",
		Doc: "No effect, as in the CPI."},
	{In: SectionGlobal, Key: "apiBinding", Kind: KindText, NoEffect: noAPI, Env: "VSPHERE_API_BINDING",
		Doc: "No effect, as in the CPI."},
	{In: SectionEntry, Key: "tenantref", Kind: KindText, NoEffect: SetByCPI,
		Doc: "No effect: OpenShift's installer writes this key with an empty value."},
	{In: SectionEntry, Key: "secretref", Kind: KindText, NoEffect: SetByCPI,
		Doc: "No effect: OpenShift's installer writes this key with an empty value."},

	{In: SectionLabels, Key: "region", Kind: KindRule, Subsection: SectionRule, Env: "VSPHERE_LABEL_REGION",
		Doc: "The source of the label `topology.kubernetes.io/region`: the name of a tag category, or [a rule](#keys-of-a-rule)."},
	{In: SectionLabels, Key: "zone", Kind: KindRule, Subsection: SectionRule, Env: "VSPHERE_LABEL_ZONE",
		Doc: "The source of the label `topology.kubernetes.io/zone`: the name of a tag category, or [a rule](#keys-of-a-rule)."},

	{In: SectionTopology, Key: "precedence", Kind: KindWord, Default: string(topology.PrecedenceCSI), Words: words(topology.PrecedenceCSI, topology.PrecedenceNearest),
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Policy.Precedence },
		Doc: "How vzones chooses among several tags of one category for region and zone: `csi` or `nearest`. See [Placement](placement.md#which-tag)."},
	{In: SectionTopology, Key: "paths", Kind: KindPaths, Default: PathWords, Words: PathWords,
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Policy.Paths },
		Doc: "The paths above a VM that vzones searches for tags, in this order. See [Placement](placement.md#which-tag)."},
	{In: SectionTopology, Key: "levels", Kind: KindLevels, Subsection: SectionLevel,
		Doc: "Rules for further labels, for example for racks or hosts."},
	{In: SectionTopology, Key: "backfill", Kind: KindBool, Default: true,
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Backfill },
		Doc: "Whether vzones adds missing labels to initialized Nodes."},
	{In: SectionTopology, Key: "drift", Kind: KindWord, Default: string(DriftReport), Words: words(DriftReport, DriftTaint, DriftUpdate),
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Drift },
		Doc: "The reaction to an incorrect label on an initialized Node: `report`, `taint` or `update`. An incorrect instance type never adds the taint."},
	{In: SectionTopology, Key: "settle", Kind: KindDuration, Default: "60s",
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Settle },
		Doc: "How long a label must be incorrect before vzones reacts, from `0s` to `24h`: a number with the unit `s`, `m` or `h`."},

	{In: SectionLevel, Key: "label", Kind: KindText,
		Doc: "The key of the Node label, unique among the levels."},
	{In: SectionRule, Key: "tag", Kind: KindName,
		Doc: "The tag category whose tags provide the label's value."},
	{In: SectionRule, Key: "inventory", Kind: KindWord, Words: words(topology.Inventories()...),
		Doc: "The kind of inventory object whose name becomes the label's value: `vcenter`, `datacenter`, `cluster`, `host`, `resourcePool`, `folder` or `vsanFaultDomain`. See [Placement](placement.md#sources)."},
	{In: SectionRule, Key: "value", Kind: KindText, Unset: "the source's value",
		Doc: "A template that [composes](#composed-values) the value from several sources, such as `\"{region}-{zone}\"`."},
	{In: SectionRule, Key: "hostGroup", Kind: KindHostGroup,
		Doc: "The name of a DRS host group, or a pattern in which `*` matches any text, such as `site-*`. If the VM's host is in a matching group, the group's name becomes the label's value. Matching is case-sensitive. See [Placement](placement.md#drs-host-groups)."},
	{In: SectionRule, Key: "required", Kind: KindBool, Unset: "`true` for region and zone, `false` for levels",
		Doc: "Whether a Node without a value stays uninitialized. If `false`, vzones omits the label."},
	{In: SectionLevel, Key: "nested", Kind: KindBool, Unset: "`true`, but `false` for `inventory` with `vcenter`, `datacenter`, `cluster`, `resourcePool` or `folder`",
		Doc: "Whether all Nodes with the same value of this level must have the same zone, region, and value of each preceding level with `nested: true`. vzones [reports](placement.md#nested-levels) violations."},

	{In: SectionNodes, Key: "internalNetworkSubnetCidr", Kind: KindCIDRs, Env: "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.InternalSubnets },
		Doc: "Comma-separated CIDRs. The internal IP is the first address in the first CIDR that contains an address of the VM."},
	{In: SectionNodes, Key: "externalNetworkSubnetCidr", Kind: KindCIDRs, Env: "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExternalSubnets },
		Doc: "Comma-separated CIDRs for the external IP."},
	{In: SectionNodes, Key: "internalVmNetworkName", Kind: KindName, Env: "VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.InternalNetwork },
		Doc: "The network or port group of the internal IP if no subnet matches. Matching is case-insensitive."},
	{In: SectionNodes, Key: "externalVmNetworkName", Kind: KindName, Env: "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExternalNetwork },
		Doc: "The network or port group of the external IP if no subnet matches."},
	{In: SectionNodes, Key: "excludeInternalNetworkSubnetCidr", Kind: KindCIDRs,
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeInternalSubnets },
		Doc: "Comma-separated CIDRs. No address in them becomes the internal IP."},
	{In: SectionNodes, Key: "excludeExternalNetworkSubnetCidr", Kind: KindCIDRs,
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeExternalSubnets },
		Doc: "Comma-separated CIDRs. No address in them becomes the external IP."},
	{In: SectionNodes, Key: "networks", Kind: KindNetworks, YAMLOnly: true, Unset: "all",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.Networks },
		Doc: "Names of networks or port groups. Interfaces on other networks are ignored. `*` matches any text. Matching is case-insensitive."},
	{In: SectionNodes, Key: "excludeNetworks", Kind: KindNetworks, YAMLOnly: true, Unset: "none",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeNetworks },
		Doc: "Networks or port groups whose interfaces are ignored, even if `networks` matches them."},
	{In: SectionNodes, Key: "selector", Kind: KindSelector, YAMLOnly: true, Unset: "all Nodes",
		Ref: func(c *Config, _ *VCenter) any { return &c.NodeSelector },
		Doc: "The Nodes that vzones manages: a label selector as for `kubectl get nodes -l`, such as `vsphere=true,!metal`."},
	{In: SectionNodes, Key: "labels", Kind: KindLabels, YAMLOnly: true, Unset: "none",
		Ref: func(c *Config, _ *VCenter) any { return &c.NodeLabels },
		Doc: "Labels for each Node. vzones adds missing labels at initialization, and later only if `topology.backfill` is `true`. Values are taken literally and may be empty. [Reserved](#reserved-prefixes) labels, region, zone and labels of levels are rejected."},
	{In: SectionNodes, Key: "skipDeletion", Kind: KindBool, Env: SkipDeletionVariable, NotInCPI: true, Default: false,
		Ref: func(c *Config, _ *VCenter) any { return &c.SkipNodeDeletion },
		Doc: "`true` disables the deletion of Nodes, even of Nodes whose VM is certainly gone."},
	{In: SectionNodes, Key: "outOfService", Kind: KindWord, NotInCPI: true, Default: string(OutOfServiceNever), Words: words(OutOfServiceNever, OutOfServiceGone),
		Ref: func(c *Config, _ *VCenter) any { return &c.OutOfService },
		Doc: "With `gone`, vzones adds the taint `node.kubernetes.io/out-of-service=vm-gone:NoExecute` before it deletes a Node whose VM is certainly gone, which [frees the volumes](../how-to/keep-zones-true.md#free-the-volumes-of-a-lost-vm)."},
	{In: SectionNodes, Key: "matchByName", Kind: KindBool, YAMLOnly: true, Default: true,
		Ref: func(c *Config, _ *VCenter) any { return &c.MatchByName },
		Doc: "Whether vzones searches [by name](node.md#which-vm) for the VM of a Node that has neither a usable system UUID nor a provider ID. Set it to `false` if a vCenter contains VMs that other people control: if the name or guest host name of such a VM is the Node's name, the Node permanently gets the zone, addresses and provider ID of that VM. [`vzones check`](findings.md#vz162) names the Nodes."},
}

// Has reports whether e contains one of the effects.
func (e Effect) Has(effects Effect) bool { return e&effects != 0 }

// ChangesAddress reports whether e contains EffectAddress.
func (e Effect) ChangesAddress() bool { return e.Has(EffectAddress) }
