package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

var entries = []Entry{
	{Name: "b/program", Mode: 0o755, Content: []byte("program")},
	{Name: "a/deep/text", Mode: 0o644, Content: []byte("text")},
	{Name: "top", Mode: 0o600, Content: nil},
}

// TestSame: the order of the entries and the zone of the time decide nothing, and neither
// does a fraction of a second.
func TestSame(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	turned := slices.Clone(entries)
	slices.Reverse(turned)
	for name, write := range map[string]func(io.Writer, time.Time, ...Entry) error{"tar": Tar, "tar.gz": TarGz, "zip": Zip} {
		var first, second, later bytes.Buffer
		for b, err := range map[*bytes.Buffer]error{
			&first:  write(&first, at, entries...),
			&second: write(&second, at.In(time.FixedZone("east", 7200)).Add(time.Millisecond), turned...),
			&later:  write(&later, at.Add(time.Minute), entries...),
		} {
			if err != nil || b.Len() == 0 {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		if bytes.Equal(first.Bytes(), later.Bytes()) {
			t.Errorf("%s: the time is not in it", name)
		}
	}
}

func TestTarGz(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	if err := TarGz(&b, at, append(slices.Clone(entries), Entry{Name: "link", Link: "b/program"})...); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("gzip has the name %q and the time %v", z.Name, z.ModTime)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
			t.Errorf("%s: %d:%d %q %v", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
		want := map[string]int64{"b/program": 0o755, "a/deep/text": 0o644, "top": 0o600, "link": 0o777}[h.Name]
		if want == 0 {
			want = 0o755
		}
		if h.Mode != want {
			t.Errorf("%s: mode %#o, want %#o", h.Name, h.Mode, want)
		}
	}
	if want := []string{"a/", "a/deep/", "b/", "a/deep/text", "b/program", "link", "top"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestZip(t *testing.T) {
	var b bytes.Buffer
	if err := Zip(&b, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Below("/vzones/", entries...)...); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.File) != 3 || r.File[1].Name != "vzones/b/program" || r.File[1].Mode() != 0o755 {
		t.Errorf("%d files, the second %s %v", len(r.File), r.File[1].Name, r.File[1].Mode())
	}
	if err := Zip(io.Discard, time.Now(), Entry{Name: "link", Link: "x"}); err == nil {
		t.Error("a link is put into a zip archive")
	}
}

func TestRefused(t *testing.T) {
	for name, all := range map[string][]Entry{
		"outside":  {{Name: "../x"}},
		"absolute": {{Name: "/x"}},
		"folder":   {{Name: "."}},
		"twice":    {{Name: "x"}, {Name: "x"}},
		"both":     {{Name: "x", Link: "y", Content: []byte("z")}},
	} {
		for _, write := range []func(io.Writer, time.Time, ...Entry) error{Tar, TarGz, Zip} {
			if err := write(io.Discard, time.Now(), all...); err == nil {
				t.Errorf("%s: it is written", name)
			}
		}
	}
}
