package config

import (
	"slices"
	"strings"
)

// What the file of a neighbor has and this schema has not: of the CSI driver, of the
// in-tree provider, and the INI format's spelling in a file in the YAML format. None of
// it refuses a file. The keys are those of the structs that the three read with gcfg:
// kubernetes-sigs/vsphere-csi-driver v3.7.0 pkg/common/config/types.go, and of other
// releases (a session manager's, which 3.6 has and 3.7.0 has not, are in
// docs/book/vc_shared_sessions.md, on master since pull request 4031), all of them in
// csiGlobalKeys and csiVCenterKeys, kubernetes/kubernetes
// staging/src/k8s.io/legacy-cloud-providers/vsphere/vsphere.go, and
// kubernetes/cloud-provider-vsphere v1.36.0 pkg/common/config/types_ini_legacy.go.

type (
	// spelling is a key that stands for another one, key, and counts as that, in the
	// YAML format with a warning.
	spelling struct {
		key  string
		into any
	}
	// instead is the older name of a list. Told says that it is a warning.
	instead struct {
		list *list
		name string
		told bool
	}
)

const (
	forVolumes = "has no effect: it is about volumes, which are the CSI driver's"
	forDriver  = "has no effect: it is the CSI driver's"
	forCPI     = "has no effect: it is the vSphere CPI's"
	inTree     = "has no effect: it is the in-tree provider's"
	noSession  = "has no effect: vzones reads a session manager's address and token from a Secret or a directory: " +
		"write it there, under the server's address with ."
	noCategories = "has no effect in the YAML format: write region and zone, and further categories under topology.levels"
)

// foreign are the keys of the global section, or of an entry, that only a neighbor has.
func (s *section) foreign(global bool) []field {
	if !global {
		return slices.Concat(s.ofCSI(csiVCenterKeys),
			withoutEffect(forVolumes, "default-datastore"),
			withoutEffect(internalKey, "ipfamilypriority"),
		)
	}
	return slices.Concat(s.ofCSI(csiGlobalKeys),
		[]field{{"vcenterip", spelling{key: "server", into: &s.server}}},
		withoutEffect(inTree, "working-dir", "vm-uuid", "vm-name", "secret-not-managed"),
		withoutEffect(forVolumes, "datastore", "default-datastore"),
		withoutEffect(forCPI, "service-account"),
	)
}

func withoutEffect(why string, keys ...string) []field {
	var fields []field
	for _, key := range keys {
		fields = append(fields, field{key, ignored(why)})
	}
	return fields
}

// inYAML are the fields of the schema with what a neighbor's file has besides.
func (s *schema) inYAML() []field {
	fields := s.fields()
	for i, f := range fields {
		switch into := f.into.(type) {
		case group:
			into.fields = append(into.fields, spellings(into.fields)...)
			switch f.name {
			case "global":
				older := field{"datacenter", instead{&s.global.datacenters, "datacenters", true}}
				into.fields = append(append(into.fields, s.global.foreign(true)...), older)
			case "labels":
				into.fields = append(into.fields, withoutEffect(noCategories, "topology-categories")...)
			}
			fields[i].into = into
		case entries:
			add := into.add
			into.add = func(name string, at position) []field {
				fields := add(name, at)
				entry := s.vcenters[len(s.vcenters)-1]
				return slices.Concat(fields, spellings(fields), entry.foreign(false))
			}
			fields[i].into = into
		}
	}
	for _, f := range s.sections() {
		if why, ok := f.into.(ignored); ok {
			fields = append(fields, withoutEffect(string(why), f.name, strings.ToLower(f.name))...)
		}
	}
	return append(fields, withoutEffect(noCategories, "TopologyCategory", "topologycategory")...)
}

// spellings are the keys of fields as the CPI's INI format has them. The chart of the CPI
// writes ca-file into a file in the YAML format, where the CPI ignores it.
func spellings(fields []field) []field {
	var all []field
	for _, f := range fields {
		key := dash(f.name)
		if key == f.name || slices.Contains(onlyInYAML, f.name) || slices.Contains(notCPIs, f.name) {
			continue
		}
		switch f.into.(type) {
		case ignored:
			all = append(all, field{key, f.into})
		default:
			all = append(all, field{key, spelling{f.name, f.into}})
		}
	}
	return all
}

// notCPIs are keys that the INI format has here and not in the CPI.
var notCPIs = []string{"skipDeletion"}

// stands returns the key of fields that a key stands for: itself, mostly.
func stands(fields []field, key string) string {
	for _, f := range fields {
		if f.name == key {
			if s, ok := f.into.(spelling); ok {
				return s.key
			}
		}
	}
	return key
}

// newerFirst orders keys so that the older name of one stands behind it: the newer
// counts, wherever the older stands.
func newerFirst(fields []field, a, b string) int {
	older := func(key string) int {
		for _, f := range fields {
			if _, ok := f.into.(instead); ok && strings.EqualFold(f.name, key) {
				return 1
			}
		}
		return 0
	}
	return older(a) - older(b)
}

// instead takes the older name of a key where the newer is not written, as the
// in-tree provider does.
func (p *problems) instead(t text, into instead) {
	switch {
	case into.list.set:
		p.warnf(t.at, "has no effect beside %s", into.name)
		return
	case into.told && t.usable():
		p.warnf(t.at, "is the in-tree provider's name of %s and counts as that, but the vSphere CPI ignores it: write %s", into.name, into.name)
	}
	*into.list = split(t)
	for i := range into.list.v {
		into.list.v[i].mute = t.mute
	}
}
