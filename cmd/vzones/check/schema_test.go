package check

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifEssentials are the parts of the schema of SARIF 2.1.0 that concern what is written, with
// additionalProperties as the schema has them.
const sarifEssentials = `{
  "type": "object", "required": ["version", "runs"], "additionalProperties": false,
  "properties": {
    "$schema": {"type": "string", "format": "uri"}, "version": {"enum": ["2.1.0"]},
    "runs": {"type": "array", "minItems": 1, "items": {
      "type": "object", "required": ["tool"], "additionalProperties": false,
      "properties": {
        "tool": {"type": "object", "required": ["driver"], "additionalProperties": false, "properties": {"driver": {
          "type": "object", "required": ["name"], "additionalProperties": false,
          "properties": {
            "name": {"type": "string"}, "version": {"type": "string"},
            "rules": {"type": "array", "uniqueItems": true, "items": {
              "type": "object", "required": ["id"], "additionalProperties": false,
              "properties": {
                "id": {"type": "string"}, "shortDescription": {"$ref": "#/$defs/text"}, "fullDescription": {"$ref": "#/$defs/text"}, "help": {"$ref": "#/$defs/text"},
                "defaultConfiguration": {"type": "object", "additionalProperties": false, "properties": {"level": {"$ref": "#/$defs/level"}}}
              }}}
          }}}},
        "results": {"type": "array", "items": {
          "type": "object", "required": ["message"], "additionalProperties": false,
          "properties": {
            "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "level": {"$ref": "#/$defs/level"}, "message": {"$ref": "#/$defs/text"},
            "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
            "locations": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
              "physicalLocation": {"type": "object", "additionalProperties": false, "properties": {
                "artifactLocation": {"type": "object", "additionalProperties": false, "properties": {"uri": {"type": "string", "format": "uri-reference"}}},
                "region": {"type": "object", "additionalProperties": false, "properties": {"startLine": {"type": "integer", "minimum": 1}}}
              }},
              "logicalLocations": {"type": "array", "uniqueItems": true, "items": {"type": "object", "additionalProperties": false, "properties": {
                "name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}
              }}}
            }}}
          }}}
      }}}
  },
  "$defs": {
    "text": {"type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string", "minLength": 1}}},
    "level": {"enum": ["none", "note", "warning", "error"]}
  }
}`

// TestSARIFHasItsSchema with findings and without any.
func TestSARIFHasItsSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	essentials, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(sarifEssentials)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("sarif.json", essentials); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	with, without := several(), several()
	without.found = nil
	for _, r := range []*result{with, without} {
		data, err := json.Marshal(r.sarif())
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
	// The schema refuses what is not SARIF.
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(`{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`)))
	if err != nil || schema.Validate(value) == nil {
		t.Errorf("a driver without a name is taken: %v", err)
	}
}
