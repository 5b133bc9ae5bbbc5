package config

import (
	"slices"
	"strings"
	"unicode"
)

// named is a section with a name in its header, of which there can be several.
// Such is a name to show; unnamed is what to say of a name that is none. The
// function makes room for the section of a name, once, and returns its fields and
// what to set if it holds more than could be read.
type named struct {
	such, unnamed string
	add           func(name string, at position) (fields []field, unsure *bool)
}

const onlyYAML = "only the YAML format has this: write the file in that format"

// onlyInYAML are keys of the schema that are newer than the INI format.
var onlyInYAML = []string{"caData", "networks", "excludeNetworks", "selector", "labels", "index", "matchByName"}

// sections are the sections of the INI format: those of the schema, and those
// that the in-tree provider and the CSI driver have besides.
func (s *schema) sections() []field {
	group := func(name string) group {
		fields := s.fields()
		return fields[slices.IndexFunc(fields, func(f field) bool { return f.name == name })].into.(group)
	}
	global, labels, nodes := group("global"), group("labels"), group("nodes")
	older := field{"datacenter", instead{list: &s.global.datacenters, name: "datacenters"}}
	global.fields = append(append(dashed(global.fields), s.global.foreign(true)...), older)
	labels.fields = append(dashed(labels.fields), field{"topology-categories", &s.categories})
	nodes.fields = dashed(nodes.fields)
	return []field{
		{"Global", global},
		{"VirtualCenter", named{such: "vc.example.com", unnamed: noName, add: s.virtualCenter}},
		{"Labels", labels},
		{"TopologyCategory", named{such: "k8s-zone", add: s.category}},
		{"Nodes", nodes},
		{"Workspace", ignored(forVolumes)},
		{"Disk", ignored(forVolumes)},
		{"Network", ignored(inTree)},
		{"NetPermissions", ignored(forVolumes)},
		{"NetPermission", ignored(forVolumes)},
		{"Snapshot", ignored(forVolumes)},
		{"FeatureStates", ignored(forDriver)},
		{"GC", ignored(forDriver)},
		{"LoadBalancer", refused{why: noNSXT}},
		{"LoadBalancerClass", refused{why: noNSXT}},
		{"Route", refused{why: noNSXT}},
		{"NSXT", refused{why: noNSXT}},
		{"NSX-T", refused{why: noNSXT}},
	}
}

// dashed names fields as the INI format does: insecureFlag is insecure-flag.
func dashed(fields []field) []field {
	var all []field
	for _, f := range fields {
		into := f.into
		if slices.Contains(onlyInYAML, f.name) {
			into = refused{why: onlyYAML}
		}
		all = append(all, field{dash(f.name), into})
	}
	return all
}

func dash(key string) string {
	var b strings.Builder
	for _, c := range key {
		if unicode.IsUpper(c) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func (s *schema) virtualCenter(name string, at position) ([]field, *bool) {
	i := slices.IndexFunc(s.vcenters, func(e *section) bool { return e.name == name })
	if i < 0 {
		s.entry(name, at)
		i = len(s.vcenters) - 1
	}
	entry := s.vcenters[i]
	return append(dashed(entry.fields(false)), entry.foreign(false)...), &entry.unsure
}

func (s *schema) category(name string, at position) ([]field, *bool) {
	i := slices.IndexFunc(s.categoryLabels, func(c *categoryLabel) bool { return c.name == name })
	if i < 0 {
		s.categoryLabels = append(s.categoryLabels, &categoryLabel{name: name, at: at})
		i = len(s.categoryLabels) - 1
	}
	return []field{{"label", &s.categoryLabels[i].label}}, nil
}
