package app

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestNodeLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vsphere.yaml")
	if err := os.WriteFile(file, []byte(twoVCenters+"nodes: {labels: {a: file, c: file}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"":                            "map[a:file c:file]",
		"--node-labels=a=flag,b=flag": "map[a:flag b:flag c:file]",
		"--node-labels=a=flag --node-labels=b=flag":   "map[a:flag b:flag c:file]",
		`--node-labels="a=flag" --node-labels='b='`:   "map[a:flag b: c:file]",
		"--node-labels=a=x --node-labels=a=flag":      "map[a:flag c:file]",
		"--node-labels=kubernetes.io/x=y,b=flag":      "map[a:file b:flag c:file]",
		"--node-labels=topology.kubernetes.io/zone=x": "map[a:file c:file]",
		"--node-labels=vzones/x=y":                    "--node-labels: label \"vzones/x\" is reserved",
		"--node-labels=a":                             "--node-labels: label \"a\" has no =",
	} {
		d := New(nil, Options{})
		cmd := d.newCommand(t.Context(), newOptions(t))
		if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		err := d.configure(t.Context(), "vsphere", file)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(d.cfg.NodeLabels)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
	}
	d := New(nil, Options{})
	d.flags.NodeLabels = []string{"example.com/rack=r1"}
	text := twoVCenters + "topology: {levels: [{label: example.com/rack, tag: rack}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.configure(t.Context(), "vsphere", file); err == nil || !strings.Contains(err.Error(), "example.com/rack") {
		t.Errorf("a label of a level: %v", err)
	}
}

// TestWarningsOfNodeLabels: each reading has them, so that a reload that changes nothing
// says nothing.
func TestWarningsOfNodeLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vsphere.yaml")
	if err := os.WriteFile(file, []byte(twoVCenters), 0o600); err != nil {
		t.Fatal(err)
	}
	d := New(nil, Options{})
	d.flags.NodeLabels = []string{"kubernetes.io/x=y"}
	if err := d.configure(t.Context(), "vsphere", file); err != nil {
		t.Fatal(err)
	}
	const want = `--node-labels: label "kubernetes.io/x" is dropped: no Node keeps a cloud provider's label in kubernetes.io and k8s.io: ` +
		"remove it, or write a prefix of your own, such as example.com/x"
	again, err := d.source.Read(t.Context(), nil)
	if err != nil || !reflect.DeepEqual(again, d.cfg) {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if all := again.Warnings; len(all) != 1 || all[0].Error() != want || len(again.NodeLabels) > 0 {
		t.Errorf("got %v, %v", all, again.NodeLabels)
	}
}
