package chart

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Reference returns the table of the chart's values for docs/reference/chart.md, with the first
// sentence of each description in values.yaml.
func (h *Helm) Reference() (string, error) {
	values, err := h.Values()
	if err != nil {
		return "", err
	}
	content, err := h.Schema()
	if err != nil {
		return "", err
	}
	var whole schema
	if err := json.Unmarshal(content, &whole); err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| value | type | default | meaning |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for i := range values {
		v := &values[i]
		def := ""
		switch v.Default {
		case `""`, "{}", "[]":
		default:
			if len(v.Default) > 90 {
				def = "[see there](../../manifests/chart/values.yaml)"
			} else {
				def = "`" + strings.Trim(v.Default, `"`) + "`"
			}
		}
		first, _, _ := strings.Cut(v.Meaning, ". ")
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", v.Name(), v.kind(whole), def, cell.Replace(strings.TrimSuffix(first, ".")))
	}
	return out.String(), nil
}

// kinds maps schema definitions to the types shown in the table.
var kinds = map[string]string{
	"annotations":      "mapping of texts",
	"config":           "[the configuration](configuration.md)",
	"durationOrEmpty":  "duration",
	"labels":           "mapping of texts",
	"name":             "name",
	"nameOrEmpty":      "name",
	"namespace":        "name",
	"probe":            "times of a probe",
	"subdomainOrEmpty": "name",
}

func (v *Value) kind(whole schema) string {
	s := whole
	for _, key := range v.Path {
		properties, _ := s["properties"].(schema)
		s, _ = properties[key].(schema)
	}
	return kindOf(s)
}

func kindOf(s schema) string {
	if ref := reference(s); ref != "" {
		if known, ok := kinds[ref]; ok {
			return known
		}
		return "`" + strings.TrimPrefix(ref, "kubernetes.") + "`"
	}
	if values, ok := s["enum"].([]any); ok {
		var names []string
		for _, v := range values {
			if v != "" {
				names = append(names, fmt.Sprintf("`%v`", v))
			}
		}
		return strings.Join(names, ", ")
	}
	if alternatives, ok := s["anyOf"].([]any); ok {
		var alternativeKinds []string
		for _, e := range alternatives {
			part, _ := e.(schema)
			alternativeKinds = append(alternativeKinds, kindOf(part))
		}
		return strings.Join(alternativeKinds, " or ")
	}
	switch s["type"] {
	case "array":
		items, _ := s["items"].(schema)
		return "list: " + kindOf(items)
	case "object":
		return "mapping"
	case "integer":
		return "number"
	case "string":
		return "text"
	default:
		return fmt.Sprint(s["type"])
	}
}

func reference(s schema) string {
	if all, ok := s["allOf"].([]any); ok && len(all) > 0 {
		s, _ = all[0].(schema)
	}
	ref, _ := s["$ref"].(string)
	return strings.TrimPrefix(ref, "#/definitions/")
}
