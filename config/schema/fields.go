package schema

import (
	"fmt"
	"math"
	"slices"

	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/topology"
)

// What holds unless it is configured, and the words for values, are here once: validation,
// the effective configuration, the JSON schema and the reference have them from here.
const (
	DefaultPort       = check.DefaultPort
	DefaultRoundTrips = 3
	DefaultSettle     = "60s"
)

// DefaultFamilies are the families of Nodes' addresses.
func DefaultFamilies() []string { return []string{"ipv4"} }

// DefaultPaths are the words for all paths, in the order in which they are tried.
func DefaultPaths() []string {
	var all []string
	for _, kind := range topology.DefaultPaths() {
		all = append(all, PathWord(kind))
	}
	return all
}

// Bounds on what a configuration may cost.
const (
	MaxVCenters = 1000
	MaxLevels   = 100
	MaxNetworks = 1000
)

// Fields describes the YAML format, from which the INI format follows.
func (s *File) Fields() []Field {
	return []Field{
		{Name: "global", Into: Group{Fields: s.Global.Fields(true), Unsure: &s.Global.Unsure},
			Doc: "what holds for each vCenter that does not set it itself"},
		{Name: "vcenter", Into: Entries{s},
			Doc: "one entry for each vCenter; the key is its name in messages, logs and Events"},
		{Name: "labels", Into: Group{Fields: s.labels()},
			Doc: "where region and zone come from"},
		{Name: "topology", Into: Group{Fields: s.Topology.fields()},
			Doc: "which tag decides, further labels, and what becomes of labels later; not in the CPI"},
		{Name: "nodes", Into: Group{Fields: s.Nodes.Fields()},
			Doc: "which Nodes vzones manages, and which addresses they get"},
		{Name: "loadBalancer", Into: Refused{Why: noNSXT}},
		{Name: "loadBalancerClass", Into: Refused{Why: noNSXT}},
		{Name: "route", Into: Refused{Why: noNSXT}},
		{Name: "nsxt", Into: Refused{Why: noNSXT}},
	}
}

// Fields describes the global section or an entry, which have most keys in common.
func (s *Section) Fields(global bool) []Field {
	both := []Field{
		{Name: "user", Into: &s.User, Inherited: true, Variable: VariableUser, CSI: true,
			Doc: "The user name. See [credentials](#credentials)."},
		{Name: "password", Into: &s.Password, Inherited: true, Variable: VariablePassword, CSI: true,
			Doc: "The password, taken as it is written: digits need no quotes."},
		{Name: "server", Into: &s.Server, Variable: "VSPHERE_VCENTER", CSI: true,
			Doc: "The address: an IP address or a host name, without a port or a scheme. In an entry it may be left out if the entry's name, which has at most 253 bytes, is an IP address or a full host name. A host name with a `_` is taken with a [warning](#warnings). In `global` it is one more vCenter, named by its address, unless an entry has that name or address."},
		{Name: "port", Into: &s.Port, Inherited: true, Variable: "VSPHERE_VCENTER_PORT", Default: DefaultPort, Limits: Limits{"port", 1, 65535}, CSI: true,
			Doc: "The HTTPS port, 1 to 65535."},
		{Name: "insecureFlag", Into: &s.Insecure, Inherited: true, Variable: "VSPHERE_INSECURE", Default: false, CSI: true,
			Doc: "`true` switches off the verification of the vCenter's certificate, with a [warning](#warnings), but never that of a [session manager's](../how-to/credentials.md#with-a-shared-session-manager). `false` in an entry overrides `true` in `global`, with a warning too, since the CPI [reads that otherwise](compared-with-the-cpi.md#configuration)."},
		{Name: "datacenters", Into: &s.Datacenters, Inherited: true, Variable: "VSPHERE_DATACENTER", CSI: true, Unset: "all",
			Doc: "[Which datacenters](#datacenters) are looked at: names, inventory paths, patterns of either, or managed object references. Machines elsewhere never belong to a Node. An element may hold several between commas."},
		{Name: "soapRoundtripCount", Into: &s.RoundTrips, Inherited: true, Variable: "VSPHERE_ROUNDTRIP_COUNT", Default: DefaultRoundTrips, Limits: Limits{"count", 1, math.MaxInt32},
			Doc: "How often a SOAP call is tried that the network broke, at least 1. A login is not repeated."},
		{Name: "caFile", Into: &s.CAFile, Inherited: true, Variable: "VSPHERE_CAFILE", CSI: true,
			Doc: "The path of a PEM file, or of several with `:` between them. The certificates in all of them verify the server, instead of the system's. A relative path begins at the working directory; one that has a `:` itself cannot be written. Each file is watched, and read again when it changes."},
		{Name: "caData", Into: &s.CAData, Inherited: true, YAMLOnly: true,
			Doc: "The same certificates themselves, as PEM, in place of `caFile`. An entry's `caFile` or `caData` overrides either of `global`; `system` stands for the system's certificates, where `global` has others."},
		{Name: "thumbprint", Into: &s.Thumbprint, Inherited: true, Variable: "VSPHERE_THUMBPRINT", CSI: true,
			Doc: "The SHA-1 or SHA-256 fingerprint of the server's certificate, with colons or without. A certificate of the vCenter with that fingerprint is accepted. Any other is verified as without this key. `none` in an entry keeps that of `global` away."},
		{Name: "secretName", Into: &s.SecretName, Variable: "VSPHERE_SECRET_NAME", CSI: true,
			Doc: "The name of a Secret with the credentials. It needs `secretNamespace` in the same place."},
		{Name: "secretNamespace", Into: &s.SecretNamespace, Variable: "VSPHERE_SECRET_NAMESPACE", CSI: true,
			Doc: "The namespace of that Secret. It needs `secretName` in the same place."},
		{Name: "ipFamily", Into: &s.IPFamilies, Inherited: true, Variable: "VSPHERE_IP_FAMILY", Default: DefaultFamilies(),
			Doc: "`ipv4`, `ipv6` or both. A Node gets addresses of each family, in this order. One without any keeps the Node waiting."},
		{Name: "index", Into: Ignored(noIndex), YAMLOnly: true, Doc: "No effect: all machines of the datacenters are watched."},
	}
	if global {
		return append(both, []Field{
			{Name: "secretsDirectory", Into: &s.SecretsDirectory, Variable: "VSPHERE_SECRETS_DIRECTORY", CSI: true,
				Doc: "The absolute path of a directory with credentials. It need not be there. See [credentials](#credentials)."},
			{Name: "apiDisable", Into: Ignored(noAPI), Variable: "VSPHERE_API_DISABLE", Doc: "No effect: vzones does not serve the CPI's API."},
			{Name: "apiBinding", Into: Ignored(noAPI), Variable: "VSPHERE_API_BINDING", Doc: "No effect, likewise."},
		}...)
	}
	return append(both, []Field{
		{Name: "tenantref", Into: Ignored(internalKey), Doc: "No effect: OpenShift's installer writes it, empty."},
		{Name: "secretref", Into: Ignored(internalKey), Doc: "No effect, likewise."},
	}...)
}

