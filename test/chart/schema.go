package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Schema generates values.schema.json from its handwritten part, the schema of the configuration, the
// Kubernetes types in it, and the comments and defaults in values.yaml.
func (h *Helm) Schema() ([]byte, error) {
	var whole, configuration schema
	if err := readJSON(filepath.Join(h.root, "manifests", "values.schema.json"), &whole); err != nil {
		return nil, err
	}
	if err := readJSON(filepath.Join(h.root, "docs", "reference", "configuration.schema.json"), &configuration); err != nil {
		return nil, err
	}
	asHelmReads(configuration)
	definitions, ok := whole["definitions"].(schema)
	if !ok {
		return nil, errors.New("manifests/values.schema.json has no definitions")
	}
	types, err := kubernetesTypes()
	if err != nil {
		return nil, err
	}
	for name, s := range types {
		definitions[name] = s
	}
	if err := embed(definitions, "config", configuration); err != nil {
		return nil, err
	}
	values, err := h.Values()
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if err := v.explain(whole); err != nil {
			return nil, err
		}
	}
	return writeJSON(whole)
}

func readJSON(file string, into *schema) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func writeJSON(s schema) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return out.Bytes(), err
}

// asHelmReads adapts the configuration's schema to the values that Helm passes on. Strings must be
// written as strings: the daemon reads 0123 as written, but Helm would pass 83. Null entries are
// allowed because they remove an entry of an earlier values file.
func asHelmReads(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			asHelmReads(v[i])
		}
	case schema:
		for k := range v {
			asHelmReads(v[k])
		}
		if types, ok := v["type"].([]any); ok {
			v["type"] = oneScalar(types)
		}
		if required, _ := v["required"].([]any); slices.Equal(required, []any{"server"}) {
			v["type"] = []any{"object", "null"}
		}
	}
}

// oneScalar returns the types with only the first scalar type, which is the intended type.
func oneScalar(types []any) []any {
	var rest []any
	scalar := false
	for _, t := range types {
		if t == "string" || t == "number" || t == "integer" || t == "boolean" {
			if scalar {
				continue
			}
			scalar = true
		}
		rest = append(rest, t)
	}
	return rest
}

// embed adds a schema and its definitions to the definitions of another schema. It prefixes the
// embedded definitions and their references with name.
func embed(definitions schema, name string, s schema) error {
	ownDefinitions := schema{}
	for _, key := range []string{"definitions", "$defs"} {
		if d, ok := s[key].(schema); ok {
			for n, v := range d {
				ownDefinitions[n] = v
			}
		}
		delete(s, key)
	}
	delete(s, "$schema")
	delete(s, "$id")
	ownDefinitions[""] = s
	for n, v := range ownDefinitions {
		key := strings.TrimSuffix(name+"."+n, ".")
		if _, taken := definitions[key]; taken {
			return fmt.Errorf("two definitions are named %s", key)
		}
		moved, err := refer(v, name)
		if err != nil {
			return err
		}
		definitions[key] = moved
	}
	return nil
}

func refer(v any, name string) (any, error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			var err error
			if v[i], err = refer(v[i], name); err != nil {
				return nil, err
			}
		}
	case schema:
		for k := range v {
			if ref, ok := v[k].(string); ok && k == "$ref" {
				rest, ok := strings.CutPrefix(ref, "#")
				if !ok {
					return nil, fmt.Errorf("the reference %s leads elsewhere", ref)
				}
				rest = strings.TrimPrefix(strings.TrimPrefix(rest, "/definitions/"), "/$defs/")
				v[k] = "#/definitions/" + strings.TrimSuffix(name+"."+rest, ".")
				continue
			}
			var err error
			if v[k], err = refer(v[k], name); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
