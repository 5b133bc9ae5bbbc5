package schema

import (
	"slices"

	"vzones/config/internal/problem"
)

// Named is a section with a name in its header, of which there can be several.
// Such is a name to show; unnamed is what to say of a name that is none. The
// function makes room for the section of a name, once, and returns its fields and
// what to set if it holds more than could be read.
type Named struct {
	Such, Unnamed string
	Add           func(name string, at problem.Position) (fields []Field, unsure *bool)
}

const OnlyYAML = "only the YAML format has this: write the file in that format"

// onlyInYAML are keys of the schema that are newer than the INI format.
var onlyInYAML = []string{"caData", "networks", "excludeNetworks", "selector", "labels", "index", "matchByName"}

// Sections are the sections of the INI format: those of the schema, and those
// that the in-tree provider and the CSI driver have besides.
func (s *File) Sections() []Field {
	group := func(name string) Group {
		fields := s.Fields()
		return fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })].Into.(Group)
	}
	global, labels, nodes := group("global"), group("labels"), group("nodes")
	older := Field{"datacenter", OlderName{list: &s.Global.Datacenters, Name: "datacenters"}}
	global.Fields = append(append(dashed(global.Fields), s.Global.foreign(true)...), older)
	labels.Fields = append(dashed(labels.Fields), Field{"topology-categories", &s.Categories})
	nodes.Fields = dashed(nodes.Fields)
	return []Field{
		{"Global", global},
		{"VirtualCenter", Named{Such: "vc.example.com", Unnamed: NoName, Add: s.VirtualCenter}},
		{"Labels", labels},
		{"TopologyCategory", Named{Such: "k8s-zone", Add: s.category}},
		{"Nodes", nodes},
		{"Workspace", Ignored(ForVolumes)},
		{"Disk", Ignored(ForVolumes)},
		{"Network", Ignored(inTree)},
		{"NetPermissions", Ignored(ForVolumes)},
		{"NetPermission", Ignored(ForVolumes)},
		{"Snapshot", Ignored(ForVolumes)},
		{"FeatureStates", Ignored(ForDriver)},
		{"GC", Ignored(ForDriver)},
		{"LoadBalancer", Refused{Why: noNSXT}},
		{"LoadBalancerClass", Refused{Why: noNSXT}},
		{"Route", Refused{Why: noNSXT}},
		{"NSXT", Refused{Why: noNSXT}},
		{"NSX-T", Refused{Why: noNSXT}},
	}
}

// dashed names fields as the INI format does: insecureFlag is insecure-flag.
func dashed(fields []Field) []Field {
	var all []Field
	for _, f := range fields {
		into := f.Into
		if slices.Contains(onlyInYAML, f.Name) {
			into = Refused{Why: OnlyYAML}
		}
		all = append(all, Field{problem.Dash(f.Name), into})
	}
	return all
}

func (s *File) VirtualCenter(name string, at problem.Position) ([]Field, *bool) {
	i := slices.IndexFunc(s.VCenters, func(e *Section) bool { return e.Name == name })
	if i < 0 {
		s.entry(name, at)
		i = len(s.VCenters) - 1
	}
	entry := s.VCenters[i]
	return append(dashed(entry.Fields(false)), entry.foreign(false)...), &entry.Unsure
}

func (s *File) category(name string, at problem.Position) ([]Field, *bool) {
	i := slices.IndexFunc(s.CategoryLabels, func(c *categoryLabel) bool { return c.Name == name })
	if i < 0 {
		s.CategoryLabels = append(s.CategoryLabels, &categoryLabel{Name: name, At: at})
		i = len(s.CategoryLabels) - 1
	}
	return []Field{{"label", &s.CategoryLabels[i].Label}}, nil
}
