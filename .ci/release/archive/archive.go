// Package archive writes archives that are the same wherever and whenever they are
// written: the entries are sorted, belong to root and have one time, and nothing of the
// machine is in them. It reads no clock and no file system.
package archive

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// An Entry is a file or a link of an archive. Folders come of the entries' names.
type Entry struct {
	// Name is a slash-separated path without a leading slash.
	Name string
	// Mode has the permissions.
	Mode fs.FileMode
	// Content is what the file holds.
	Content []byte
	// Link is where a symbolic link leads to; it has no Content.
	Link string
}

// check refuses names that lead out of an archive, and those that are there twice.
func check(entries []Entry) error {
	seen := map[string]bool{}
	for _, e := range entries {
		switch {
		case !fs.ValidPath(e.Name) || e.Name == ".":
			return fmt.Errorf("%q is not a path within an archive", e.Name)
		case seen[e.Name]:
			return fmt.Errorf("%s is there twice", e.Name)
		case e.Link != "" && len(e.Content) > 0:
			return fmt.Errorf("%s is a link with content", e.Name)
		}
		seen[e.Name] = true
	}
	return nil
}

// sorted returns the entries by name.
func sorted(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// folders returns the folders above the entries, each before what it holds.
func folders(entries []Entry) []string {
	seen := map[string]bool{}
	for _, e := range entries {
		for d := path.Dir(e.Name); d != "."; d = path.Dir(d) {
			seen[d] = true
		}
	}
	var all []string
	for d := range seen {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// Tar writes the entries, and the folders above them, to w.
func Tar(w io.Writer, at time.Time, entries ...Entry) error {
	if err := check(entries); err != nil {
		return err
	}
	t := tar.NewWriter(w)
	// PAX and GNU formats have further times and numbers in them.
	header := func(h tar.Header) error {
		h.ModTime, h.Format = at.UTC().Truncate(time.Second), tar.FormatUSTAR
		return t.WriteHeader(&h)
	}
	for _, d := range folders(entries) {
		if err := header(tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755}); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	for _, e := range sorted(entries) {
		h := tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Mode: int64(e.Mode.Perm()), Size: int64(len(e.Content))}
		if e.Link != "" {
			h = tar.Header{Typeflag: tar.TypeSymlink, Name: e.Name, Linkname: e.Link, Mode: 0o777}
		}
		if err := header(h); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if _, err := t.Write(e.Content); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return t.Close()
}

// TarGz writes what Tar does, compressed.
func TarGz(w io.Writer, at time.Time, entries ...Entry) error {
	// The header of gzip stays without a name and a time.
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := Tar(z, at, entries...); err != nil {
		return err
	}
	return z.Close()
}

// Zip writes the entries to w. Links are refused: Windows has none that all may make.
func Zip(w io.Writer, at time.Time, entries ...Entry) error {
	if err := check(entries); err != nil {
		return err
	}
	z := zip.NewWriter(w)
	for _, e := range sorted(entries) {
		if e.Link != "" {
			return fmt.Errorf("%s is a link, which a zip archive is not for", e.Name)
		}
		// The time is written in UTC: a zip archive has no zone for the older field.
		h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: at.UTC().Truncate(time.Second)}
		h.SetMode(e.Mode.Perm())
		f, err := z.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if _, err := f.Write(e.Content); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return z.Close()
}

// Below puts the entries into a folder.
func Below(folder string, entries ...Entry) []Entry {
	var all []Entry
	for _, e := range entries {
		e.Name = path.Join(strings.Trim(folder, "/"), e.Name)
		all = append(all, e)
	}
	return all
}
