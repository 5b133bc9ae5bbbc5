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
	alias           // another spelling of a key, which counts as that
	older           // the older name of a list, which counts where the newer one is not written
	noEffect        // accepted, with a warning
	session         // a session manager's, accepted likewise
	unsupported     // refused unless it is empty
)

// A key is what may stand in a mapping.
type key struct {
	name  string
	use   use
	field *config.Field // whose value it is, if any's
	why   string        // it has no effect, or is refused
}

// Why a key of a neighbor has no effect.
const (
	forVolumes   = "has no effect: it is about volumes, which are the CSI driver's"
	forDriver    = "has no effect: it is the CSI driver's"
	forCPI       = "has no effect: it is the vSphere CPI's"
	inTree       = "has no effect: it is the in-tree provider's"
	cpiSets      = "has no effect: the vSphere CPI sets it"
	noSwitch     = "has no effect: several IP families need no switch"
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
	onlyYAML     = "only the YAML format has this: write the file in that format"
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
	use  use
	why  string // of an alias and an older name the key that is meant
	keys string
}{
	{config.SectionGlobal, noEffect, forDriver, "cluster-id supervisor-id cluster-distribution cnsregistervolumes-cleanup-intervalinmin " +
		"cnspvcprotection-cleanup-intervalinmin cnsvolumeoperationrequest-cleanup-intervalinmin volumemigration-cr-cleanup-intervalinmin " +
		"vc-client-timeout csi-auth-check-intervalinmin csi-fetch-preferred-datastores-intervalinmin query-limit list-volume-threshold"},
	{config.SectionGlobal, session, "", sessionURL + " " + sessionToken},
	{config.SectionGlobal, alias, "server", "vcenterip"},
	{config.SectionGlobal, noEffect, inTree, "working-dir vm-uuid vm-name secret-not-managed"},
	{config.SectionGlobal, noEffect, forVolumes, "datastore default-datastore"},
	{config.SectionGlobal, noEffect, forCPI, "service-account"},
	{config.SectionGlobal, older, "datacenters", "datacenter"},
	{config.SectionEntry, noEffect, forVolumes, "targetvSANFileShareDatastoreURLs targetvSANFileShareClusters migration-datastore-url"},
	{config.SectionEntry, noEffect, forDriver, "filevolumeactivated"},
	{config.SectionEntry, session, "", sessionURL + " " + sessionToken},
	{config.SectionEntry, noEffect, forVolumes, "default-datastore"},
	{config.SectionEntry, noEffect, cpiSets, "ipfamilypriority"},
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

// keysOf returns the keys of a section in a format: those of the table, in YAML their spelling in
// the INI format too, which the chart of the CPI writes there for caFile, and those of neighbors.
func keysOf(s config.Section, d *Dialect) []key {
	var all, spelt []key
	for _, f := range config.FieldsOf(s) {
		k := key{name: f.Key, field: f, why: f.NoEffect}
		if f.NoEffect != "" {
			k.use = noEffect
		}
		if f.Unsupported != "" {
			k.use, k.why = unsupported, f.Unsupported
		}
		dashed := k
		switch dashed.name = Dash(f.Key); {
		case d == &INI && f.YAMLOnly:
			k = key{name: dashed.name, use: unsupported, why: onlyYAML}
		case d == &INI:
			k = dashed
		case dashed.name != k.name && !f.YAMLOnly && !f.Ours && s != config.SectionRoot && s != config.SectionLevel && s != config.SectionRule:
			if dashed.use == own {
				dashed.use = alias
			}
			spelt = append(spelt, dashed)
		}
		all = append(all, k)
	}
	all = append(all, spelt...)
	for _, o := range others {
		if o.in != s {
			continue
		}
		for name := range strings.FieldsSeq(o.keys) {
			k := key{name: name, use: o.use, why: o.why}
			switch o.use {
			case alias, older:
				k.field = config.FieldOf(s, o.why)
			case session:
				k.why = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
					"write it there, under the server's address with ." + name + " behind it"
			}
			all = append(all, k)
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
