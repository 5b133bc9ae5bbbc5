package world

import (
	"strings"
	"testing"
)

// FuzzRead: whatever a file has, its objects are read, or the error names the file on one line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(several))
	f.Add([]byte("apiVersion: v1\nkind: Secret\ndata: {a: !!binary e30=}\n"))
	f.Add([]byte("a: &a [*a, *a]\nkind: List\nitems: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		IsManifest(data)
		if _, err := ReadManifests("file.yaml", data); err != nil && (!strings.Contains(err.Error(), "file.yaml") || strings.ContainsAny(err.Error(), "\r")) {
			t.Errorf("%q: the error does not name the file on one line: %q", data, err)
		}
	})
}
