package stack

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHearing(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	h := &OwnLogReader{path: log}
	if said, err := h.Text(); err == nil {
		t.Errorf("of no log: %q", said)
	}
	var all string
	for i, c := range []struct{ more, want string }{
		{"", ""},
		{"I1120 1 a.go:1] \"One\"\nI1120 1 b.go:2] \"Tw", "I1120 1 a.go:1] \"One\"\n"},
		{"o\" of=<\n\tmany\n >\n", "I1120 1 b.go:2] \"Two\" of=<\n\tmany\n >\n"},
		{"I1120 1 type.go:3] \"Request Body\" body=<\n\t00000000  6b\n", ""},
		{" >\nE1120 1 a.go:4] \"Three\"\nI1120 1 x.go:5] \"Response\" verb=\"GET\"\n", "E1120 1 a.go:4] \"Three\"\n"},
		{"panic: no header\n", "panic: no header\n"},
	} {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(c.more); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		all += c.want
		if said, err := h.Text(); err != nil || said != all {
			t.Errorf("%d: said %q, %v; want %q", i, said, err, all)
		}
	}
}
