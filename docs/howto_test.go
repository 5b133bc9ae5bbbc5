package docs_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"vzones/config/load"
	"vzones/test/fixture"
)

// TestConfigurationsOfHowTos: what the how-tos show of a configuration loads, beside a vCenter.
func TestConfigurationsOfHowTos(t *testing.T) {
	pages, err := filepath.Glob("how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range pages {
		for _, b := range fixture.Blocks(read(t, path)) {
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
			if _, err := load.Parse(path, []byte(text)); err != nil {
				t.Errorf("%v in\n%s", err, b.Text)
			}
		}
	}
	if count == 0 {
		t.Error("the how-tos show no configurations")
	}
}

// TestDockerContext: .dockerignore lets Docker have what make build needs for the daemon and the tool.
func TestDockerContext(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/vsphere-cloud-controller-manager", "../cmd/vzones").Output()
	if err != nil {
		t.Fatal(err)
	}
	context := strings.Split(read(t, "../.dockerignore"), "\n")
	needed := []string{"Makefile", ".ci/build", "go.mod", "go.sum"}
	for path := range strings.Lines(string(out)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(path), "vzones/"); ok {
			folder, _, _ := strings.Cut(path, "/")
			needed = append(needed, folder)
		}
	}
	slices.Sort(needed)
	for _, path := range slices.Compact(needed) {
		if !slices.Contains(context, "!"+path) {
			t.Errorf(".dockerignore does not let Docker have %s", path)
		}
	}
}
