package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vzones/config"
)

// manyCAFiles names files of certificates, so many for each of so many vCenters.
func manyCAFiles(vcenters, each int, path func(vcenter, file int) string) string {
	var b strings.Builder
	b.WriteString("global: {user: u, password: p}\nvcenter:\n")
	for v := range vcenters {
		var paths []string
		for f := range each {
			paths = append(paths, path(v, f))
		}
		fmt.Fprintf(&b, "  v%03d: {server: vc%03[1]d.example.com, caFile: \"%s\"}\n", v, strings.Join(paths, ":"))
	}
	return b.String()
}

// TestManyCAFiles: a file cannot name more files than can be watched.
func TestManyCAFiles(t *testing.T) {
	skip := Options{SkipFiles: true}
	began := used(t)
	_, err := skip.Parse("f", []byte(manyCAFiles(1000, 64, func(v, f int) string { return fmt.Sprintf("/c%03d%02d", v, f) })))
	if took := used(t) - began; took > time.Second {
		t.Errorf("took %v", took)
	}
	const want = "f:18: vcenter.v015.caFile: there are more than 1000 CA files: write fewer"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	cfg, err := skip.Parse("f", []byte(manyCAFiles(1000, 64, func(_, f int) string { return fmt.Sprintf("/c%02d", f) })))
	if err != nil || len(cfg.Files) != 64 || len(cfg.VCenters[0].CA) > 0 {
		t.Errorf("got %v, %v", cfg, err)
	}
}

// TestLargeCAFiles: what they have together is bounded, and what several vCenters name
// is read and kept once.
func TestLargeCAFiles(t *testing.T) {
	dir := t.TempDir()
	one, err := os.ReadFile("testdata/ca/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	large := append(bytes.Repeat([]byte{'\n'}, 4<<20-len(one)), one...)
	path := func(_, f int) string { return filepath.Join(dir, fmt.Sprintf("%02d.pem", f)) }
	for f := range 17 {
		if err := os.WriteFile(path(0, f), large, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const too = "vcenter.%s.caFile: the CA files have more than 67108864 bytes together: write fewer or smaller ones"
	for name, c := range map[string]struct{ text, want string }{
		"in one list": {manyCAFiles(1, 17, path), "f:3: " + fmt.Sprintf(too, "v000")},
		"one each":    {manyCAFiles(17, 1, func(v, _ int) string { return path(0, v) }), "f:19: " + fmt.Sprintf(too, "v016")},
		"in any order": {manyCAFiles(10, 2, func(v, f int) string { return path(0, (v+f)%10) }),
			"f:10: " + fmt.Sprintf(too, "v007")},
	} {
		if _, err := Parse("f", []byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	cfg, err := Parse("f", []byte(manyCAFiles(300, 1, func(_, _ int) string { return path(0, 0) })))
	if err != nil {
		t.Fatal(err)
	}
	shared(t, cfg, len(large))
	cfg, err = Parse("f", []byte("global: {user: u, password: p, caData: &x '"+strings.ReplaceAll(string(one), "\n", "\n\n  ")+"'}\n"+
		"vcenter:\n  10.0.0.1: {caData: *x}\n  10.0.0.2: {caData: *x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	shared(t, cfg, len(cfg.VCenters[0].CA))
}

// shared checks that the vCenters have the same certificates, once in memory.
func shared(t *testing.T, cfg *config.Config, length int) {
	t.Helper()
	for _, vc := range cfg.VCenters {
		if length == 0 || len(vc.CA) != length || &vc.CA[0] != &cfg.VCenters[0].CA[0] {
			t.Fatalf("vCenter %s: %d bytes of its own", vc.Name, len(vc.CA))
		}
	}
}
