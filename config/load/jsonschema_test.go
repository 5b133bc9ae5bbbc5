package load

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"vzones/config"
	"vzones/config/configtest"
)

// schemaFile is the JSON schema of the YAML format, for editors and for the chart's values.
// TestJSONSchemaIsCurrent generates it from the fields and jsonRules.
const schemaFile = "../docs/reference/configuration.schema.json"

// jsonSchema is a schema of draft-07 with the keywords in use. The last keywords are not in the draft:
// editors read them, validators ignore them. It has no $ref, so it can be part of another schema.
type jsonSchema struct {
	Schema      string `json:"$schema,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        any    `json:"type,omitempty"`
	Default     any    `json:"default,omitempty"`
	Examples    []any  `json:"examples,omitempty"`

	Enum      []any  `json:"enum,omitempty"`
	Const     any    `json:"const,omitempty"`
	Minimum   *int   `json:"minimum,omitempty"`
	Maximum   *int   `json:"maximum,omitempty"`
	MinLength int    `json:"minLength,omitempty"`
	MaxLength int    `json:"maxLength,omitempty"`
	Pattern   string `json:"pattern,omitempty"`

	Items       *jsonSchema `json:"items,omitempty"`
	Contains    *jsonSchema `json:"contains,omitempty"`
	MaxItems    int         `json:"maxItems,omitempty"`
	UniqueItems bool        `json:"uniqueItems,omitempty"`

	PropertyNames        *jsonSchema    `json:"propertyNames,omitempty"`
	MaxProperties        int            `json:"maxProperties,omitempty"`
	Required             []string       `json:"required,omitempty"`
	Properties           jsonProperties `json:"properties,omitempty"`
	PatternProperties    jsonProperties `json:"patternProperties,omitempty"`
	AdditionalProperties any            `json:"additionalProperties,omitempty"`

	If    *jsonSchema   `json:"if,omitempty"`
	Then  *jsonSchema   `json:"then,omitempty"`
	Not   *jsonSchema   `json:"not,omitempty"`
	AnyOf []*jsonSchema `json:"anyOf,omitempty"`
	AllOf []*jsonSchema `json:"allOf,omitempty"`

	Deprecated          bool   `json:"deprecated,omitempty"`
	DoNotSuggest        bool   `json:"doNotSuggest,omitempty"`
	PatternErrorMessage string `json:"patternErrorMessage,omitempty"`
	ErrorMessage        string `json:"errorMessage,omitempty"`
}

type jsonProperties []jsonProperty

type jsonProperty struct {
	name string
	of   *jsonSchema
}

// MarshalJSON keeps the order of the keys.
func (p jsonProperties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, part := range []any{property.name, property.of} {
			if part == any(property.of) {
				b.WriteByte(':')
			}
			data, err := marshalJSON(part)
			if err != nil {
				return nil, err
			}
			b.Write(data)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshalJSON does not escape < and >.
func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

type schemaMaker struct {
	t *testing.T
	// used are the paths of the rules in use.
	used map[string]bool
}

// Paths of fields: an element of a list is [], the common keys of global and an entry under vcenter
// are below both, and the rule of region, zone and a level is rule.
const (
	pathGlobal = "global"
	pathEntry  = "vcenter.*"
	pathBoth   = "both"
	pathRule   = "rule"
	pathLevel  = "topology.levels[]"
)

// nearer returns the paths of the rules that apply to a field, the most specific first.
func nearer(path string) []string {
	paths := []string{path}
	for _, general := range []struct{ special, general string }{
		{pathGlobal, pathBoth}, {pathEntry, pathBoth},
		{"labels.region", pathRule}, {"labels.zone", pathRule}, {pathLevel, pathRule},
	} {
		if key, ok := strings.CutPrefix(path, general.special+"."); ok {
			paths = append(paths, general.general+"."+key)
		}
	}
	return paths
}

func makeSchema(t *testing.T) *jsonSchema {
	t.Helper()
	m := schemaMaker{t: t, used: make(map[string]bool)}
	root := m.object("", keysOf(config.SectionRoot, &YAML))
	root.Schema = "http://json-schema.org/draft-07/schema#"
	root.Title = "Configuration of vzones"
	root.Description = "The file that --cloud-config names, in the YAML format. docs/reference/configuration.md has more on each key."
	root.Type = "object"
	for path := range jsonRules() {
		if !m.used[path] {
			t.Errorf("there is a rule for %s, and no such key", path)
		}
	}
	return root
}

func (m *schemaMaker) object(path string, keys []key) *jsonSchema {
	s := &jsonSchema{Type: []string{"object", "null"}, AdditionalProperties: false}
	for _, k := range keys {
		s.Properties = append(s.Properties, jsonProperty{k.name, m.field(under(path, k.name), k)})
	}
	return s
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (m *schemaMaker) field(path string, k key) *jsonSchema {
	switch k.use {
	case noEffect:
		return deprecated(&jsonSchema{}, sentence(k.why))
	case unsupported:
		s := deprecated(&jsonSchema{Enum: []any{nil, "", false, 0, "false", "0", []any{}, map[string]any{}}}, sentence(k.why))
		s.ErrorMessage = k.why
		return s
	}
	f := k.field
	keys := keysOf(f.Subsection, &YAML)
	switch {
	case f.Kind == config.KindMapping:
		return m.described(path, f, m.object(path, keys))
	case f.Kind == config.KindEntries:
		return m.described(path, f, &jsonSchema{Type: []string{"object", "null"}, AdditionalProperties: m.object(path+".*", keys)})
	case f.Kind == config.KindLevels:
		level := m.object(path+"[]", keys)
		level.Type = "object"
		return m.described(path, f, &jsonSchema{Type: []string{"array", "null"}, Items: level})
	case f.Kind == config.KindRule:
		s := m.object(path, keys)
		s.Type = append(slices.Clone(single), "object")
		return m.described(path, f, s)
	case f.Kind == config.KindBool:
		return m.described(path, f, &jsonSchema{
			Type:                []string{"boolean", "string", "null"},
			Pattern:             `^([yYnN]|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF])$`,
			PatternErrorMessage: "write true or false, without quotes",
		})
	case f.Kind == config.KindInt:
		return m.described(path, f, &jsonSchema{Type: []string{"integer", "null"}})
	case f.Kind.IsList():
		return m.described(path, f, &jsonSchema{Type: []string{"array", "null"}, Items: &jsonSchema{Type: single}})
	case f.Kind == config.KindLabels:
		return m.described(path, f, &jsonSchema{Type: []string{"object", "null"}, AdditionalProperties: &jsonSchema{Type: single}})
	}
	return m.described(path, f, &jsonSchema{Type: single})
}

// single is any value but a list or a mapping: a password of digits needs no quotes.
var single = []string{"string", "number", "boolean", "null"}

// described adds the field's documentation and the constraints of jsonRules. Each field must have some,
// so that no new key is forgotten.
func (m *schemaMaker) described(path string, f *config.Field, s *jsonSchema) *jsonSchema {
	s.Description, s.Default = sentence(link.ReplaceAllString(strings.TrimSuffix(f.Doc, "."), "$1")), f.Default
	ruled := f.Kind == config.KindBool || f.Kind == config.KindMapping
	switch f.Kind {
	case config.KindWord:
		oneOf(f.Words...)(s)
		ruled = true
	case config.KindInt:
		bounds(min(0, f.Min), f.Max)(s)
		ruled = true
	}
	rules, first := jsonRules(), true
	for _, p := range nearer(path) {
		if rule, ok := rules[p]; ok {
			if first {
				rule(s)
			}
			first, ruled, m.used[p] = false, true, true
		}
	}
	if !ruled || f.Doc == "" {
		m.t.Errorf("%s: nothing says what values it can have, or what it means", path)
	}
	return s
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

func deprecated(s *jsonSchema, why string) *jsonSchema {
	// Without deprecationMessage, which the YAML language server shows as an error.
	s.Description, s.Deprecated, s.DoNotSuggest = why, true, true
	return s
}

func sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] + "." }

// TestJSONSchemaIsCurrent compares the schema with the fields, the rules and the reference.
// go test ./config/load -update writes it.
func TestJSONSchemaIsCurrent(t *testing.T) {
	data, err := marshalJSON(makeSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	if t.Failed() {
		return
	}
	configtest.GoldenFile(t, schemaFile, indented.String())
}

// eachValue calls f with each value of a document, including mappings and lists.
func eachValue(n *yaml.Node, f func(*yaml.Node)) {
	switch n.Kind {
	case yaml.DocumentNode:
		eachValue(n.Content[0], f)
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			f(n.Content[i])
			eachValue(n.Content[i], f)
		}
	case yaml.SequenceNode:
		for _, element := range n.Content {
			f(element)
			eachValue(element, f)
		}
	}
}
