package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gopkg.in/yaml.v3"

	"vzones/test/fleet/fleettest"
	"vzones/test/stack"
)

// aWorld has two vCenters and no control plane.
func aWorld(t *testing.T) *world {
	t.Helper()
	f := fleettest.Start(t, "vcenters: [{name: east, password: 'pw: east'}, {name: west}]")
	dir := t.TempDir()
	w := &world{stack: &stack.Stack{Fleet: f, Dir: dir}}
	var err error
	if w.mount, err = stack.NewMount(filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	if w.credentials, err = stack.NewMount(filepath.Join(dir, "credentials")); err != nil {
		t.Fatal(err)
	}
	return w
}

// configurationOf reads a section.
func configurationOf(t *testing.T, name, text string) *configuration {
	t.Helper()
	c, err := readConfiguration(name, []byte(text), []string{"east", "west"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRenderMerged(t *testing.T) {
	w := aWorld(t)
	w.config = configurationOf(t, "new.yaml", `
global: {secretName: null, secretsDirectory: "${credentials}"}
vcenter:
  west: null
  east: {caFile: null, password: "${east.password}", thumbprint: "${east.sha1}", datacenters: ["${east.user}"]}
labels: {zone: zone}
`)
	if err := w.writeConfig(""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(w.mount.Path(configFile))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	v := w.stack.Fleet.VCenter("east")
	thumbprint, err := fingerprint(v, "sha1")
	if err != nil || len(thumbprint) != 59 {
		t.Fatalf("thumbprint %q, %v", thumbprint, err)
	}
	want := map[string]any{
		"global": map[string]any{"secretNamespace": "kube-system", "secretsDirectory": w.credentials.Path("")},
		"vcenter": map[string]any{"east": map[string]any{
			"server": v.Host(), "port": v.Port(), "password": "pw: east", "thumbprint": thumbprint, "datacenters": []any{v.User()},
		}},
		"labels": map[string]any{"zone": "zone"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRenderWhole: the text is written as it is, in each of the ways.
func TestRenderWhole(t *testing.T) {
	w := aWorld(t)
	w.config = configurationOf(t, "new.conf", "[VirtualCenter \"${west.host}\"]\nport = ${west.port}\nca-file = ${west.ca}\nx = $HOME ${east.sha256}\n")
	for _, how := range []string{"", stack.InPlace, stack.Renamed} {
		if err := w.writeConfig(how); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(w.mount.Path(configFile))
		if err != nil || !strings.HasPrefix(string(data), "[VirtualCenter \"127.0.0.1\"]\nport = ") || !strings.Contains(string(data), "x = $HOME ") || strings.Contains(string(data), "${") {
			t.Errorf("%s: it is\n%s%v", how, data, err)
		}
	}
}

// TestRenderFails: a fleet without the vCenter that a placeholder names.
func TestRenderFails(t *testing.T) {
	w := aWorld(t)
	for _, name := range []string{"new.yaml", "new.conf"} {
		c, err := readConfiguration(name, []byte(`a: [{b: "${north.host}"}]`), []string{"north"})
		if err != nil {
			t.Fatal(err)
		}
		if w.config = c; w.writeConfig("") == nil {
			t.Errorf("%s is written", name)
		}
	}
}

// TestCredentials: what the commands write into a Secret or a directory.
func TestCredentials(t *testing.T) {
	w := aWorld(t)
	if err := w.stack.Fleet.VCenter("west").SetAddress("127.0.0.9"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, east, west string }{
		{"", "pw: east", "pw-west"},
		{"west password=other", "pw: east", "other"},
		{"east password=more", "more", "other"},
		{"west", "more", "pw-west"},
		{"password=same", "same", "same"},
		{"", "pw: east", "pw-west"},
	} {
		a := &arguments{p: &parser{vcenters: []string{"east", "west"}}, words: strings.Fields(c.line)}
		if err := swapCredentials(a)(t.Context(), w); a.err != nil || err != nil {
			t.Fatal(a.err, err)
		}
		for file, want := range map[string]string{"127.0.0.1.password": c.east, "127.0.0.9.password": c.west, "127.0.0.9.username": w.stack.Fleet.VCenter("west").User()} {
			if data, err := os.ReadFile(w.credentials.Path(file)); err != nil || string(data) != want {
				t.Errorf("%q: %s is %q, %v; want %q", c.line, file, data, err, want)
			}
		}
	}
	if found := w.secrets.In("other"); len(found) != 1 {
		t.Errorf("the log may hold %q", found)
	}
}
