package docs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vzones/config/parse"
	"vzones/config/parse/yaml"
	"vzones/test/page"
)

// TestConfigurationsOfHowTos: what the how-tos show of a configuration loads, beside a vCenter.
func TestConfigurationsOfHowTos(t *testing.T) {
	pages, err := filepath.Glob("how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range pages {
		for _, b := range page.Blocks(read(t, path)) {
			var keys map[string]yaml.Node
			if b.Kind != "yaml" || yaml.Unmarshal([]byte(b.Text), &keys) != nil || len(keys) == 0 {
				continue
			}
			ours := true
			for key := range keys {
				ours = ours && slices.Contains([]string{"labels", "topology"}, key)
			}
			if !ours {
				continue
			}
			count++
			text := "vcenter: {vc.example.com: {user: u@example.com, password: example}}\n" + b.Text
			if _, err := parse.Parse(path, []byte(text)); err != nil {
				t.Errorf("%v in\n%s", err, b.Text)
			}
		}
	}
	if count == 0 {
		t.Error("the how-tos show no configurations")
	}
}

// TestEventsAreAskedForInANamespace: the Events of Nodes are in the namespace default, which the
// context of whoever enters a command may not be.
func TestEventsAreAskedForInANamespace(t *testing.T) {
	found := 0
	for page, text := range pages(t) {
		for line := range strings.Lines(text) {
			command := strings.TrimSpace(line)
			if !strings.HasPrefix(command, "kubectl ") || !strings.Contains(command, " get events") {
				continue
			}
			found++
			if !strings.Contains(command, " -n ") && !strings.Contains(command, " -A") {
				t.Errorf("%s: %s: name the namespace", page, command)
			}
		}
	}
	if found == 0 {
		t.Error("no page reads Events")
	}
}
