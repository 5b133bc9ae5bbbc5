package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// A Value is a value of the chart in values.yaml.
type Value struct {
	// Path is the list of keys that leads to it, such as image, tag.
	Path []string
	// Meaning is its comment without examples.
	Meaning string
	// Default is its value as JSON.
	Default string
}

// Name returns the path in the notation of helm --set.
func (v *Value) Name() string { return strings.Join(v.Path, ".") }

// Values returns all values of the chart in order. A mapping whose keys have comments is a group and
// not a value.
func (h *Helm) Values() ([]Value, error) {
	file := filepath.Join(h.Chart(), "values.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	values, err := valuesIn(document.Content[0], nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return values, nil
}

func valuesIn(mapping *yaml.Node, path []string) ([]Value, error) {
	var values []Value
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		value := mapping.Content[i+1]
		valuePath := append(append([]string(nil), path...), key.Value)
		if grouped(value) {
			nested, err := valuesIn(value, valuePath)
			if err != nil {
				return nil, err
			}
			values = append(values, nested...)
			continue
		}
		// A comment followed by an empty line belongs to the preceding value.
		comments := strings.Split(key.HeadComment, "\n\n")
		comment := comments[len(comments)-1]
		if comment == "" {
			return nil, fmt.Errorf("line %d: %s has no comment", key.Line, strings.Join(valuePath, "."))
		}
		def, err := asJSON(value)
		if err != nil {
			return nil, err
		}
		values = append(values, Value{Path: valuePath, Meaning: sentences(comment), Default: def})
	}
	return values, nil
}

func grouped(value *yaml.Node) bool {
	return value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Content[0].HeadComment != ""
}

// sentences returns a comment as one line, up to its first empty line or example.
func sentences(comment string) string {
	var text []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if line == "" {
			break
		}
		text = append(text, line)
	}
	return strings.TrimSuffix(strings.Join(text, " "), " For example:")
}

func asJSON(value *yaml.Node) (string, error) {
	var v any
	if err := value.Decode(&v); err != nil {
		return "", err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(out.String()), err
}

// explain sets the description and the default of a value in the schema. It fails if the schema lacks
// the value.
func (v *Value) explain(s schema) error {
	for _, key := range v.Path {
		properties, _ := s["properties"].(schema)
		next, ok := properties[key].(schema)
		if !ok {
			return fmt.Errorf("%s is in values.yaml, and not in the schema", v.Name())
		}
		s = next
	}
	var def any
	if err := json.Unmarshal([]byte(v.Default), &def); err != nil {
		return err
	}
	// This dialect ignores keywords next to a reference, but editors show these two.
	s["description"] = v.Meaning
	s["default"] = def
	return nil
}
