package parse_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
	"vzones/config/schema"
)

const reference = "../docs/reference/configuration.md"

// kindOf returns what a reader calls the value of a key.
func kindOf(f schema.Field) string {
	switch f.Into.(type) {
	case *schema.Text, *schema.Secret:
		return "text"
	case *schema.Number:
		return "number"
	case *schema.Toggle:
		return "boolean"
	case *schema.List, schema.Elements:
		return "list"
	case *schema.Rule:
		return "text or mapping"
	case schema.Group, schema.Entries, *schema.Table:
		return "mapping"
	}
	return "any"
}

// tableOf returns the table of some keys: each has a row, but the section for NSX-T.
func tableOf(fields []schema.Field) string {
	defaults := slices.ContainsFunc(fields, func(f schema.Field) bool { return f.Default != nil || f.Unset != "" })
	var b strings.Builder
	b.WriteString("| key | type | meaning |\n|---|---|---|\n")
	if defaults {
		b.Reset()
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	}
	for _, f := range fields {
		if _, no := f.Into.(schema.Refused); no {
			continue
		}
		unset := f.Unset
		switch v := f.Default.(type) {
		case nil:
		case []string:
			unset = "`[" + strings.Join(v, ", ") + "]`"
		default:
			unset = fmt.Sprintf("`%v`", v)
		}
		fmt.Fprintf(&b, "| `%s` | %s |", f.Name, kindOf(f))
		if defaults {
			b.WriteString(strings.TrimRight(" "+unset, " ") + " |")
		}
		b.WriteString(" " + f.Doc + " |\n")
	}
	return b.String()
}

// TestReferenceIsCurrent: the tables of keys in the reference are the descriptions of the
// fields. go test ./config/parse -update writes them.
func TestReferenceIsCurrent(t *testing.T) {
	s := new(schema.File)
	global, entry := s.Global.Fields(true), s.Global.Fields(false)
	shared := slices.IndexFunc(global, func(f schema.Field) bool { return f.Name == "secretsDirectory" })
	below := func(name string) []schema.Field {
		fields := s.Fields()
		return fields[slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == name })].Into.(schema.Group).Fields
	}
	level := new(schema.Level)
	own := slices.DeleteFunc(level.Fields(), func(f schema.Field) bool {
		return slices.ContainsFunc(level.Rule.Fields(), func(r schema.Field) bool { return r.Name == f.Name })
	})
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for heading, fields := range map[string][]schema.Field{
		"## Top level":                        s.Fields(),
		"## Keys of `global` and of an entry": global[:shared],
		"## Keys of `global` alone":           global[shared:],
		"## Keys of an entry alone":           entry[shared:],
		"## Keys of `labels`":                 below("labels"),
		"## Keys of a rule":                   s.Zone.Fields(),
		"## Keys of `topology`":               below("topology"),
		"## Keys of a level":                  own,
		"## Keys of `nodes`":                  below("nodes"),
	} {
		before, rest, found := strings.Cut(page, "\n"+heading+"\n")
		prose, table, isTable := strings.Cut(rest, "\n| key |")
		_, after, ends := strings.Cut(table, "\n\n")
		if !found || !isTable || !ends {
			t.Fatalf("the reference has no heading %q with a table of keys", heading)
		}
		page = before + "\n" + heading + "\n" + prose + "\n" + tableOf(fields) + "\n" + after
	}
	configtest.GoldenFile(t, reference, page)
}
