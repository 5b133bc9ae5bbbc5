package settings

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
)

// secretsOf implements Secrets.
type secretsOf map[config.SecretRef]map[string][]byte

func (s secretsOf) Get(_ context.Context, ref config.SecretRef) (*v1.Secret, error) {
	if data, ok := s[ref]; ok {
		return &v1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Data: data}, nil
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
		if _, err := NewSource(c.file, c.secret, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %q: %v, want %s", c.file, c.secret, err, c.says)
		}
	}
	s, err := NewSource("", "vmware-system-csi/vsphere-config-secret:vs.conf", nil)
	if err != nil || !s.InSecret() || s.Secret.Namespace != "vmware-system-csi" || s.Secret.Name != "vsphere-config-secret" || s.key != "vs.conf" {
		t.Errorf("of a Secret with a key: %+v, error %v", s, err)
	}
	if s, err := NewSource("vsphere.yaml", "", nil); err != nil || s.InSecret() {
		t.Errorf("of a file: %+v, error %v", s, err)
	}
}

// TestRevision: the revision of a file changes with each write.
func TestRevision(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Source{File: file}
	before := s.Revision(t.Context(), secretsOf{})
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if after := s.Revision(t.Context(), secretsOf{}); before == "" || after == before {
		t.Errorf("%q, then %q", before, after)
	}
	ref := config.SecretRef{Namespace: "ns", Name: "s"}
	if got := (&Source{Secret: ref}).Revision(t.Context(), secretsOf{ref: nil}); got != "1" {
		t.Errorf("of a Secret: %q", got)
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
		"an error":          {map[string][]byte{csiKey: []byte("[VirtualCenter \"vc.example.com\"]\nuser = u\n")}, "ns/s", "Secret ns/s csi-vsphere.conf:2: [VirtualCenter \"vc.example.com\"] user"},
		"nothing under it":  {map[string][]byte{csiKey: {}}, "ns/s", "csi-vsphere.conf:1: the file is empty"},
		"an unknown format": {map[string][]byte{csiKey: []byte("hello")}, "ns/s", "csi-vsphere.conf:1"},
	} {
		s, err := NewSource("", c.flag, nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := s.Read(t.Context(), secretsOf{ref: c.data})
		switch {
		case c.says == "" && (err != nil || cfg.VCenters[0].Server != "vc.example.com"):
			t.Errorf("%s: error %v, configuration %+v, want the vCenter vc.example.com", name, err, cfg)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "FromTheFile42")):
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}
