package load

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/configtest"
)

const reference = "../docs/reference/configuration.md"

// kindOf returns the type of a key's value for a reader.
func kindOf(f *config.Field) string {
	switch {
	case f.NoEffect != "":
		return "any"
	case f.Kind == config.KindInt:
		return "number"
	case f.Kind == config.KindBool:
		return "boolean"
	case f.Kind.IsList() || f.Kind == config.KindLevels:
		return "list"
	case f.Kind == config.KindRule:
		return "text or mapping"
	case f.Kind == config.KindMapping || f.Kind == config.KindEntries || f.Kind == config.KindLabels:
		return "mapping"
	}
	return "text"
}

// tableOf returns a table with a row for each key, except for NSX-T.
func tableOf(fields []*config.Field) string {
	defaults := slices.ContainsFunc(fields, func(f *config.Field) bool { return f.Default != nil || f.Unset != "" })
	var b strings.Builder
	b.WriteString("| key | type | meaning |\n|---|---|---|\n")
	if defaults {
		b.Reset()
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	}
	for _, f := range fields {
		if f.Unsupported != "" {
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
		fmt.Fprintf(&b, "| `%s` | %s |", f.Key, kindOf(f))
		if defaults {
			b.WriteString(strings.TrimRight(" "+unset, " ") + " |")
		}
		b.WriteString(" " + f.Doc + " |\n")
	}
	return b.String()
}

// TestReferenceIsCurrent compares the tables of keys in the reference with the fields.
// go test ./config/load -update writes them.
func TestReferenceIsCurrent(t *testing.T) {
	global, entry := config.FieldsOf(config.SectionGlobal), config.FieldsOf(config.SectionEntry)
	shared := len(config.FieldsOf(config.SectionBoth))
	own := slices.DeleteFunc(slices.Clone(config.FieldsOf(config.SectionLevel)), func(f *config.Field) bool { return f.In != config.SectionLevel })
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for heading, fields := range map[string][]*config.Field{
		"## Top level":                        config.FieldsOf(config.SectionRoot),
		"## Keys of `global` and of an entry": global[:shared],
		"## Keys of `global` only":            global[shared:],
		"## Keys of an entry only":            entry[shared:],
		"## Keys of `labels`":                 config.FieldsOf(config.SectionLabels),
		"## Keys of a rule":                   config.FieldsOf(config.SectionRule),
		"## Keys of `topology`":               config.FieldsOf(config.SectionTopology),
		"## Keys of a level":                  own,
		"## Keys of `nodes`":                  config.FieldsOf(config.SectionNodes),
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

func TestSectionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[string]bool)
	for _, match := range regexp.MustCompile("`\\[([A-Z][A-Za-z-]*)( \"NAME\")?\\]`").FindAllStringSubmatch(string(page), -1) {
		documented[match[1]] = true
	}
	known := make(map[string]bool)
	for _, s := range keysOf(config.SectionRoot, &INI) {
		if s.why != onlyYAML {
			known[s.name] = true
		}
	}
	if !maps.Equal(documented, known) {
		t.Errorf("the reference has the sections %v, and the code %v", documented, known)
	}
}

// TestParseNodeLabels compares the labels, warnings and errors of flags with the golden file, in which
// they follow each line with the values of flags in braces.
func TestParseNodeLabels(t *testing.T) {
	const golden = "testdata/node-labels.txt"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		flags := strings.Split(strings.TrimSuffix(line[1:], "}\n"), "} {")
		labels, warnings, err := config.ParseNodeLabels(flags...)
		fmt.Fprintf(&b, "%s%q\n", line, labels)
		for _, w := range warnings {
			fmt.Fprintf(&b, "warning %s\n", w)
		}
		if err != nil {
			fmt.Fprintf(&b, "error %s\n", strings.ReplaceAll(err.Error(), "\n", "\nerror "))
		}
		if (labels == nil) != (len(labels) == 0) || err != nil && labels != nil {
			t.Errorf("parsing %q: got %#v, %v, want nil in place of an empty map, and with an error", flags, labels, err)
		}
	}
	configtest.GoldenFile(t, golden, b.String())
}

// effects collects the treatment of each key of a section and of the keys below it.
func effects(path, join string, keys []key, d *Dialect, into map[string]string) {
	for _, k := range keys {
		name := path + k.name
		switch {
		case k.use == unsupported:
			into[name] = "refused: " + k.why
		case k.use == noEffect:
			into[name] = "ignored: " + k.why
		case k.field.Kind == config.KindMapping || k.field.Kind == config.KindLevels:
			effects(name+join, join, keysOf(k.field.Subsection, d), d, into)
		case k.field.Kind == config.KindEntries:
			effects(name+join+"NAME"+join, join, keysOf(k.field.Subsection, d), d, into)
		default:
			into[name] = "read"
			if k.field.Kind == config.KindRule && d == &YAML {
				effects(name+join, join, keysOf(k.field.Subsection, d), d, into)
			}
		}
	}
}

// iniEffects returns the treatment of INI keys such as [Global] port, and of sections such as [Disk]
// that are accepted or rejected as a whole.
func iniEffects() map[string]string {
	all := make(map[string]string)
	for _, s := range keysOf(config.SectionRoot, &INI) {
		if s.use != supported {
			effects("[", "", []key{{name: s.name + "]", use: s.use, why: s.why}}, &INI, all)
			continue
		}
		name := s.name
		if s.field.Kind == config.KindEntries {
			name += " NAME"
		}
		effects("["+name+"] ", " ", keysOf(s.field.Subsection, &INI), &INI, all)
	}
	return all
}

// TestKeysOfTheIncumbent compares the keys and environment variables that are read, ignored or rejected
// with the golden file, so that a change of the vSphere CPI's keys shows up in the file.
func TestKeysOfTheIncumbent(t *testing.T) {
	var b strings.Builder
	inYAML, inEnvironment := make(map[string]string), make(map[string]string)
	effects("", ".", keysOf(config.SectionRoot, &YAML), &YAML, inYAML)
	for _, f := range variables() {
		if inEnvironment[f.Env] = "read"; f.NoEffect != "" {
			inEnvironment[f.Env] = "ignored: " + f.NoEffect
		}
	}
	for i, part := range []struct {
		title string
		keys  map[string]string
	}{{"keys in YAML", inYAML}, {"keys in INI", iniEffects()}, {"environment variables", inEnvironment}} {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s\n", part.title)
		for _, key := range slices.Sorted(maps.Keys(part.keys)) {
			fmt.Fprintf(&b, "%s: %s\n", key, part.keys[key])
		}
	}
	configtest.GoldenFile(t, "testdata/keys.txt", b.String())
}
