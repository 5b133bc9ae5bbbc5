package convert

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"

	"vzones/config/configtest"
)

// inForce returns the values of an effective configuration and their sources, by path.
func inForce(t *testing.T, file string, data []byte) (values, sources map[string]string, ok bool) {
	t.Helper()
	w, err := Effective(file, data)
	if err != nil {
		return nil, nil, false
	}
	var root yaml.Node
	if err := yaml.Unmarshal(w.Data, &root); err != nil {
		t.Fatal(err)
	}
	values, sources = map[string]string{}, map[string]string{}
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		switch {
		case n.LineComment != "" || n.Kind == yaml.ScalarNode:
			value := n.Value
			for _, element := range n.Content {
				value += "," + element.Value
			}
			values[path], sources[path] = value, strings.TrimPrefix(n.LineComment, "# ")
		case n.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				if key.LineComment != "" { // The parser attaches the comment of a literal block to its key.
					n.Content[i+1].LineComment = key.LineComment
				}
				walk(path+"/"+key.Value, n.Content[i+1])
			}
		default:
			for i, element := range n.Content {
				walk(path+"/"+strconv.Itoa(i), element)
			}
		}
	}
	walk("", root.Content[0])
	return values, sources, true
}

var valueOfLine = regexp.MustCompile(`^(\s*(?:- *)?[A-Za-z-]+ *[:=] *)([^#;\s{&*|][^#;{]*)(.*)$`)

// changed returns a line with another value, if it has a value.
func changed(line string) (string, bool) {
	parts := valueOfLine.FindStringSubmatch(line)
	if parts == nil {
		return "", false
	}
	value := parts[2]
	end := strings.LastIndexFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if end < 0 {
		return "", false
	}
	word := strings.Trim(strings.TrimSpace(value), `"'`)
	switch word {
	case "true", "false":
		return parts[1] + strconv.FormatBool(word == "false") + parts[3], true
	case "csi", "nearest":
		return parts[1] + map[string]string{"csi": "nearest", "nearest": "csi"}[word] + parts[3], true
	}
	more := "x"
	if value[end] >= '0' && value[end] <= '8' {
		more = string(value[end] + 1)
		return parts[1] + value[:end] + more + value[end+1:] + parts[3], true
	}
	return parts[1] + value[:end+1] + more + value[end+1:] + parts[3], true
}

// testSources changes each line of each valid file in turn: exactly the values whose source is that line
// must change.
func TestSourcesAreWhereValuesComeFrom(t *testing.T) { testSources(t, "good", 15) }

func TestINISourcesAreWhereValuesComeFrom(t *testing.T) { testSources(t, "ini-good", 12) }

func testSources(t *testing.T, folder string, least int) {
	count := 0
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		before, sources, ok := inForce(t, file, data)
		if !ok {
			t.Fatal("does not load")
		}
		lines := strings.Split(string(data), "\n")
		for i, line := range lines {
			other, ok := changed(line)
			if !ok {
				continue
			}
			edited := slices.Clone(lines)
			edited[i] = other
			after, sourcesAfter, ok := inForce(t, file, []byte(strings.Join(edited, "\n")))
			// Another value may contain this one: a vCenter's default name is its server, and labels may
			// share a category.
			if !ok || !maps.EqualFunc(before, after, func(_, _ string) bool { return true }) {
				continue
			}
			count++
			here := func(source string) bool { return strings.HasPrefix(source, fmt.Sprintf("%s:%d: ", file, i+1)) }
			for path := range before {
				was, is := here(sources[path]), here(sourcesAfter[path])
				// Passwords are not shown, and a line may list several values.
				hidden := before[path] == "[redacted]" || strings.Contains(line, "topology-categories")
				if differs := before[path] != after[path]; differs != is && (!is || !hidden) || was && !is || !is && sources[path] != sourcesAfter[path] {
					t.Errorf("%q becomes %q: %s was %q, of %s, and is %q, of %s", line, other, path, before[path], sources[path], after[path], sourcesAfter[path])
				}
			}
		}
	})
	if count < 60 {
		t.Errorf("only %d lines were changed", count)
	}
}