func (s *File) labels() []Field {
	return []Field{
		{Name: "region", Into: &s.Region, Variable: "VSPHERE_LABEL_REGION",
			Doc: "What gives the label `topology.kubernetes.io/region`: the name of a tag category, or [a rule](#keys-of-a-rule)."},
		{Name: "zone", Into: &s.Zone, Variable: "VSPHERE_LABEL_ZONE",
			Doc: "What gives the label `topology.kubernetes.io/zone`, likewise."},
	}
}

func (p *Placement) fields() []Field {
	return []Field{
		{Name: "precedence", Into: &p.Precedence, Default: string(topology.PrecedenceCSI), Words: words(topology.PrecedenceCSI, topology.PrecedenceNearest),
			Doc: "Which of several tags of one category gives region and zone: `csi` or `nearest`. See [Placement](placement.md#which-tag)."},
		{Name: "paths", Into: &p.Paths, Default: DefaultPaths(), Words: DefaultPaths(),
			Doc: "The paths on which tags are looked for, in this order."},
		{Name: "levels", Into: Elements{p}, CSI: true,
			Doc: "Rules of further labels, for racks or hosts for example."},
		{Name: "backfill", Into: &p.Backfill, Default: true,
			Doc: "Whether a Node that is initialized gets labels that it lacks."},
		{Name: "drift", Into: &p.Drift, Default: string(config.DriftReport), Words: words(config.DriftReport, config.DriftTaint, config.DriftUpdate),
			Doc: "What is done about a label that is no longer right: `report`, `taint` or `update`. An instance type that is not right never taints."},
		{Name: "settle", Into: &p.Settle, Default: DefaultSettle,
			Doc: "How long a label has to be wrong before that is done, from `0s` to `24h`. A number with its unit: `s`, `m` or `h`."},
	}
}

// Fields describes a further level: a rule with a label.
func (l *Level) Fields() []Field {
	return slices.Concat([]Field{
		{Name: "label", Into: &l.Label,
			Doc: "The key of the Node label. Each label is given once."},
	}, l.Rule.Fields(), []Field{
		{Name: "nested", Into: &l.Nested, Unset: "`true`, but `false` for `inventory` with `vcenter`, `datacenter`, `cluster`, `resourcePool` or `folder`",
			Doc: "Whether each value lies in one value of the nested levels before it, of the zone and of the region. A value that does not is [reported](placement.md#levels-nest)."},
	})
}

// Fields describes a rule that is a mapping.
func (r *Rule) Fields() []Field {
	return []Field{
		{Name: "tag", Into: &r.Tag,
			Doc: "The tag category whose tags become the label."},
		{Name: "inventory", Into: &r.Inventory, Words: words(topology.Inventories()...),
			Doc: "The part of the inventory whose name becomes the label: `vcenter`, `datacenter`, `cluster`, `host`, `resourcePool`, `folder` or `vsanFaultDomain`. See [Placement](placement.md#sources)."},
		{Name: "value", Into: &r.Value, Unset: "what the source gives",
			Doc: "How the label's value is [composed](#composed-values) of several sources, such as `\"{region}-{zone}\"`."},
		{Name: "hostGroup", Into: &r.HostGroup,
			Doc: "The DRS host group whose name becomes the label: the one of this name that the machine's host is in. A `*` stands for any text, as in `site-*`, and letter case counts. See [Placement](placement.md#drs-host-groups)."},
		{Name: "required", Into: &r.Required, Unset: "`true` for region and zone, `false` for levels",
			Doc: "Whether a Node without a value waits. If not, the label is left out."},
	}
}

