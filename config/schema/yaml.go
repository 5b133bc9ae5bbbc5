package schema

import (
	"strings"

	"vzones/config/problem"
)

// InYAML are the fields of the schema with what a neighbor's file has besides.
func (s *File) InYAML() []Field {
	fields := s.Fields()
	for i, f := range fields {
		into, ok := f.Into.(Group)
		if !ok {
			continue
		}
		into.Fields = append(into.Fields, spellings(into.Fields)...)
		switch f.Name {
		case "global":
			older := Field{Name: "datacenter", Into: OlderName{&s.Global.Datacenters, "datacenters", true}}
			into.Fields = append(append(into.Fields, s.Global.neighborKeys(true)...), older)
		case "labels":
			into.Fields = append(into.Fields, withoutEffect(noCategories, "topology-categories")...)
		}
		fields[i].Into = into
	}
	for _, f := range s.Sections() {
		if why, ok := f.Into.(Ignored); ok {
			fields = append(fields, withoutEffect(string(why), f.Name, strings.ToLower(f.Name))...)
		}
	}
	return append(fields, withoutEffect(noCategories, "TopologyCategory", "topologycategory")...)
}

// spellings are the keys of fields as the CPI's INI format has them. The chart of the CPI
// writes ca-file into a file in the YAML format, where the CPI ignores it.
func spellings(fields []Field) []Field {
	var all []Field
	for _, f := range fields {
		key := problem.Dash(f.Name)
		if key == f.Name || f.YAMLOnly || f.Ours {
			continue
		}
		into := f.Into
		if _, none := into.(Ignored); !none {
			into = Spelling{f.Name, into}
		}
		all = append(all, Field{Name: key, Into: into})
	}
	return all
}
