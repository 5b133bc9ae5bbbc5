package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"vzones/config"
)

// secretsOf has the Secrets that it is given.
type secretsOf map[config.SecretRef]map[string][]byte

func (s secretsOf) Get(_ context.Context, ref config.SecretRef) (map[string][]byte, error) {
	if data, ok := s[ref]; ok {
		return data, nil
	}
	return nil, errors.New("no such Secret")
}

func TestNewSource(t *testing.T) {
	for _, c := range []struct{ file, secret, says string }{
		{"", "", "--cloud-config is not set"},
		{"a", "b/c", "both set"},
		{"", "name", "NAMESPACE/NAME"},
		{"", "Name/space", "NAMESPACE/NAME"},
		{"", "ns/na me", "NAMESPACE/NAME"},
		{"", "/", "NAMESPACE/NAME"},
	} {
		if _, err := newSource(c.file, c.secret, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %q: %v, want %s", c.file, c.secret, err, c.says)
		}
	}
	s, err := newSource("", "vmware-system-csi/vsphere-config-secret:vs.conf", nil)
	if err != nil || !s.inSecret() || s.secret.Namespace != "vmware-system-csi" || s.secret.Name != "vsphere-config-secret" || s.key != "vs.conf" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := newSource("vsphere.yaml", "", nil); err != nil || s.inSecret() {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestConfigurationInASecret(t *testing.T) {
	good := []byte("[VirtualCenter \"vc.example.com\"]\nuser = u\npassword = FromTheFile42\n")
	ref := config.SecretRef{Namespace: "ns", Name: "s"}
	for name, c := range map[string]struct {
		data map[string][]byte
		flag string
		says string
	}{
		"the driver's key":  {map[string][]byte{csiKey: good, "other": nil}, "ns/s", ""},
		"the only key":      {map[string][]byte{"vsphere.conf": good}, "ns/s", ""},
		"the key named":     {map[string][]byte{"a": good, "b": nil}, "ns/s:a", ""},
		"which of them":     {map[string][]byte{"a": good, "b": nil}, "ns/s", `keys ["a" "b"]`},
		"not that key":      {map[string][]byte{"a": good}, "ns/s:b", `no key "b"`},
		"no key":            {nil, "ns/s", "keys []"},
		"another Secret":    {nil, "ns/other", "no such Secret"},
		"a mistake":         {map[string][]byte{csiKey: []byte("[VirtualCenter \"vc.example.com\"]\nuser = u\n")}, "ns/s", "Secret ns/s csi-vsphere.conf:2: [VirtualCenter \"vc.example.com\"] user"},
		"nothing under it":  {map[string][]byte{csiKey: {}}, "ns/s", "csi-vsphere.conf:1: the file is empty"},
		"an unknown format": {map[string][]byte{csiKey: []byte("hello")}, "ns/s", "csi-vsphere.conf:1"},
	} {
		s, err := newSource("", c.flag, nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := s.read(t.Context(), secretsOf{ref: c.data})
		switch {
		case c.says == "" && (err != nil || cfg.VCenters[0].Server != "vc.example.com"):
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "FromTheFile42")):
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

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
		d := newDaemon(t.Context(), func() {})
		cmd, _ := newCommand(t.Context(), newOptions(t), d)
		if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		err := d.configure("vsphere", file)
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
	d := newDaemon(t.Context(), func() {})
	d.flags.nodeLabels = []string{"example.com/rack=r1"}
	text := twoVCenters + "topology: {levels: [{label: example.com/rack, tag: rack}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.configure("vsphere", file); err == nil || !strings.Contains(err.Error(), "example.com/rack") {
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
	d := newDaemon(t.Context(), func() {})
	d.flags.nodeLabels = []string{"kubernetes.io/x=y"}
	if err := d.configure("vsphere", file); err != nil {
		t.Fatal(err)
	}
	const want = `--node-labels: label "kubernetes.io/x" is dropped: no Node keeps a cloud provider's label in kubernetes.io and k8s.io: ` +
		"remove it, or write a prefix of your own, such as example.com/x"
	again, err := d.source.read(t.Context(), nil)
	if err != nil || !reflect.DeepEqual(again, d.cfg) {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if all := again.Warnings; len(all) != 1 || all[0].String() != want || len(again.NodeLabels) > 0 {
		t.Errorf("got %v, %v", all, again.NodeLabels)
	}
}
