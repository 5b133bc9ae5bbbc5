package config

import (
	"fmt"
	"math"

	"vzones/topology"
)

// A Section is a mapping of the configuration.
type Section int

// The sections. SectionBoth contains the keys that the global section and an entry share. A level
// has the keys of SectionRule too.
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

// The kinds: up to KindRule with keys below, up to KindNames lists, then single values.
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

// An Effect is a set of the daemon's reactions to a changed setting of a vCenter.
type Effect int

// The effects.
const (
	// EffectAddress: the server may be a different vCenter.
	EffectAddress Effect = 1 << iota
	// EffectCredentials: the account or its source changes.
	EffectCredentials
	// EffectTrust: the accepted certificate changes.
	EffectTrust
	// EffectMachines: the watched VMs change.
	EffectMachines
	// EffectCalls: the retries of calls change.
	EffectCalls
	// EffectFamilies: the IP families of Nodes change.
	EffectFamilies
)

// A Field defines one key: its name, kind, default, documentation and effect.
type Field struct {
	In   Section
	Key  string // in YAML
	Kind Kind
	// INISection is the INI section for a root key.
	INISection string
	Of         Section
	Env        string
	// Default is the default if it is a single value.
	Default any
	// Words are the values of a KindWord, Min and Max the limits of a KindInt, named What in
	// messages.
	Words    []string
	What     string
	Min, Max int
	// Inherited keys of global apply to entries that leave them unset.
	Inherited bool
	// YAMLOnly keys are not in the INI format. Ours are in it, but not in the vSphere CPI's.
	YAMLOnly, Ours bool
	// Unsupported and NoEffect are the reasons why a value is rejected or ignored.
	Unsupported, NoEffect string
	Effect                Effect
	// Doc is the meaning in Markdown. Unset describes the default if Default does not.
	Doc, Unset string
	// Ref returns a pointer to the value in the result. It is nil if there is no such value.
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
	noNSXT = "vzones has no NSX-T load balancers and no NSX-T routes: remove this section, " +
		"and leave them to a controller of their own"
	noAPI = "has no effect: vzones does not serve the API of the vSphere CPI"
)

// SetByCPI is the NoEffect of a key that the vSphere CPI sets itself.
const SetByCPI = "has no effect: the vSphere CPI sets it"

// SkipDeletionVariable sets its key to true with any value.
const SkipDeletionVariable = "SKIP_NODE_DELETION"

