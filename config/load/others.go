package load

import (
	"slices"
	"strings"

	"vzones/config"
)

// use is what a key is good for.
type use int

const (
	own         use = iota
	noEffect        // accepted, with a warning
	unsupported     // refused unless it is empty
)

// A key is what may stand in a mapping.
type key struct {
	name  string
	use   use
	field *config.Field // nil unless the key is our own
	why   string        // the reason that it has no effect, or is refused
}

// Why a key of a neighbor has no effect.
const (
	forVolumes   = "has no effect: it is about volumes, which are the CSI driver's"
	forDriver    = "has no effect: it is the CSI driver's"
	forCPI       = "has no effect: it is the vSphere CPI's"
	inTree       = "has no effect: it is the in-tree provider's"
	noSwitch     = "has no effect: several IP families need no switch"
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
	onlyYAML     = "only the YAML format has this: write the file in that format"
	ofSession    = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address with .NAME behind it"
	ofINI = "has no effect, as in the vSphere CPI: it is the INI format's spelling of NAME: write NAME"
)

// The token of a session manager is a secret.
const (
	sessionURL   = "vc-session-manager-url"
	sessionToken = "vc-session-manager-token"
)

// others are the keys that a neighbor's file has and ours has not: of the CSI driver, in several of
// its releases, of the in-tree provider, and of the CPI's INI format. None of them refuses a file. They
// are those of the structs that the three read with gcfg:
// kubernetes-sigs/vsphere-csi-driver v3.7.0 pkg/common/config/types.go (a session manager's, which 3.6
// has, are in docs/book/vc_shared_sessions.md, on master since pull request 4031), kubernetes/kubernetes
// staging/src/k8s.io/legacy-cloud-providers/vsphere/vsphere.go, and
// kubernetes/cloud-provider-vsphere v1.36.0 pkg/common/config/types_ini_legacy.go.
var others = []struct {
	in   config.Section
	why  string // with NAME for the key
	keys string
}{
	{config.SectionGlobal, forDriver, "cluster-id supervisor-id cluster-distribution cnsregistervolumes-cleanup-intervalinmin " +
		"cnspvcprotection-cleanup-intervalinmin cnsvolumeoperationrequest-cleanup-intervalinmin volumemigration-cr-cleanup-intervalinmin " +
		"vc-client-timeout csi-auth-check-intervalinmin csi-fetch-preferred-datastores-intervalinmin query-limit list-volume-threshold vcenterip"},
	{config.SectionGlobal, ofSession, sessionURL + " " + sessionToken},
	{config.SectionGlobal, inTree, "working-dir vm-uuid vm-name secret-not-managed datacenter"},
	{config.SectionGlobal, forVolumes, "datastore default-datastore"},
	{config.SectionGlobal, forCPI, "service-account"},
	{config.SectionEntry, forVolumes, "targetvSANFileShareDatastoreURLs targetvSANFileShareClusters migration-datastore-url default-datastore"},
	{config.SectionEntry, forDriver, "filevolumeactivated"},
	{config.SectionEntry, ofSession, sessionURL + " " + sessionToken},
	{config.SectionEntry, config.SetByCPI, "ipfamilypriority"},
}

// sectionCategory is a [TopologyCategory "NAME"] of the INI format.
const sectionCategory config.Section = -1

// categories and categoryLabel are the CSI driver's way to say where labels come from, which the INI
// format alone has: topology-categories in [Labels], and label in [TopologyCategory "NAME"].
var (
	categories    = config.Field{Key: "topology-categories", Kind: config.KindNames}
	categoryLabel = config.Field{Key: "label", Kind: config.KindText}
)

// iniSections are the sections of the INI format. Those with a field are the sections of the YAML format.
var iniSections = func() []key {
	field := func(name string) *config.Field { return config.FieldOf(config.SectionRoot, name) }
	all := []key{
		{name: "Global", field: field("global")},
		{name: "VirtualCenter", field: field("vcenter")},
		{name: "Labels", field: field("labels")},
		{name: "TopologyCategory", field: &config.Field{Key: "TopologyCategory", Kind: config.KindEntries, Of: sectionCategory}},
		{name: "Nodes", field: field("nodes")},
	}
	for _, o := range []struct{ why, names string }{
		{forVolumes, "Workspace Disk"}, {inTree, "Network"}, {forVolumes, "NetPermissions NetPermission Snapshot"}, {forDriver, "FeatureStates GC"},
	} {
		for name := range strings.FieldsSeq(o.names) {
			all = append(all, key{name: name, use: noEffect, why: o.why})
		}
	}
	for name := range strings.FieldsSeq("LoadBalancer LoadBalancerClass Route NSXT NSX-T") {
		all = append(all, key{name: name, use: unsupported, why: field("nsxt").Unsupported})
	}
	return all
}()

// keysOf returns the keys of a section in a format: those of the table, in YAML their spelling in the INI
// format, which the chart of the CPI writes there for caFile, and those of neighbors.
func keysOf(s config.Section, d *Dialect) []key {
	if d == &INI && s == config.SectionRoot {
		return append(slices.Clone(iniSections), key{name: "Topology", use: unsupported, why: onlyYAML})
	}
	var all, spelt []key
	for _, f := range config.FieldsOf(s) {
		k, dashed := key{name: f.Key, field: f}, Dash(f.Key)
		switch {
		case d == &INI && f.YAMLOnly:
			k.use, k.why = unsupported, onlyYAML
		case f.Unsupported != "":
			k.use, k.why = unsupported, f.Unsupported
		case f.NoEffect != "":
			k.use, k.why = noEffect, f.NoEffect
		}
		if d == &INI {
			k.name = dashed
		} else if dashed != f.Key && !f.YAMLOnly && !f.Ours && s != config.SectionRoot && s != config.SectionLevel && s != config.SectionRule {
			spelt = append(spelt, key{name: dashed, use: noEffect, why: strings.ReplaceAll(ofINI, "NAME", f.Key)})
		}
		all = append(all, k)
	}
	all = append(all, spelt...)
	for _, o := range others {
		if o.in == s {
			for name := range strings.FieldsSeq(o.keys) {
				all = append(all, key{name: name, use: noEffect, why: strings.ReplaceAll(o.why, "NAME", name)})
			}
		}
	}
	switch {
	case s == sectionCategory:
		all = append(all, key{name: categoryLabel.Key, field: &categoryLabel})
	case d == &INI && s == config.SectionLabels:
		all = append(all, key{name: categories.Key, field: &categories})
	case d == &YAML && s == config.SectionLabels:
		all = append(all, key{name: categories.Key, use: noEffect, why: noCategories})
	case d == &YAML && s == config.SectionRoot:
		for _, k := range append(slices.Clone(iniSections), key{name: "TopologyCategory", use: noEffect, why: noCategories}) {
			if k.use == noEffect {
				lower := k
				lower.name = strings.ToLower(k.name)
				all = append(all, k, lower)
			}
		}
	}
	return all
}