// Fields describes the nodes section.
func (n *Nodes) Fields() []Field {
	return []Field{
		{Name: "internalNetworkSubnetCidr", Into: &n.InternalSubnets, Variable: "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR",
			Doc: "CIDRs between commas. The first with an address gives the internal IP."},
		{Name: "externalNetworkSubnetCidr", Into: &n.ExternalSubnets, Variable: "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR",
			Doc: "The same for the external IP."},
		{Name: "internalVmNetworkName", Into: &n.InternalNetwork, Variable: "VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME",
			Doc: "The network or port group with the internal IP, where no subnet matches. Letter case does not count."},
		{Name: "externalVmNetworkName", Into: &n.ExternalNetwork, Variable: "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME",
			Doc: "The same for the external IP."},
		{Name: "excludeInternalNetworkSubnetCidr", Into: &n.ExcludeInternalSubnets,
			Doc: "CIDRs between commas. An address in one of them is not the internal IP."},
		{Name: "excludeExternalNetworkSubnetCidr", Into: &n.ExcludeExternalSubnets,
			Doc: "The same for the external IP."},
		{Name: "networks", Into: &n.Networks, YAMLOnly: true, Unset: "all",
			Doc: "Names of networks or port groups. Network interfaces elsewhere do not count at all. A `*` stands for any text, and letter case does not count."},
		{Name: "excludeNetworks", Into: &n.ExcludeNetworks, YAMLOnly: true, Unset: "none",
			Doc: "The same for networks whose interfaces do not count, even if `networks` has them."},
		{Name: "selector", Into: &n.Selector, YAMLOnly: true, Unset: "all Nodes",
			Doc: "A label selector as for `kubectl get nodes -l`, such as `vsphere=true,!metal`: the Nodes that vzones manages."},
		{Name: "labels", Into: &n.Labels, YAMLOnly: true, Unset: "none",
			Doc: "Labels for each Node, set when it is initialized. A value is taken as it is written, and may be empty. [Reserved](#reserved-prefixes) ones, region, zone and those of levels are refused."},
		{Name: "skipDeletion", Into: &n.SkipDeletion, Variable: variableSkipDeletion, Ours: true, Default: false,
			Doc: "Whether a Node stays whose machine is gone for certain."},
		{Name: "matchByName", Into: &n.MatchByName, YAMLOnly: true, Default: true,
			Doc: "Whether the machine of a Node without a usable system UUID and without a provider ID is looked for [by the Node's name](node.md#which-machine). Set it to `false` where others than the cluster's own people have machines in a vCenter: one that they name so, or whose guest calls itself so, gives the Node its zone, addresses and provider ID, for good. [`vzones check`](findings.md#vz162) names the Nodes."},
	}
}

// Add makes room for the entry of a name and returns its fields, with what a neighbor's file
// has besides.
func (e Entries) Add(name string, at problem.Position) []Field {
	entry := &Section{Name: name, At: at}
	e.VCenters = append(e.VCenters, entry)
	fields := entry.Fields(false)
	return slices.Concat(fields, spellings(fields), entry.neighborKeys(false))
}

// Add makes room for a level and returns its fields.
func (e Elements) Add(at problem.Position) []Field {
	l := &Level{Rule: Rule{At: at}}
	e.Levels = append(e.Levels, l)
	return l.Fields()
}

// words are values of a type for words.
func words[T ~string](values ...T) []string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// PathKinds returns the paths by the words for them.
func PathKinds() map[string]topology.PathKind {
	return map[string]topology.PathKind{
		"compute": topology.ComputePath, "resourcePool": topology.PoolPath, "folder": topology.FolderPath,
	}
}

// PathWord returns the word for a path.
func PathWord(kind topology.PathKind) string {
	for word, k := range PathKinds() {
		if k == kind {
			return word
		}
	}
	panic(fmt.Sprintf("config: no word for the path %v", kind))
}

// The variables that are more than a key's value.
const (
	VariableUser     = "VSPHERE_USER"
	VariablePassword = "VSPHERE_PASSWORD"
	// variableSkipDeletion sets its key to true by being there, whatever its value.
	variableSkipDeletion = "SKIP_NODE_DELETION"
)

// Take reads a rule: text is the name of a tag category, as in the CPI.
func (r *Rule) Take(from Source) {
	m, ok := from.(Mapping)
	if !ok {
		*r = Rule{At: from.Place(), Tag: from.Text(), Short: true}
		return
	}
	r.At = from.Place()
	if !m.Fields(r.Fields()) {
		r.Short, r.Tag = true, from.Text()
	}
}

func (r *Rule) misspelled(problem.Position) { r.Bad = true }
