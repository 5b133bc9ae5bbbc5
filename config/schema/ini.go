package schema

import (
	"slices"

	"vzones/config/problem"
)

// Named is a section with a name in its header, of which there can be several.
// Such is a name to show; unnamed is what to say of a name that is none. The
// function makes room for the section of a name, once, and returns its fields and
// what to set if it holds more than could be read.
type Named struct {
	Such, Unnamed string
	Add           func(name string, at problem.Position) (fields []Field, unsure *bool)
}

// Take reads the section of a name.
func (n Named) Take(from Source) { from.(interface{ Named(Named) }).Named(n) }

// OnlyYAML is what to say of a key that the INI format does not have.
const OnlyYAML = "only the YAML format has this: write the file in that format"

// Sections are the sections of the INI format: those of the schema, and those
// that the in-tree provider and the CSI driver have besides.
func (s *File) Sections() []Field {
	group := func(name string) Group {
		fields := s.Fields()
		return fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })].Into.(Group)
	}
	global, labels, nodes := group("global"), group("labels"), group("nodes")
	older := Field{Name: "datacenter", Into: OlderName{list: &s.Global.Datacenters, Name: "datacenters"}}
	global.Fields = append(append(dashed(global.Fields), s.Global.neighborKeys(true)...), older)
	labels.Fields = append(dashed(labels.Fields), Field{Name: "topology-categories", Into: &s.Categories})
	nodes.Fields = dashed(nodes.Fields)
	return []Field{
		{Name: "Global", Into: global},
		{Name: "VirtualCenter", Into: Named{Such: "vc.example.com", Unnamed: NoName, Add: s.VirtualCenter}},
		{Name: "Labels", Into: labels},
		{Name: "TopologyCategory", Into: Named{Such: "k8s-zone", Add: s.category}},
		{Name: "Nodes", Into: nodes},
		{Name: "Workspace", Into: Ignored(ForVolumes)},
		{Name: "Disk", Into: Ignored(ForVolumes)},
		{Name: "Network", Into: Ignored(inTree)},
		{Name: "NetPermissions", Into: Ignored(ForVolumes)},
		{Name: "NetPermission", Into: Ignored(ForVolumes)},
		{Name: "Snapshot", Into: Ignored(ForVolumes)},
		{Name: "FeatureStates", Into: Ignored(ForDriver)},
		{Name: "GC", Into: Ignored(ForDriver)},
		{Name: "LoadBalancer", Into: Refused{Why: noNSXT}},
		{Name: "LoadBalancerClass", Into: Refused{Why: noNSXT}},
		{Name: "Route", Into: Refused{Why: noNSXT}},
		{Name: "NSXT", Into: Refused{Why: noNSXT}},
		{Name: "NSX-T", Into: Refused{Why: noNSXT}},
	}
}

// dashed names fields as the INI format does: insecureFlag is insecure-flag.
func dashed(fields []Field) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		if f.YAMLOnly {
			f.Into = Refused{Why: OnlyYAML}
		}
		f.Name = problem.Dash(f.Name)
	}
	return fields
}

// VirtualCenter makes room for the section of a vCenter.
func (s *File) VirtualCenter(name string, at problem.Position) ([]Field, *bool) {
	i := slices.IndexFunc(s.VCenters, func(e *Section) bool { return e.Name == name })
	if i < 0 {
		Entries{s}.Add(name, at)
		i = len(s.VCenters) - 1
	}
	entry := s.VCenters[i]
	return append(dashed(entry.Fields(false)), entry.neighborKeys(false)...), &entry.Unsure
}

func (s *File) category(name string, at problem.Position) ([]Field, *bool) {
	i := slices.IndexFunc(s.CategoryLabels, func(c *CategoryLabel) bool { return c.Name == name })
	if i < 0 {
		s.CategoryLabels = append(s.CategoryLabels, &CategoryLabel{Name: name, At: at})
		i = len(s.CategoryLabels) - 1
	}
	return []Field{{Name: "label", Into: &s.CategoryLabels[i].Label}}, nil
}
