package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gopkg.in/yaml.v3"

	"vzones/config/configtest"
	"vzones/topology"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("configuration.schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("configuration.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON converts a YAML document for a JSON validator.
func asJSON(data []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	text, err := json.Marshal(jsonValue(v))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func jsonValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = jsonValue(value)
		}
	case map[any]any:
		all := make(map[string]any)
		for key, value := range v {
			all[fmt.Sprint(key)] = jsonValue(value)
		}
		return all
	case []any:
		for i, value := range v {
			v[i] = jsonValue(value)
		}
	case time.Time:
		// The files below have dates without a time.
		return v.Format(time.DateOnly)
	}
	return v
}

// schemaSays returns the schema's error for a document.
func schemaSays(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := asJSON(data)
	if err != nil {
		// An editor's parser reports this error too.
		return err
	}
	return s.Validate(v)
}

// beyondSchema returns the invalid inputs that the schema cannot detect, with the reasons.
func beyondSchema(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/beyond-schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		why, names, _ := strings.Cut(line, ": ")
		for _, name := range strings.Fields(names) {
			all[name] = why
		}
	}
	return all
}

// TestJSONSchemaOfFiles checks that the schema accepts each valid file, and rejects each invalid file
// except beyondSchema.
func TestJSONSchemaOfFiles(t *testing.T) {
	s := compiledSchema(t)
	configtest.Each(t, "good", 40, func(t *testing.T, c configtest.Case) {
		if err := schemaSays(t, s, c.Data); err != nil {
			t.Errorf("the schema refuses it: %v", err)
		}
	})
	left := beyondSchema(t)
	configtest.Each(t, "invalid", 200, func(t *testing.T, c configtest.Case) {
		why, beyond := left[c.Name]
		delete(left, c.Name)
		err := schemaSays(t, s, c.Data)
		switch {
		case err == nil && !beyond:
			t.Errorf("the schema takes it")
		case err != nil && beyond:
			t.Errorf("the schema refuses it, which it is said not to do because %s: %v", why, err)
		}
	})
	if len(left) > 0 {
		t.Errorf("files that are not there: %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestJSONSchemaRejectsNothingValid replaces each value of a file with values of every kind: the
// schema must accept all that the daemon accepts.
func TestJSONSchemaRejectsNothingValid(t *testing.T) {
	s := compiledSchema(t)
	texts := strings.Split("~|''|' '|0|1|-1|1.5|true|false|yes|'true'|[]|['']|[~]|[a]|[a, a]|{}|{a: b}|{tag: a}|{inventory: host}|{value: '{host}'}|"+
		"a|A|a b|' a'|a/b|/a|a.b|'*'|'a*'|a,b|'a,,b'|'..'|../a|a/../b|'[a'|'[a]'|system|none|ipv4|[IPV6, ' ']|['', '']|compute|[compute, folder]|"+
		"10.0.0.1|10.0.0.256|'[fd00::1]'|'::'|vc_1|1-2|1.2|'1_'|a.|'4c'|vc:443|https://vc|10.0.0.0/8|'10.0.0.0/8, fd00::/8'|10.0.0.0/33|0.0.0.0/0|"+
		"443|65535|65536|99999999999|60s|1h30m|24h|25h|.5s|-1s|+1s|+0|000h|0001h|a=b|'!a'|a in (b)|'a notin (b,c),d'|a>1|{region}|'{zone}x'|"+
		"report|update|nearest|followed|host|example.com/x|kubernetes.io/x|"+topology.OwnDomain+"/x|topology.kubernetes.io/rack|2020-01-01|"+
		"ab:cd|"+strings.Repeat("ab", 32)+"|"+strings.TrimSuffix(strings.Repeat("AB:", 20), ":")+"|"+strings.Repeat("a", 63)+"|"+strings.Repeat("a", 64)+"|"+strings.Repeat("a", 254), "|")
	var whole yaml.Node
	everyKey, err := os.ReadFile("testdata/every-key.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(everyKey, &whole); err != nil {
		t.Fatal(err)
	}
	valid, tooMuch, tried, place := 0, 0, 0, 0
	try := func() {
		data, err := yaml.Marshal(&whole)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		_, err = Parse("f", data)
		says := schemaSays(t, s, data)
		switch {
		case err == nil && says != nil:
			t.Errorf("the daemon takes it, and the schema says %v:\n%s", says, data)
		case err == nil:
			valid++
		case says == nil:
			tooMuch++
		}
	}
	try()
	if valid != 1 {
		t.Fatal("the file is not right to begin with")
	}
	eachValue(&whole, func(n *yaml.Node) {
		before := *n
		// All pairs of place and value take a minute.
		const step = 7
		place++
		for i := place % step; i < len(texts); i += step {
			text := texts[i]
			var v yaml.Node
			if err := yaml.Unmarshal([]byte(text), &v); err != nil {
				t.Fatalf("text %q of the test is not YAML: %v", text, err)
			}
			*n = *v.Content[0]
			try()
		}
		*n = before
	})
	t.Logf("%d files: the daemon takes %d, and of the others the schema takes %d", tried, valid, tooMuch)
	if valid < 200 || tooMuch > (tried-valid)/10 {
		t.Errorf("of %d files the daemon takes %d, and of the others the schema takes %d", tried, valid, tooMuch)
	}
}
