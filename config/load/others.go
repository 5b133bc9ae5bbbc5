package load

import (
	"cmp"
	"strings"

	"vzones/config"
)

// use tells how a key is treated.
type use int

const (
	own         use = iota
	noEffect        // accepted, with a warning
	unsupported     // refused unless it is empty
)

// A key is a name that may stand in a mapping.
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
	of   *Dialect // nil for both formats
	why  string   // with NAME for the key
	keys string
}{
	{config.SectionRoot, nil, forVolumes, "Workspace Disk NetPermissions NetPermission Snapshot"},
	{config.SectionRoot, nil, inTree, "Network"},
	{config.SectionRoot, nil, forDriver, "FeatureStates GC"},
	{config.SectionRoot, &YAML, forVolumes, "workspace disk netpermissions netpermission snapshot"},
	{config.SectionRoot, &YAML, inTree, "network"},
	{config.SectionRoot, &YAML, forDriver, "featurestates gc"},
	{config.SectionRoot, &YAML, noCategories, "TopologyCategory topologycategory"},
	{config.SectionGlobal, nil, forDriver, "cluster-id supervisor-id cluster-distribution cnsregistervolumes-cleanup-intervalinmin " +
		"cnspvcprotection-cleanup-intervalinmin cnsvolumeoperationrequest-cleanup-intervalinmin volumemigration-cr-cleanup-intervalinmin " +
		"vc-client-timeout csi-auth-check-intervalinmin csi-fetch-preferred-datastores-intervalinmin query-limit list-volume-threshold"},
	{config.SectionGlobal, nil, forDriver + ": write server instead", "vcenterip"},
	{config.SectionGlobal, nil, ofSession, sessionURL + " " + sessionToken},
	{config.SectionGlobal, nil, inTree, "working-dir vm-uuid vm-name secret-not-managed"},
	{config.SectionGlobal, nil, inTree + ", and all datacenters count: write datacenters instead", "datacenter"},
	{config.SectionGlobal, nil, forVolumes, "datastore default-datastore"},
	{config.SectionGlobal, nil, forCPI, "service-account"},
	{config.SectionEntry, nil, forVolumes, "targetvSANFileShareDatastoreURLs targetvSANFileShareClusters migration-datastore-url default-datastore"},
	{config.SectionEntry, nil, forDriver, "filevolumeactivated"},
	{config.SectionEntry, nil, ofSession, sessionURL + " " + sessionToken},
	{config.SectionEntry, nil, config.SetByCPI, "ipfamilypriority"},
	{config.SectionLabels, &YAML, noCategories, categories},
}

// sectionCategory is a [TopologyCategory "NAME"] of the INI format.
const sectionCategory config.Section = -1

// categories is the key with the CSI driver's tag categories.
const categories = "topology-categories"

// iniFields are the CSI driver's way to say where labels come from, which the INI format alone has.
var iniFields = []config.Field{
	{In: config.SectionRoot, Key: "TopologyCategory", Kind: config.KindEntries, Of: sectionCategory},
	{In: config.SectionLabels, Key: categories, Kind: config.KindNames},
	{In: sectionCategory, Key: "label", Kind: config.KindText},
}

// keysOf returns the keys of a section in a format: those of the table, in YAML their spelling in the INI
// format, which the chart of the CPI writes there for caFile, and those of neighbors.
func keysOf(s config.Section, d *Dialect) []key {
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
		switch {
		case d == &INI:
			k.name = cmp.Or(f.INISection, dashed)
		case dashed != f.Key && !f.YAMLOnly && !f.Ours && s != config.SectionRoot && s != config.SectionLevel && s != config.SectionRule:
			spelt = append(spelt, key{name: dashed, use: noEffect, why: strings.ReplaceAll(ofINI, "NAME", f.Key)})
		}
		all = append(all, k)
	}
	all = append(all, spelt...)
	for i := range iniFields {
		if f := &iniFields[i]; f.In == s && d == &INI {
			all = append(all, key{name: f.Key, field: f})
		}
	}
	for _, o := range others {
		if o.in == s && (o.of == nil || o.of == d) {
			for name := range strings.FieldsSeq(o.keys) {
				all = append(all, key{name: name, use: noEffect, why: strings.ReplaceAll(o.why, "NAME", name)})
			}
		}
	}
	return all
}