// Fields are all keys of the YAML format; the INI format is derived from them. The reader, the
// environment, inheritance, Diff, the effective configuration, the JSON schema and the reference use
// this table.
var Fields = []Field{
	{Key: "global", INISection: "Global", Kind: KindMapping, Of: SectionGlobal,
		Doc: "defaults for all vCenters"},
	{Key: "vcenter", INISection: "VirtualCenter", Kind: KindEntries, Of: SectionEntry,
		Doc: "one entry for each vCenter; the key is its name in messages, logs and Events"},
	{Key: "labels", INISection: "Labels", Kind: KindMapping, Of: SectionLabels,
		Doc: "the sources of region and zone"},
	{Key: "topology", INISection: "Topology", YAMLOnly: true, Kind: KindMapping, Of: SectionTopology,
		Doc: "which of several tags counts, further labels, and the reaction to later changes; not in the CPI"},
	{Key: "nodes", INISection: "Nodes", Kind: KindMapping, Of: SectionNodes,
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
		Doc: "The password, taken as it is written: digits need no quotes. Without quotes a blank and a `#` end it, with a [warning](#warnings)."},
	{In: SectionBoth, Key: "server", Kind: KindServer, Env: "VSPHERE_VCENTER", Effect: EffectAddress,
		Ref: func(_ *Config, v *VCenter) any { return &v.Server },
		Doc: "The address: an IP address or a host name, without a port or a scheme. An entry may omit it if the entry's name is an IP address or a full host name. The entry's name has at most 253 bytes then. A host name with a `_` gives a [warning](#warnings). If no entry has `global.server` as its name or address, `global.server` is one more vCenter, with the address as its name."},
	{In: SectionBoth, Key: "port", Kind: KindInt, Inherited: true, Env: "VSPHERE_VCENTER_PORT", Default: DefaultPort, What: "port", Min: 1, Max: 65535, Effect: EffectAddress,
		Ref: func(_ *Config, v *VCenter) any { return &v.Port },
		Doc: "The HTTPS port, 1 to 65535."},
	{In: SectionBoth, Key: "insecureFlag", Kind: KindBool, Inherited: true, Env: "VSPHERE_INSECURE", Default: false, Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.Insecure },
		Doc: "With `true` the vCenter's certificate is not verified, with a [warning](#warnings). The certificate of a [session manager](../how-to/credentials.md#with-a-shared-session-manager) is always verified. `false` in an entry overrides `true` in `global`, with a warning too, since in the CPI [it does not](compared-with-the-cpi.md#configuration)."},
	{In: SectionBoth, Key: "datacenters", Kind: KindDatacenters, Inherited: true, Env: "VSPHERE_DATACENTER", Unset: "all", Effect: EffectMachines,
		Ref: func(_ *Config, v *VCenter) any { return &v.Datacenters },
		Doc: "The [datacenters](#datacenters) with Nodes' VMs: names, inventory paths, patterns of either, or managed object references. vzones takes nothing from a VM elsewhere. One element may contain several, separated by commas."},
	{In: SectionBoth, Key: "soapRoundtripCount", Kind: KindInt, Inherited: true, Env: "VSPHERE_ROUNDTRIP_COUNT", Default: 3, What: "count", Min: 1, Max: math.MaxInt32, Effect: EffectCalls,
		Ref: func(_ *Config, v *VCenter) any { return &v.RoundTrips },
		Doc: "How often vzones tries a SOAP call if the network fails, at least 1. A login is not repeated."},
	{In: SectionBoth, Key: "caFile", Kind: KindFiles, Inherited: true, Env: "VSPHERE_CAFILE",
		Ref: func(_ *Config, v *VCenter) any { return &v.CAFile },
		Doc: "The path of a PEM file, or of several with `:` between them. The certificates in all of them verify the server, instead of the system's. A relative path begins at the working directory. A path must not have a `:`. Each file is watched, and read again when it changes."},
	{In: SectionBoth, Key: "caData", Kind: KindPEM, Inherited: true, YAMLOnly: true, Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.CA },
		Doc: "The same certificates themselves, as PEM, in place of `caFile`. An entry's `caFile` or `caData` replaces both keys of `global`. If `global` has certificates, `caData: system` in an entry selects the system's certificates."},
	{In: SectionBoth, Key: "thumbprint", Kind: KindThumbprint, Inherited: true, Env: "VSPHERE_THUMBPRINT", Effect: EffectTrust,
		Ref: func(_ *Config, v *VCenter) any { return &v.Thumbprint },
		Doc: "The SHA-1 or SHA-256 fingerprint of the server's certificate, with colons or without. A certificate of the vCenter with that fingerprint is accepted. Any other is verified as without this key. `none` in an entry removes the thumbprint of `global`."},
	{In: SectionBoth, Key: "secretName", Kind: KindSecretName, Env: "VSPHERE_SECRET_NAME", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.Secret.Name },
		Doc: "The name of a Secret with the credentials. It needs `secretNamespace` in the same place."},
	{In: SectionBoth, Key: "secretNamespace", Kind: KindNamespace, Env: "VSPHERE_SECRET_NAMESPACE", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.Secret.Namespace },
		Doc: "The namespace of that Secret. It needs `secretName` in the same place."},
	{In: SectionBoth, Key: "ipFamily", Kind: KindFamilies, Inherited: true, Env: "VSPHERE_IP_FAMILY", Default: []string{"ipv4"}, Effect: EffectFamilies,
		Ref: func(_ *Config, v *VCenter) any { return &v.IPFamilies },
		Doc: "`ipv4`, `ipv6` or both. A Node gets addresses of each family, in this order. A family without an address keeps the Node waiting."},
	{In: SectionBoth, Key: "index", Kind: KindText, NoEffect: "has no effect: all VMs of the datacenters are watched", YAMLOnly: true,
		Doc: "No effect: all VMs of the datacenters are watched."},

	{In: SectionGlobal, Key: "secretsDirectory", Kind: KindDirectory, Env: "VSPHERE_SECRETS_DIRECTORY", Effect: EffectCredentials,
		Ref: func(_ *Config, v *VCenter) any { return &v.SecretsDirectory },
		Doc: "The absolute path of a directory with credentials. The directory may be missing. See [credentials](#credentials)."},
	{In: SectionGlobal, Key: "apiDisable", Kind: KindText, NoEffect: noAPI, Env: "VSPHERE_API_DISABLE",
		Doc: "No effect: vzones does not serve the CPI's API."},
	{In: SectionGlobal, Key: "apiBinding", Kind: KindText, NoEffect: noAPI, Env: "VSPHERE_API_BINDING",
		Doc: "No effect, likewise."},
	{In: SectionEntry, Key: "tenantref", Kind: KindText, NoEffect: SetByCPI,
		Doc: "No effect: OpenShift's installer writes it, empty."},
	{In: SectionEntry, Key: "secretref", Kind: KindText, NoEffect: SetByCPI,
		Doc: "No effect, likewise."},

	{In: SectionLabels, Key: "region", Kind: KindRule, Of: SectionRule, Env: "VSPHERE_LABEL_REGION",
		Doc: "The source of the label `topology.kubernetes.io/region`: the name of a tag category, or [a rule](#keys-of-a-rule)."},
	{In: SectionLabels, Key: "zone", Kind: KindRule, Of: SectionRule, Env: "VSPHERE_LABEL_ZONE",
		Doc: "The source of the label `topology.kubernetes.io/zone`, likewise."},

	{In: SectionTopology, Key: "precedence", Kind: KindWord, Default: string(topology.PrecedenceCSI), Words: words(topology.PrecedenceCSI, topology.PrecedenceNearest),
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Policy.Precedence },
		Doc: "The rule that chooses among several tags of one category for region and zone: `csi` or `nearest`. See [Placement](placement.md#which-tag)."},
	{In: SectionTopology, Key: "paths", Kind: KindPaths, Default: PathWords, Words: PathWords,
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Policy.Paths },
		Doc: "The paths above a VM on which vzones looks for tags, in this order. See [Placement](placement.md#which-tag)."},
	{In: SectionTopology, Key: "levels", Kind: KindLevels, Of: SectionLevel,
		Doc: "Rules of further labels, for racks or hosts for example."},
	{In: SectionTopology, Key: "backfill", Kind: KindBool, Default: true,
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Backfill },
		Doc: "Whether a Node that is initialized gets labels that it lacks."},
	{In: SectionTopology, Key: "drift", Kind: KindWord, Default: string(DriftReport), Words: words(DriftReport, DriftTaint, DriftUpdate),
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Drift },
		Doc: "The reaction to a wrong label of an initialized Node: `report`, `taint` or `update`. A wrong instance type never taints."},
	{In: SectionTopology, Key: "settle", Kind: KindDuration, Default: "60s",
		Ref: func(c *Config, _ *VCenter) any { return &c.Topology.Settle },
		Doc: "How long a label must be wrong before the reaction, from `0s` to `24h`. A number with its unit: `s`, `m` or `h`."},

	{In: SectionLevel, Key: "label", Kind: KindText,
		Doc: "The key of the Node label. Two levels cannot have the same label."},
	{In: SectionRule, Key: "tag", Kind: KindName,
		Doc: "The tag category whose tags give the label its value."},
	{In: SectionRule, Key: "inventory", Kind: KindWord, Words: words(topology.Inventories()...),
		Doc: "The part of the inventory whose name becomes the label: `vcenter`, `datacenter`, `cluster`, `host`, `resourcePool`, `folder` or `vsanFaultDomain`. See [Placement](placement.md#sources)."},
	{In: SectionRule, Key: "value", Kind: KindText, Unset: "what the source gives",
		Doc: "A value that is [composed](#composed-values) of several sources, such as `\"{region}-{zone}\"`."},
	{In: SectionRule, Key: "hostGroup", Kind: KindHostGroup,
		Doc: "The name of a DRS host group. If the VM's host is in a group of that name, the name becomes the label's value. A `*` stands for any text, as in `site-*`, and letter case counts. See [Placement](placement.md#drs-host-groups)."},
	{In: SectionRule, Key: "required", Kind: KindBool, Unset: "`true` for region and zone, `false` for levels",
		Doc: "Whether a Node without a value waits. If not, the label is left out."},
	{In: SectionLevel, Key: "nested", Kind: KindBool, Unset: "`true`, but `false` for `inventory` with `vcenter`, `datacenter`, `cluster`, `resourcePool` or `folder`",
		Doc: "Whether all Nodes with one value of this level must be in one zone and one region, and have one value of each earlier level in the list with `nested: true`. If it does not, vzones [reports](placement.md#levels-nest) it."},

	{In: SectionNodes, Key: "internalNetworkSubnetCidr", Kind: KindCIDRs, Env: "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.InternalSubnets },
		Doc: "CIDRs between commas. The first with an address gives the internal IP."},
	{In: SectionNodes, Key: "externalNetworkSubnetCidr", Kind: KindCIDRs, Env: "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExternalSubnets },
		Doc: "The same for the external IP."},
	{In: SectionNodes, Key: "internalVmNetworkName", Kind: KindName, Env: "VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.InternalNetwork },
		Doc: "The network or port group with the internal IP, where no subnet matches. Letter case does not count."},
	{In: SectionNodes, Key: "externalVmNetworkName", Kind: KindName, Env: "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExternalNetwork },
		Doc: "The same for the external IP."},
	{In: SectionNodes, Key: "excludeInternalNetworkSubnetCidr", Kind: KindCIDRs,
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeInternalSubnets },
		Doc: "CIDRs between commas. An address in one of them is not the internal IP."},
	{In: SectionNodes, Key: "excludeExternalNetworkSubnetCidr", Kind: KindCIDRs,
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeExternalSubnets },
		Doc: "The same for the external IP."},
	{In: SectionNodes, Key: "networks", Kind: KindNetworks, YAMLOnly: true, Unset: "all",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.Networks },
		Doc: "Names of networks or port groups. Network interfaces elsewhere do not count at all. A `*` stands for any text, and letter case does not count."},
	{In: SectionNodes, Key: "excludeNetworks", Kind: KindNetworks, YAMLOnly: true, Unset: "none",
		Ref: func(c *Config, _ *VCenter) any { return &c.Addresses.ExcludeNetworks },
		Doc: "The same for networks whose interfaces do not count, even if `networks` has them."},
	{In: SectionNodes, Key: "selector", Kind: KindSelector, YAMLOnly: true, Unset: "all Nodes",
		Ref: func(c *Config, _ *VCenter) any { return &c.NodeSelector },
		Doc: "A label selector as for `kubectl get nodes -l`, such as `vsphere=true,!metal`: the Nodes that vzones manages."},
	{In: SectionNodes, Key: "labels", Kind: KindLabels, YAMLOnly: true, Unset: "none",
		Ref: func(c *Config, _ *VCenter) any { return &c.NodeLabels },
		Doc: "Labels for each Node. A Node gets those that it lacks, later only if `topology.backfill` is `true`. A value is taken as it is written, and may be empty. [Reserved](#reserved-prefixes) ones, region, zone and those of levels are refused."},
	{In: SectionNodes, Key: "skipDeletion", Kind: KindBool, Env: SkipDeletionVariable, Ours: true, Default: false,
		Ref: func(c *Config, _ *VCenter) any { return &c.SkipNodeDeletion },
		Doc: "Whether vzones deletes no Node, even if its VM is certainly gone."},
	{In: SectionNodes, Key: "matchByName", Kind: KindBool, YAMLOnly: true, Default: true,
		Ref: func(c *Config, _ *VCenter) any { return &c.MatchByName },
		Doc: "If a Node has no usable system UUID and no provider ID, whether vzones looks for its VM [by the Node's name](node.md#which-vm). Set it to `false` if a vCenter has VMs of other people: if the name or the guest host name of one of these VMs is the Node's name, the Node gets the zone, addresses and provider ID of that VM, for good. [`vzones check`](findings.md#vz162) names the Nodes."},
}

// Has reports whether e contains any of some.
func (e Effect) Has(some Effect) bool { return e&some != 0 }

// ChangesAddress reports whether the server may be a different vCenter.
func (e Effect) ChangesAddress() bool { return e.Has(EffectAddress) }
